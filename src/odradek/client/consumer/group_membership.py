"""A consumer's membership in its group, as far as both protocols agree: which partitions it owns, what the consumer has
to do when that changes, and whether the consumer lives.
"""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from odradek.client.consumer.coordinator_lookup import CoordinatorLookup
from odradek.client.consumer.group_requests import GroupRequests
from odradek.client.consumer.ownership import ASSIGN, LOSE, NOTHING, REVOKE, OwnershipChange, Partitions
from odradek.client.core import Backoff, Destination, Versions
from odradek.protocol import errors
from odradek.protocol.declare import Request
from odradek.protocol.topic_partition import TopicPartition


class MembershipConfig(NamedTuple):
    """The consumer's configs of these names."""

    group_id: str
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    instance_id: str | None = None
    rack_id: str | None = None


class GroupMembership(GroupRequests):
    """A consumer as a member of its group: the base of the cores of both protocols."""

    __slots__ = (
        "_answers",
        "_awaits_poll",
        "_changes",
        "_farewells",
        "_polled_ms",
        "config",
        "member_id",
        "owned",
    )

    def __init__(
        self, config: MembershipConfig, lookup: CoordinatorLookup, versions: Versions, backoff: Backoff | None = None
    ) -> None:
        super().__init__(lookup, versions, backoff)
        self.config = config
        self.member_id = ""
        self.owned: Partitions = NOTHING
        self._changes: deque[OwnershipChange] = deque()
        self._polled_ms: int | None = None
        self._awaits_poll = False  # it has left because its application did not poll
        self._answers = 0  # that have told that it is a member
        self._farewells = 0  # said, and neither answered nor lost

    # The consumer's part

    @property
    def change(self) -> OwnershipChange | None:
        return self._changes[0] if self._changes else None

    def done(self, change: OwnershipChange, now_ms: int) -> None:
        """The consumer has made the change; that has no effect if something has overtaken it."""
        if not self._changes or self._changes[0] is not change:
            return
        self._changes.popleft()
        if change.kind != ASSIGN:
            self.owned -= change.partitions
        self._begin_change()
        if not self._changes:
            self._changes_done(now_ms)

    def polled(self, now_ms: int) -> None:
        """The application is alive: to be called at least every `max.poll.interval.ms`."""
        self._polled_ms = now_ms
        self._awaits_poll = False

    @property
    def is_member(self) -> bool:
        return self._is_member()

    @property
    def is_expired(self) -> bool:
        """It has left because its application did not poll."""
        return self._awaits_poll

    @property
    def has_said_goodbye(self) -> bool:
        """If it has left, the coordinator has heard of it, or never will."""
        return self._farewells == 0

    # For subclasses

    def _say_farewell(self, request: Request, destination: Destination, now_ms: int) -> None:
        """Nobody repeats it: if it gets lost, the session ends by itself."""
        self._farewells += 1
        self._ask(
            request, destination, now_ms, lambda response, now_ms: self._heard_out(), lambda now_ms: self._heard_out()
        )

    def _heard_out(self) -> None:
        self._farewells -= 1

    def _is_member(self) -> bool:
        """Whether it belongs to its group, as far as it has been told."""
        raise NotImplementedError

    def _changes_done(self, now_ms: int) -> None:
        raise NotImplementedError

    def _add_change(self, kind: str, partitions: Iterable[TopicPartition]) -> None:
        found = frozenset(partitions)
        if found:
            self._changes.append(OwnershipChange(kind, found))
            if len(self._changes) == 1:
                self._begin_change()

    def _begin_change(self) -> None:
        """What is assigned is the member's as soon as all before it is given back."""
        if self._changes and self._changes[0].kind == ASSIGN:
            self.owned |= self._changes[0].partitions

    def _lose_all(self) -> None:
        """Whatever the consumer was about to do has been overtaken."""
        self._changes.clear()
        self._add_change(LOSE, self.owned)

    def _revoke_all(self) -> None:
        self._changes.clear()
        self._add_change(REVOKE, self.owned)

    def _is_stale(self, now_ms: int) -> bool:
        return self._polled_ms is not None and now_ms >= self._polled_ms + self.config.max_poll_interval_ms

    def _fail_for_good(self, error: errors.KafkaError, now_ms: int) -> None:
        super()._fail_for_good(error, now_ms)
        self._lose_all()
