"""How far a consumer has read, kept in its group: OffsetCommit and OffsetFetch.

    commits.commit({("t", 0): 7})      # later calls overtake earlier ones that have not been answered
    commits.committed["t", 0]          # what the coordinator has acknowledged
    commits.refused                    # what it never will, and why: the partitions are not the member's any more
    commits.fetch([("t", 1)])          # commits.fetched["t", 1] is there once it is known, -1 if nothing was committed
    commits.drop([("t", 0)])           # they were given back or lost: nothing more is said of them

One commit is on its way at a time, so none overtakes a later one. It goes out in the name of whoever the member is at
that moment: that is right as long as the partition has been the member's all the time, and `drop` says when not. A
commit whose answer is lost is sent again.

    error of a partition                             what becomes of it
    STALE_MEMBER_EPOCH, REBALANCE_IN_PROGRESS,       sent again, once the member knows its new epoch or generation
    COORDINATOR_*, NOT_COORDINATOR, other retriable
    ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID,           refused; the membership hears of it
    FENCED_INSTANCE_ID
    the rest                                         refused
"""

from collections.abc import Callable, Iterable, Mapping

from odradek.broken_rule import present
from odradek.client.consumer.coordinator_lookup import CoordinatorLookup
from odradek.client.consumer.group_requests import GroupRequests
from odradek.client.consumer.ownership import Identity
from odradek.client.consumer.subscription import by_topic
from odradek.client.core import Backoff, Destination, Versions
from odradek.protocol import errors
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

AGAIN = frozenset((errors.StaleMemberEpoch.code, errors.RebalanceInProgress.code))
TELLS_OF_MEMBER = frozenset((errors.IllegalGeneration.code, errors.UnknownMemberId.code, errors.FencedInstanceId.code))


class OffsetCommits(GroupRequests):
    __slots__ = (
        "_group_id",
        "_identity",
        "_on_refusal",
        "_sent",
        "_to_commit",
        "_to_fetch",
        "_waits_for",
        "committed",
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
    ) -> None:
        """`identity` tells who commits, None while nobody may; `on_refusal` is the membership's to hear."""
        super().__init__(lookup, versions, backoff)
        self.committed: dict[TopicPartition, int] = {}
        self.fetched: dict[TopicPartition, int] = {}
        self.refused: dict[TopicPartition, errors.KafkaError] = {}
        self._group_id = group_id
        self._identity = identity
        self._on_refusal = on_refusal
        self._to_commit: dict[TopicPartition, int] = {}
        self._to_fetch: set[TopicPartition] = set()
        self._sent: dict[TopicPartition, int] | None = None  # what is on its way, but for what was dropped
        self._waits_for: Identity | None = None  # this one was refused: nothing goes out until it is another

    # What the consumer asks for

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._to_commit.update(offsets)
        for place in offsets:
            self.refused.pop(place, None)

    def fetch(self, places: Iterable[TopicPartition]) -> None:
        for place in places:
            self.fetched.pop(place, None)
            self._to_fetch.add(place)

    def drop(self, places: Iterable[TopicPartition]) -> None:
        for place in places:
            self._to_commit.pop(place, None)
            self._to_fetch.discard(place)
            self.fetched.pop(place, None)
            if self._sent is not None:
                self._sent.pop(place, None)

    def has_nothing_open(self, places: Iterable[TopicPartition]) -> bool:
        """Nothing that was to be committed for them is still open."""
        return not any(place in self._to_commit or place in (self._sent or ()) for place in places)

    # What is due

    def deadline(self) -> int | None:
        is_due = self.error is None and self.lookup.node_id is not None and self._is_ready()
        return self._retry_at_ms if is_due else None

    def _wants(self, now_ms: int) -> bool:
        return self._is_ready() and now_ms >= self._retry_at_ms

    def _is_ready(self) -> bool:
        if not ((self._to_commit or self._to_fetch) and not self._in_flight):
            return False
        who = self._identity()
        return who is not None and who != self._waits_for

    def _due(self, destination: Destination, now_ms: int) -> None:
        who = present(self._identity(), "nothing is due before it is known who asks")
        self._waits_for = None
        if self._to_commit:
            self._commit(who, destination, now_ms)
        else:
            self._fetch(who, destination, now_ms)

    # Commits

    def _commit(self, who: Identity, destination: Destination, now_ms: int) -> None:
        self._sent, self._to_commit = self._to_commit, {}
        sent = dict(self._sent)
        topics = [
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=number, committed_offset=sent[TopicPartition(topic, number)]
                    )
                    for number in numbers
                ],
            )
            for topic, numbers in by_topic(sent).items()
        ]
        request = OffsetCommitRequest(
            group_id=self._group_id,
            generation_id_or_member_epoch=who.epoch,
            member_id=who.member_id,
            group_instance_id=who.instance_id,
            topics=topics,
        )
        self._ask(
            request,
            destination,
            now_ms,
            lambda response, now_ms: self._committed(response, sent, who, now_ms),
            self._commit_failed,
            NAMES_TOPICS,
        )

    def _committed(
        self, response: OffsetCommitResponse, sent: Mapping[TopicPartition, int], who: Identity, now_ms: int
    ) -> None:
        left, self._sent = self._sent or {}, None
        codes = {
            TopicPartition(topic.name, each.partition_index): each.error_code
            for topic in response.topics
            for each in topic.partitions
        }
        self._went_well()
        for place, code in codes.items():
            if code == errors.NONE:
                self.committed[place] = sent[place]
            elif place in left:
                self._refused(place, left[place], code, who, now_ms)
        for code in sorted(set(codes.values()) & TELLS_OF_MEMBER):
            if self._identity() == who:  # else it is known already
                self._on_refusal(code, now_ms)

    def _refused(self, place: TopicPartition, offset: int, code: int, who: Identity, now_ms: int) -> None:
        if code in AGAIN:
            self._waits_for = who
            self._on_refusal(code, now_ms)
            self._to_commit.setdefault(place, offset)
        elif self._is_passing(code, now_ms):
            self._to_commit.setdefault(place, offset)
        else:
            self.refused[place] = errors.by_code(code)()

    def _commit_failed(self, now_ms: int) -> None:
        left, self._sent = self._sent or {}, None
        for place, offset in left.items():
            self._to_commit.setdefault(place, offset)  # unless there is a later one
        self._later(now_ms)

    # Fetches

    def _fetch(self, who: Identity, destination: Destination, now_ms: int) -> None:
        places = frozenset(self._to_fetch)
        topics = by_topic(places)
        request = OffsetFetchRequest(require_stable=True)
        if self._versions[request.api_key] >= SEVERAL_GROUPS:
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
                place = (topic.name, each.partition_index)
                if each.error_code:
                    self._fetch_refused(each.error_code, who, now_ms)
                elif place in self._to_fetch:
                    self._to_fetch.discard(place)
                    self.fetched[place] = each.committed_offset

    def _fetch_refused(self, code: int, who: Identity, now_ms: int) -> None:
        """UNSTABLE_OFFSET_COMMIT among others: a transaction may still change it."""
        if code == errors.StaleMemberEpoch.code or code == errors.UnknownMemberId.code:
            self._waits_for = who  # the next heartbeat tells
        elif not self._is_passing(code, now_ms):
            self._fail_for_good(errors.by_code(code)(), now_ms)
