"""How far a consumer has read, kept in its group: OffsetCommit and OffsetFetch.

    call = commits.commit({("t", 0): 7})    # later calls overtake earlier ones that have not been answered
    call.is_done, call.error                # its outcome, for which `when_done` is called
    call = commits.fetch([("t", 1)])        # call.found["t", 1] once it is known, None if nothing was committed
    commits.drop([("t", 0)])                # they were given back or lost: nothing more is said of them
    commits.withdraw(call)                  # nobody waits for it any more

One request is on its way at a time, so no commit overtakes a later one, and who asks after a commit hears of it. All
calls that are open go into the next request, of each partition the offset of the last call. It goes out in the name of
whoever the member is at that moment: that is right as long as the partition has been the member's all the time, and
`drop` says when not.

    error of a partition                             what becomes of it
    lost, COORDINATOR_*, NOT_COORDINATOR, other      sent again; refused if the call is to be sent ONCE
    retriable ones
    STALE_MEMBER_EPOCH                               the same, once the coordinator has told who the member is
    REBALANCE_IN_PROGRESS, or no place in the group  sent again in the next generation if ALWAYS; else refused
    ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID,           refused; the membership hears of it
    FENCED_INSTANCE_ID
    the rest                                         refused

A coordinator that cannot be found ends the calls that are sent ONCE; the others go on looking for it.
"""

from collections.abc import Callable, Iterable, Mapping

from odradek.broken_rule import present
from odradek.client.consumer.commit_calls import ALWAYS, IN_PLACE, ONCE, CommitCall, FetchCall
from odradek.client.consumer.coordinator_lookup import CoordinatorLookup
from odradek.client.consumer.errors import CommitFailed, RetriableCommitFailed
from odradek.client.consumer.group_requests import GroupRequests
from odradek.client.consumer.ownership import NOBODY, Identity
from odradek.client.consumer.subscription import by_topic
from odradek.client.core import Backoff, Destination, Versions
from odradek.client.offsets import OffsetAndMetadata, Offsets
from odradek.protocol import errors
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from odradek.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from odradek.protocol.topic_partition import TopicPartition

NAMES_TOPICS = 9  # the last versions of OffsetCommit and OffsetFetch that do; later ones have ids in their place
SEVERAL_GROUPS = 8  # the first version of OffsetFetch that asks for several groups
STABLE_OFFSETS = 7  # the first that waits for transactions

AGAIN = frozenset((errors.StaleMemberEpoch.code, errors.RebalanceInProgress.code))
TELLS_OF_MEMBER = frozenset((errors.IllegalGeneration.code, errors.UnknownMemberId.code, errors.FencedInstanceId.code))


def _in_rebalance() -> KafkaError:
    return errors.RebalanceInProgress(
        "The offsets were not committed: the group is being rebalanced. Call poll() until it is over, then again."
    )


def _given_up() -> KafkaError:
    return CommitFailed(
        "The offsets may not be committed: the partitions were given back, or lost, before the coordinator answered."
    )


class OffsetCommits(GroupRequests):
    __slots__ = (
        "_calls",
        "_fetches",
        "_group_id",
        "_identity",
        "_on_refusal",
        "_require_stable",
        "_waits_for",
        "_why_nobody",
        "committed",
        "count",
        "fetched",
        "refused",
    )

    def __init__(
        self,
        group_id: str,
        identity: Callable[[], Identity | None],
        lookup: CoordinatorLookup,
        versions: Versions,
        backoff: Backoff | None = None,
        on_refusal: Callable[[int, int], None] = lambda code, now_ms: None,
        *,
        why_nobody: Callable[[], KafkaError] = _in_rebalance,
        require_stable: bool = True,
    ) -> None:
        """`identity` tells who commits, None while nobody may, and `why_nobody` why that is; `on_refusal` is the
        membership's to hear. `require_stable`: offsets that an open transaction may still change are waited for.
        """
        super().__init__(lookup, versions, backoff)
        self.committed: dict[TopicPartition, int] = {}  # what the coordinator has acknowledged
        self.fetched: dict[TopicPartition, OffsetAndMetadata | None] = {}
        self.refused: dict[TopicPartition, KafkaError] = {}  # what it never will, and why
        self.count = 0  # requests
        self._group_id = group_id
        self._identity = identity
        self._why_nobody = why_nobody
        self._on_refusal = on_refusal
        self._require_stable = require_stable
        self._calls: list[CommitCall] = []
        self._fetches: list[FetchCall] = []
        self._waits_for: Identity | None = None  # this one was refused: nothing goes out until it is another

    # What the consumer asks for

    def commit(
        self, offsets: Offsets, patience: str = ALWAYS, when_done: Callable[[CommitCall], object] | None = None
    ) -> CommitCall:
        """Nothing to commit is done at once."""
        call = CommitCall(offsets, patience) if when_done is None else CommitCall(offsets, patience, when_done)
        self.add(call)
        return call

    def add(self, call: CommitCall) -> None:
        for place in call.offsets:
            self.refused.pop(place, None)
        if call.is_done:
            call.when_done(call)
        else:
            self._calls.append(call)

    def fetch(
        self, places: Iterable[TopicPartition], when_done: Callable[[FetchCall], object] | None = None
    ) -> FetchCall:
        call = FetchCall(places) if when_done is None else FetchCall(places, when_done)
        for place in call.open:
            self.fetched.pop(place, None)
        if call.is_done:
            call.when_done(call)
        else:
            self._fetches.append(call)
        return call

    def drop(self, places: Iterable[TopicPartition]) -> None:
        for place in places:
            for call in self._calls:
                call.settle(place, _given_up())
            for fetch in self._fetches:
                fetch.forget(place)
            self.fetched.pop(place, None)
        self._clear()

    def withdraw(self, call: CommitCall | FetchCall) -> None:
        self._calls = [each for each in self._calls if each is not call]
        self._fetches = [each for each in self._fetches if each is not call]

    @property
    def is_idle(self) -> bool:
        return not self._calls and not self._fetches

    def _clear(self) -> None:
        self._calls = [call for call in self._calls if not call.is_done]
        self._fetches = [call for call in self._fetches if not call.is_done]

    # What is due

    def deadline(self) -> int | None:
        is_due = self.error is None and self.lookup.node_id is not None and self._is_ready()
        return self._retry_at_ms if is_due else None

    def _wants(self, now_ms: int) -> bool:
        self._end_vain_calls()
        return self._is_ready() and now_ms >= self._retry_at_ms

    def _is_ready(self) -> bool:
        return not self._in_flight and (self._may_commit() or self._may_fetch())

    def _may_commit(self) -> bool:
        who = self._identity() if self._calls else None
        return who is not None and who != self._waits_for

    def _may_fetch(self) -> bool:
        """Anybody may ask, but a member of the consumer protocol says who it is."""
        return bool(self._fetches) and (self._identity() or NOBODY) != self._waits_for

    def _due(self, destination: Destination, now_ms: int) -> None:
        may_commit = self._may_commit()
        self._waits_for = None
        if may_commit:
            self._commit(present(self._identity(), "it is known who commits"), destination, now_ms)
        else:
            self._fetch(self._identity() or NOBODY, destination, now_ms)

    def _end_vain_calls(self) -> None:
        """Those that will not wait until there is a coordinator, or a place in the group."""
        if not self._calls or self._in_flight:
            return
        is_nobody = self._identity() is None
        for call in self._calls:
            if call.patience == ONCE and (is_nobody or self.lookup.has_failed):
                call.fail(self._once(self._why_nobody() if is_nobody else errors.CoordinatorNotAvailable()))
            elif call.patience == IN_PLACE and is_nobody:
                call.fail(self._why_nobody())
        self._clear()

    def _fail_for_good(self, error: KafkaError, now_ms: int) -> None:
        """What is open fails. The next call may go well: somebody may have been allowed what was refused."""
        self.lookup.forgive()
        for call in self._calls:
            call.fail(error)
        for fetch in self._fetches:
            fetch.fail(error)
        self._clear()

    # Commits

    def _commit(self, who: Identity, destination: Destination, now_ms: int) -> None:
        self.count += 1
        carried = list(self._calls)
        sent: dict[TopicPartition, OffsetAndMetadata] = {}
        for call in carried:
            sent.update((place, call.offsets[place]) for place in call.open)
        request = OffsetCommitRequest(
            group_id=self._group_id,
            generation_id_or_member_epoch=who.epoch,
            member_id=who.member_id,
            group_instance_id=who.instance_id,
            topics=_commit_topics(sent),
        )
        self._ask(
            request,
            destination,
            now_ms,
            lambda response, now_ms: self._committed(response, sent, carried, who, now_ms),
            lambda now_ms: self._commit_failed(carried, now_ms),
            NAMES_TOPICS,
        )

    def _committed(
        self,
        response: OffsetCommitResponse,
        sent: Mapping[TopicPartition, OffsetAndMetadata],
        carried: list[CommitCall],
        who: Identity,
        now_ms: int,
    ) -> None:
        codes = {
            TopicPartition(topic.name, each.partition_index): each.error_code
            for topic in response.topics
            for each in topic.partitions
        }
        self._went_well()
        for place in sent:
            code = codes.get(place, errors.UnknownServerError.code)
            if code == errors.NONE:
                self.committed[place] = sent[place].offset
                for call in carried:
                    call.settle(place)
            else:
                self._refused(place, code, carried, who, now_ms)
        self._clear()
        for code in sorted(set(codes.values()) & TELLS_OF_MEMBER):
            if who.is_like(self._identity()):  # else it is known already
                self._on_refusal(code, now_ms)

    def _refused(self, place: TopicPartition, code: int, carried: list[CommitCall], who: Identity, now_ms: int) -> None:
        is_open = [call for call in carried if place in call.open]
        if not is_open:
            return  # it was dropped meanwhile
        error = _refusal(place, code)
        kept: tuple[str, ...] = ()
        if code in AGAIN:
            self._waits_for = who
            self._on_refusal(code, now_ms)
            kept = (ALWAYS,) if code == errors.RebalanceInProgress.code else (ALWAYS, IN_PLACE)
        elif self._is_passing(code, now_ms):
            kept = (ALWAYS, IN_PLACE)
        else:
            self.refused[place] = error
        for call in is_open:
            if call.patience not in kept:
                call.settle(place, self._once(error) if call.patience == ONCE else error)

    def _once(self, error: KafkaError) -> KafkaError:
        """What a call that is not repeated fails with: what may pass is told apart from what will not."""
        if not error.retriable and error.code not in AGAIN:
            return error
        passing = RetriableCommitFailed(f"{RetriableCommitFailed.message} The reason: {error.message}")
        passing.__cause__ = error
        return passing

    def _commit_failed(self, carried: list[CommitCall], now_ms: int) -> None:
        for call in carried:
            if call.patience == ONCE:
                call.fail(self._once(errors.NetworkException("The coordinator was lost before it had answered.")))
        self._clear()
        self._later(now_ms)

    # Fetches

    def _fetch(self, who: Identity, destination: Destination, now_ms: int) -> None:
        topics = by_topic({place for call in self._fetches for place in call.open})
        version = min(self._versions[OffsetFetchRequest.api_key], NAMES_TOPICS)
        is_stable = self._require_stable or any(call.is_stable for call in self._fetches)
        request = OffsetFetchRequest(require_stable=is_stable and version >= STABLE_OFFSETS)
        if version >= SEVERAL_GROUPS:
            group = OffsetFetchRequestGroup(
                group_id=self._group_id,
                topics=[OffsetFetchRequestTopics(name=t, partition_indexes=n) for t, n in topics.items()],
            )
            if who.speaks_epochs:
                group.member_id, group.member_epoch = who.member_id, who.epoch
            request.groups = [group]
        else:
            request.group_id = self._group_id
            request.topics = [OffsetFetchRequestTopic(name=t, partition_indexes=n) for t, n in topics.items()]
        self._ask(
            request,
            destination,
            now_ms,
            lambda response, now_ms: self._have_fetched(response, who, now_ms),
            self._later,
            NAMES_TOPICS,
        )

    def _have_fetched(self, response: OffsetFetchResponse, who: Identity, now_ms: int) -> None:
        group = response.groups[0] if response.groups else response
        self._went_well()
        if group.error_code:
            self._fetch_refused(group.error_code, who, now_ms)
            return
        for topic in group.topics:
            for each in topic.partitions:
                place = TopicPartition(topic.name, each.partition_index)
                if each.error_code:
                    self._fetch_refused(each.error_code, who, now_ms)
                    continue
                text, epoch = each.metadata or "", each.committed_leader_epoch
                is_known = each.committed_offset >= 0
                self._found(place, OffsetAndMetadata(each.committed_offset, text, epoch) if is_known else None)
        self._clear()

    def _found(self, place: TopicPartition, offset: OffsetAndMetadata | None) -> None:
        for call in self._fetches:
            if place in call.open:
                self.fetched[place] = offset
                call.tell(place, offset)

    def _fetch_refused(self, code: int, who: Identity, now_ms: int) -> None:
        """UNSTABLE_OFFSET_COMMIT among others: a transaction may still change it."""
        if code == errors.StaleMemberEpoch.code or code == errors.UnknownMemberId.code:
            self._waits_for = who  # the next heartbeat tells
        elif not self._is_passing(code, now_ms):
            for call in self._fetches:
                call.fail(errors.by_code(code)())
            self._clear()


def _commit_topics(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> list[OffsetCommitRequestTopic]:
    def partition(place: TopicPartition) -> OffsetCommitRequestPartition:
        offset, text, epoch = offsets[place]
        return OffsetCommitRequestPartition(
            partition_index=place[1],
            committed_offset=offset,
            committed_leader_epoch=epoch,
            committed_metadata=text,
        )

    return [
        OffsetCommitRequestTopic(name=topic, partitions=[partition(TopicPartition(topic, each)) for each in numbers])
        for topic, numbers in by_topic(offsets).items()
    ]


def _refusal(place: TopicPartition, code: int) -> KafkaError:
    if code in (errors.UnknownMemberId.code, errors.IllegalGeneration.code):
        failed = CommitFailed()
        failed.__cause__ = errors.by_code(code)()
        return failed
    if code == errors.RebalanceInProgress.code:
        return _in_rebalance()
    error = errors.by_code(code)
    return error(f"{place[0]}-{place[1]}: {error.message}")
