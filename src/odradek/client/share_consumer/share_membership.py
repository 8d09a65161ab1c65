"""A member of a share group: one request, ShareGroupHeartbeat; the coordinator makes the assignment.

    state          what happens                                  next state
    UNSUBSCRIBED   it subscribes                                 JOINING        heartbeat with epoch 0
    JOINING        the answer has an epoch                       STABLE
    STABLE         FENCED_MEMBER_EPOCH, UNKNOWN_MEMBER_ID        JOINING        with the same member id
    any            max.poll.interval.ms without a poll           STALE          leaves with epoch -1
    STALE          the program polls                             JOINING
    any            it unsubscribes                               UNSUBSCRIBED   leaves with epoch -1
    any            an error that does not pass                   FATAL          until it subscribes once more

An assignment is taken over at once, and nobody is asked: several members may read one partition, and what was acquired
of one that is taken away may still be acknowledged. A heartbeat tells the topics when they have changed since the last
one that was answered, and when it joins.
"""

from collections.abc import Iterable, Mapping

from odradek.client.consumer.coordinator_lookup import CoordinatorLookup
from odradek.client.consumer.group_membership import GroupMembership, MembershipConfig
from odradek.client.consumer.ownership import NOTHING
from odradek.client.core import Backoff, Destination, Send, Versions
from odradek.protocol import errors
from odradek.protocol.messages.k76_share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from odradek.protocol.topic_partition import TopicIdPartition, TopicPartition

UNSUBSCRIBED, JOINING, STABLE, STALE, FATAL = "UNSUBSCRIBED", "JOINING", "STABLE", "STALE", "FATAL"
SILENT = (UNSUBSCRIBED, STALE, FATAL)  # states without heartbeats

JOIN_EPOCH, LEAVE_EPOCH = 0, -1

MAY_REJOIN = frozenset((errors.FencedMemberEpoch.code, errors.UnknownMemberId.code))

Topics = tuple[str, ...]


class ShareMembership(GroupMembership):
    __slots__ = (
        "_heartbeat",
        "_heartbeat_at_ms",
        "_interval_ms",
        "_names",
        "_target",
        "_told",
        "_topics",
        "epoch",
        "heartbeats",
        "is_polling",
        "rebalances",
        "state",
        "trouble",
    )

    def __init__(
        self,
        config: MembershipConfig,
        member_id: str,
        lookup: CoordinatorLookup,
        versions: Versions,
        backoff: Backoff | None = None,
    ) -> None:
        """The member makes its id itself: a random UUID that is its own as long as the process runs."""
        super().__init__(config, lookup, versions, backoff)
        self.member_id = member_id
        self.state = UNSUBSCRIBED
        self.epoch = JOIN_EPOCH
        self.is_polling = False  # the program waits in a poll: it is alive
        self.trouble: errors.KafkaError | None = None  # of the last heartbeat: it is tried again
        self.heartbeats = self.rebalances = 0
        self._topics: Topics = ()
        self._told: Topics | None = None
        self._interval_ms = config.heartbeat_interval_ms
        self._heartbeat: object = None
        self._heartbeat_at_ms = 0
        self._target: frozenset[TopicIdPartition] = frozenset()
        self._names: Mapping[bytes, str] = {}

    def __repr__(self) -> str:
        return f"ShareMembership({self.member_id!r}, {self.state}, epoch {self.epoch})"

    # What the program tells

    def subscribe(self, topics: Iterable[str], now_ms: int) -> None:
        """After an error that did not pass, it is tried anew."""
        self._topics = tuple(sorted(topics))
        if self.error is not None:
            self.error = None
            self.lookup.forgive()
        if self.state in (UNSUBSCRIBED, FATAL):
            self.state = JOINING
        self._heartbeat_at_ms = min(self._heartbeat_at_ms, now_ms)

    def leave(self, now_ms: int) -> None:
        if self.state not in SILENT:
            self._say_goodbye(now_ms)
        if self.state != FATAL:
            self._lose_place(UNSUBSCRIBED)

    def polled(self, now_ms: int) -> None:
        super().polled(now_ms)
        if self.state == STALE:
            self.state = JOINING

    def seconds_since_poll(self, now_ms: int) -> float | None:
        if self._polled_ms is None:
            return None
        return 0.0 if self.is_polling else (now_ms - self._polled_ms) / 1000

    # What it has

    def metadata(self, topic_ids: Mapping[str, bytes]) -> None:
        self._names = {topic_id: name for name, topic_id in topic_ids.items()}

    @property
    def needs_metadata(self) -> bool:
        """It was assigned a topic whose name it does not know."""
        return any(topic_id not in self._names for topic_id, _ in self._target)

    @property
    def assigned(self) -> dict[TopicIdPartition, TopicPartition]:
        """Only of topics that it has subscribed to: the coordinator hears of a change later."""
        named = {place: TopicPartition(self._names.get(place[0], ""), place[1]) for place in sorted(self._target)}
        return {place: known for place, known in named.items() if known.topic in self._topics}

    @property
    def is_expired(self) -> bool:
        return self.state == STALE

    def _is_member(self) -> bool:
        return self.epoch > JOIN_EPOCH

    # What is due

    def poll(self, now_ms: int) -> list[Send]:
        if self.is_polling:
            super().polled(now_ms)
        if self._is_stale(now_ms) and self.state not in SILENT:
            self._say_goodbye(now_ms)
            self._lose_place(STALE)
        return super().poll(now_ms)

    def deadline(self) -> int | None:
        if self.state in SILENT or self.error is not None:
            return None
        times = [] if self._polled_ms is None else [self._polled_ms + self.config.max_poll_interval_ms]
        if self._heartbeat is None and self.lookup.node_id is not None:
            times.append(max(self._heartbeat_at_ms, self._retry_at_ms))
        return min(times, default=None)

    def _wants(self, now_ms: int) -> bool:
        if self.state in SILENT or self._heartbeat is not None:
            return False
        return now_ms >= max(self._heartbeat_at_ms, self._retry_at_ms)

    def _due(self, destination: Destination, now_ms: int) -> None:
        topics = self._topics
        request = ShareGroupHeartbeatRequest(
            group_id=self.config.group_id, member_id=self.member_id, member_epoch=self.epoch
        )
        if self.state == JOINING:
            request.rack_id = self.config.rack_id
        if self.state == JOINING or self._told != topics:
            request.subscribed_topic_names = list(topics)
        self._heartbeat_at_ms = now_ms + self._interval_ms
        self._heartbeat = token = self._ask(
            request,
            destination,
            now_ms,
            lambda response, now_ms: self._answered(token, response, topics, now_ms),
            lambda now_ms: self._lost(token, now_ms),
        )

    # The answer

    def _answered(self, token: object, response: ShareGroupHeartbeatResponse, told: Topics, now_ms: int) -> None:
        if token is not self._heartbeat:
            return
        self._heartbeat = None
        self.heartbeats += 1
        if response.error_code:
            self._refused(response, now_ms)
            return
        self._went_well()
        self.trouble = None
        self._told = told
        self.epoch = response.member_epoch
        self._interval_ms = response.heartbeat_interval_ms or self._interval_ms
        self._heartbeat_at_ms = min(
            self._heartbeat_at_ms, now_ms if told != self._topics else now_ms + self._interval_ms
        )
        if self.state == JOINING:
            self.state = STABLE
        if response.assignment is not None:
            self._take_over(response)

    def _take_over(self, response: ShareGroupHeartbeatResponse) -> None:
        assignment = response.assignment
        topics = [] if assignment is None else assignment.topic_partitions
        target = frozenset((bytes(topic.topic_id), number) for topic in topics for number in topic.partitions)
        self.rebalances += target != self._target
        self._target = target

    def _lost(self, token: object, now_ms: int) -> None:
        """Perhaps it was heard and perhaps not: the next one tells everything."""
        if token is self._heartbeat:
            self._heartbeat = None
            self._told = None
            self._heartbeat_at_ms = now_ms
            self._later(now_ms)

    def _refused(self, response: ShareGroupHeartbeatResponse, now_ms: int) -> None:
        code = response.error_code
        self._told = None
        self.trouble = errors.by_code(code)(response.error_message)
        if code in MAY_REJOIN:
            self._lose_place(JOINING)
        elif self._is_passing(code, now_ms):
            self._heartbeat_at_ms = max(now_ms, self._retry_at_ms)
        else:
            self._fail_for_good(_explained(self.trouble), now_ms)

    # Ends

    def _lose_place(self, state: str) -> None:
        self.state = state
        self.epoch = JOIN_EPOCH
        self._heartbeat = None
        self._heartbeat_at_ms = 0
        self._told = None
        self._target = frozenset()
        self.owned = NOTHING

    def _fail_for_good(self, error: errors.KafkaError, now_ms: int) -> None:
        self._lose_place(FATAL)
        super()._fail_for_good(error, now_ms)

    def _say_goodbye(self, now_ms: int) -> None:
        destination = self.lookup.want() if self._is_member() else None
        if destination is not None:
            request = ShareGroupHeartbeatRequest(
                group_id=self.config.group_id, member_id=self.member_id, member_epoch=LEAVE_EPOCH
            )
            self._say_farewell(request, destination, now_ms)

    def _changes_done(self, now_ms: int) -> None:
        """There are none: see above."""


def _explained(error: errors.KafkaError) -> errors.KafkaError:
    if isinstance(error, errors.UnsupportedVersion):
        return no_share_groups()
    return error


def no_share_groups() -> errors.KafkaError:
    return errors.UnsupportedVersion(
        "The brokers have no share groups: they need release 4.2 or newer, and the feature share.version at 1. Use "
        "KafkaConsumer there."
    )
