"""A member of a consumer group (KIP-848): one request, ConsumerGroupHeartbeat; the coordinator makes the assignment.

    state          what happens                                             next state
    UNSUBSCRIBED   it subscribes                                            JOINING        heartbeat with epoch 0
    JOINING        the answer has an epoch                                  STABLE         or RECONCILING
    any            the answer has an assignment other than what it owns     RECONCILING    gives back first, then takes
    RECONCILING    the consumer has done so, the target is the same         ACKNOWLEDGING  tells at once what it owns
    RECONCILING    the consumer has done so, the target is another          RECONCILING
    ACKNOWLEDGING  the heartbeat is sent                                    STABLE
    any            FENCED_MEMBER_EPOCH, UNKNOWN_MEMBER_ID                   FENCED         all is lost
    FENCED         the consumer knows                                       JOINING        with the same member id
    any            max.poll.interval.ms without a poll                      STALE          leaves, all is lost
    STALE          the consumer polls                                       JOINING
    any            it unsubscribes, what it owns is given back              UNSUBSCRIBED   epoch -1; static: -2
    any            an error that does not pass                              FATAL          all is lost

A heartbeat tells what has changed since the last one that was answered; after one that was lost, and when it joins, it
tells everything. What the member owns is told once it has given back what it must: saying so earlier would hand the
partition to another while this one still reads it (G1).

The coordinator speaks of topics by their ids: an id that the metadata does not know yet waits for it, and has it
asked for (`needs_metadata`).
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.client.consumer.coordinator_lookup import CoordinatorLookup
from odradek.client.consumer.group_membership import GroupMembership, MembershipConfig
from odradek.client.consumer.ownership import ASSIGN, REVOKE, Identity, Partitions
from odradek.client.core import Backoff, Destination, Send, Versions
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from odradek.protocol.topic_partition import TopicPartition

UNSUBSCRIBED, JOINING, STABLE, RECONCILING, ACKNOWLEDGING, FENCED, STALE, FATAL = (
    "UNSUBSCRIBED",
    "JOINING",
    "STABLE",
    "RECONCILING",
    "ACKNOWLEDGING",
    "FENCED",
    "STALE",
    "FATAL",
)
SILENT = (UNSUBSCRIBED, FENCED, STALE, FATAL)  # states without heartbeats

JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH = 0, -1, -2

MAY_REJOIN = frozenset((errors.FencedMemberEpoch.code, errors.UnknownMemberId.code))

Target = frozenset[tuple[bytes, int]]  # (topic id, partition)


class _Told(NamedTuple):
    """What the coordinator knows from the last heartbeat that it has answered."""

    subscription: tuple[tuple[str, ...], str | None]
    owned: Partitions


class ConsumerMembership(GroupMembership):
    __slots__ = (
        "_has_told_regex",
        "_heartbeat",
        "_heartbeat_at_ms",
        "_ids",
        "_interval_ms",
        "_is_leaving",
        "_names",
        "_target",
        "_told",
        "assignor",
        "epoch",
        "needs_metadata",
        "regex",
        "state",
        "topics",
    )

    def __init__(
        self,
        config: MembershipConfig,
        member_id: str,
        lookup: CoordinatorLookup,
        versions: Versions,
        backoff: Backoff | None = None,
        *,
        assignor: str | None = None,
    ) -> None:
        """The member makes its id itself: a random UUID that is its own as long as the process runs."""
        super().__init__(config, lookup, versions, backoff)
        self.member_id = member_id
        self.assignor = assignor
        self.state = UNSUBSCRIBED
        self.epoch = JOIN_EPOCH
        self.topics: frozenset[str] = frozenset()
        self.regex: str | None = None
        self.needs_metadata = False  # it was assigned a topic whose name it does not know
        self._has_told_regex = False
        self._interval_ms = config.heartbeat_interval_ms
        self._heartbeat: object = None
        self._heartbeat_at_ms = 0
        self._is_leaving = False
        self._told: _Told | None = None
        self._target: Target | None = None  # what it shall have, by the last answer that said so
        self._names: Mapping[bytes, str] = {}
        self._ids: Mapping[str, bytes] = {}

    def __repr__(self) -> str:
        return f"ConsumerMembership({self.member_id!r}, {self.state}, epoch {self.epoch})"

    def identity(self) -> Identity | None:
        if not self._is_member():
            return None
        return Identity(self.member_id, self.epoch, self.config.instance_id, speaks_epochs=True, answers=self._answers)

    # What the consumer tells

    def subscribe(self, topics: Iterable[str] = (), regex: str | None = None) -> None:
        """By names, or by an expression that the coordinator looks up (RE2's syntax)."""
        self.topics = frozenset(topics)
        self.regex = regex
        self._has_told_regex = self._has_told_regex or regex is not None
        self._is_leaving = False
        if self.state == UNSUBSCRIBED:
            self.state = JOINING

    def metadata(self, topic_ids: Mapping[str, bytes]) -> None:
        """A topic that is gone, or was made anew, is known by its old id as long as the member owns some of it."""
        owned = {topic for topic, _ in self.owned}
        old = {topic: topic_id for topic, topic_id in self._ids.items() if topic in owned}
        self._ids = {**topic_ids, **old}
        self._names = {topic_id: name for ids in (old, topic_ids) for name, topic_id in ids.items()}
        self._reconcile()

    def leave(self, now_ms: int) -> None:
        self._is_leaving = True
        if self._is_member():
            self._revoke_all()
        else:
            self._lose_all()
        if not self._changes:
            self._changes_done(now_ms)

    def polled(self, now_ms: int) -> None:
        super().polled(now_ms)
        if self.state == STALE and not self._changes:
            self.state = JOINING

    # What is due

    def poll(self, now_ms: int) -> list[Send]:
        if self._is_stale(now_ms) and self.state not in SILENT:
            self._say_goodbye(now_ms)
            self._lose_place(STALE)
        return super().poll(now_ms)

    def deadline(self) -> int | None:
        if self.state in SILENT or self.error is not None:
            return None
        times = [] if self._polled_ms is None else [self._polled_ms + self.config.max_poll_interval_ms]
        if self._heartbeat is None and self.lookup.node_id is not None:
            is_acknowledging = self.state == ACKNOWLEDGING
            times.append(self._retry_at_ms if is_acknowledging else max(self._heartbeat_at_ms, self._retry_at_ms))
        return min(times, default=None)

    def _wants(self, now_ms: int) -> bool:
        if self.state in SILENT or self._heartbeat is not None:
            return False
        return now_ms >= self._retry_at_ms and (now_ms >= self._heartbeat_at_ms or self.state == ACKNOWLEDGING)

    def _due(self, destination: Destination, now_ms: int) -> None:
        told = _Told(self._subscription(), self.owned)
        request = self._request(told)
        self._heartbeat_at_ms = now_ms + self._interval_ms
        if self.state == ACKNOWLEDGING:
            self.state = STABLE
        self._heartbeat = token = self._ask(
            request,
            destination,
            now_ms,
            lambda response, now_ms: self._answered(token, response, told, now_ms),
            lambda now_ms: self._lost(token, now_ms),
        )

    def _is_member(self) -> bool:
        return self.epoch > JOIN_EPOCH

    @property
    def is_expired(self) -> bool:
        return self.state == STALE

    # The heartbeat

    def _subscription(self) -> tuple[tuple[str, ...], str | None]:
        return tuple(sorted(self.topics)), self.regex

    def _request(self, tells: _Told) -> ConsumerGroupHeartbeatRequest:
        told = None if self.state == JOINING else self._told
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.config.group_id,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self.config.instance_id,
        )
        if told is None:
            request.rack_id = self.config.rack_id
            request.rebalance_timeout_ms = self.config.max_poll_interval_ms
            request.server_assignor = self.assignor
        if told is None or told.subscription != tells.subscription:
            request.subscribed_topic_names = list(tells.subscription[0])
            if self._has_told_regex:  # an empty one takes it back
                request.subscribed_topic_regex = tells.subscription[1] or ""
        if told is None or told.owned != tells.owned:
            request.topic_partitions = self._said(tells.owned)
        return request

    def _said(self, owned: Partitions) -> list[TopicPartitions]:
        by_id: dict[bytes, list[int]] = {}
        for topic, number in sorted(owned):
            by_id.setdefault(self._ids[topic], []).append(number)
        return [TopicPartitions(topic_id=Uuid(topic_id), partitions=numbers) for topic_id, numbers in by_id.items()]

    def _answered(self, token: object, response: ConsumerGroupHeartbeatResponse, told: _Told, now_ms: int) -> None:
        if token is not self._heartbeat:
            return
        self._heartbeat = None
        if response.error_code:
            self._told = None
            self._refused(response, now_ms)
            return
        self._went_well()
        self._told = told
        if response.member_id:
            self.member_id = response.member_id
        self.epoch = response.member_epoch
        self._interval_ms = response.heartbeat_interval_ms or self._interval_ms
        self._heartbeat_at_ms = min(self._heartbeat_at_ms, now_ms + self._interval_ms)
        if self.state == JOINING:
            self.state = STABLE
        if response.assignment is not None:
            self._target = frozenset(
                (bytes(topic.topic_id), number)
                for topic in response.assignment.topic_partitions
                for number in topic.partitions
            )
        self._reconcile()
        self._answers += 1

    def _lost(self, token: object, now_ms: int) -> None:
        """Perhaps it was heard and perhaps not: the next one tells everything."""
        if token is self._heartbeat:
            self._heartbeat = None
            self._told = None
            self._heartbeat_at_ms = now_ms
            self._later(now_ms)

    def _refused(self, response: ConsumerGroupHeartbeatResponse, now_ms: int) -> None:
        code = response.error_code
        if code in MAY_REJOIN:
            self._lose_place(FENCED)
        elif self._is_passing(code, now_ms) or code == errors.TopicAuthorizationFailed.code:
            self._heartbeat_at_ms = max(now_ms, self._retry_at_ms)
        else:
            self._fail_for_good(errors.by_code(code)(response.error_message), now_ms)

    def refused_commit(self, code: int, now_ms: int) -> None:
        """A commit was answered so: the next heartbeat comes at once and tells what has become of the member."""
        self._heartbeat_at_ms = min(self._heartbeat_at_ms, now_ms)

    # What it owns

    def _wanted(self) -> Partitions:
        return frozenset(
            TopicPartition(self._names[topic], number) for topic, number in self._target or () if topic in self._names
        )

    def _reconcile(self) -> None:
        """One change at a time: what comes in the meantime waits until the consumer is done."""
        self.needs_metadata = any(topic_id not in self._names for topic_id, _ in self._target or ())
        if self._target is None or self._changes or self._is_leaving or not self._is_member():
            return
        wanted = self._wanted()
        if wanted == self.owned:
            return
        self.state = RECONCILING
        self._add_change(REVOKE, self.owned - wanted)
        self._add_change(ASSIGN, wanted - self.owned)

    def _changes_done(self, now_ms: int) -> None:
        if self._is_leaving:
            self._leave(now_ms)
        elif self.state == RECONCILING:
            self.state = ACKNOWLEDGING
            self._reconcile()
        elif self.state == FENCED or (self.state == STALE and not self._is_stale(now_ms)):
            self.state = JOINING

    def _lose_place(self, state: str) -> None:
        self.state = state
        self.epoch = JOIN_EPOCH
        self._heartbeat = None
        self._heartbeat_at_ms = 0
        self._told = self._target = None
        self.needs_metadata = False
        self._lose_all()
        if state == FENCED and not self._changes:
            self.state = JOINING

    def _fail_for_good(self, error: errors.KafkaError, now_ms: int) -> None:
        self._lose_place(FATAL)
        super()._fail_for_good(error, now_ms)

    # Leaving

    def _leave(self, now_ms: int) -> None:
        if self.state not in SILENT:
            self._say_goodbye(now_ms)
        if self.state != FATAL:
            self._lose_place(UNSUBSCRIBED)

    def _say_goodbye(self, now_ms: int) -> None:
        destination = self.lookup.want() if self._is_member() else None
        if destination is None:
            return
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.config.group_id,
            member_id=self.member_id,
            member_epoch=LEAVE_EPOCH if self.config.instance_id is None else LEAVE_STATIC_EPOCH,
            instance_id=self.config.instance_id,
        )
        self._say_farewell(request, destination, now_ms)
