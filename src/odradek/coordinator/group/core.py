"""The core of the group coordinator: all groups of one partition of __consumer_offsets.

It knows neither log nor network. An event comes with the time and returns a decision; `replay` writes what the log
holds (groups at rest, offsets); rebalances, sessions and who waits for an answer are in memory only. The groups of
each protocol have a room of their own (`rooms.py`); what concerns them all has files here: commits, offset_fetch,
deleting, expiry.

Every answer, a refusal too, is a decision's response: it may be given only once what it was decided upon is committed.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from odradek.broken_rule import instance
from odradek.coordinator.core import Decided, ShardCore, Ticket
from odradek.coordinator.group.commit_request import Commit, CommitFrom
from odradek.coordinator.group.commits import commit_offsets, txn_offset_commit
from odradek.coordinator.group.consumer.groups import RECORDS as CONSUMER_RECORDS
from odradek.coordinator.group.deadlines import RETENTION_CHECK
from odradek.coordinator.group.loading import LoadedOffset
from odradek.coordinator.group.offsets import Stored, stored
from odradek.coordinator.group.rooms import GroupRooms
from odradek.coordinator.group.share.groups import RECORDS as SHARE_RECORDS
from odradek.coordinator.group.streams.groups import RECORDS as STREAMS_RECORDS
from odradek.coordinator.now import Now
from odradek.protocol.declare import Message
from odradek.protocol.messages.consumer_offsets import (
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    OffsetCommitKey,
)
from odradek.replicated.log_record import EndMarker, LogRecord

if TYPE_CHECKING:
    from odradek.coordinator.group.classic.member import Joiner
    from odradek.coordinator.group.listing import GroupFilter
    from odradek.coordinator.group.offset_fetch import FetchedTopic, WantedTopics
    from odradek.protocol.messages.k11_join_group import JoinGroupRequest
    from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
    from odradek.protocol.messages.k13_leave_group import LeaveGroupResponse, MemberIdentity
    from odradek.protocol.messages.k14_sync_group import SyncGroupRequest
    from odradek.protocol.messages.k15_describe_groups import DescribedGroup
    from odradek.protocol.messages.k16_list_groups import ListedGroup


class GroupCore(GroupRooms, ShardCore):
    __slots__ = ()

    def __repr__(self) -> str:
        return f"GroupCore({self.kinds})"

    # The log

    def replay(self, record: LogRecord | EndMarker | LoadedOffset, offset: int) -> None:
        if type(record) is LoadedOffset:  # nearly all of a log
            self._replay_committed(*record)
        elif isinstance(record, EndMarker):
            self.offsets.replay_end(record.producer_id, record.is_commit)
        elif isinstance(record, LogRecord):
            self._replay_record(record, offset)

    def _replay_record(self, record: LogRecord, offset: int) -> None:
        key, value, producer_id, _ = record
        if type(key) is OffsetCommitKey:  # nearly all of them
            self._replay_offset((key.group, key.topic, key.partition), value, producer_id, offset)
        elif isinstance(key, GroupMetadataKey):
            group = None if value is None else instance(value, GroupMetadataValue, "a group's key has a group's value")
            self.classic.replay(key.group, group)
        elif key.api_key in CONSUMER_RECORDS:
            self.consumers.replay(key, value)
        elif key.api_key in SHARE_RECORDS:
            self.shares.replay(key, value)
        elif key.api_key in STREAMS_RECORDS:
            self.streams.replay(key, value)
        elif isinstance(key, LegacyOffsetCommitKey):
            self._replay_offset((key.group, key.topic, key.partition), value, producer_id, offset)

    def _replay_offset(
        self,
        place: tuple[str, str, int],
        value: Message | None,
        producer_id: int,
        offset: int,
    ) -> None:
        if value is None:
            self.offsets.replay_tombstone(place)
            return
        self._replay_committed(*place, stored(value, offset), producer_id)

    def _replay_committed(self, group_id: str, topic: str, partition: int, committed: Stored, producer_id: int) -> None:
        if group_id not in self.classic.groups and not self.has_group(group_id):
            self.classic.replay_commit(group_id)
        if producer_id >= 0:
            self.offsets.replay_pending(producer_id, (group_id, topic, partition), committed)
        else:
            self.offsets.replay(group_id, topic, partition, committed)

    def loaded(self, now: Now) -> None:
        self.classic.loaded(now)
        self.consumers.loaded(now)
        self.shares.loaded(now)
        self.streams.loaded(now)
        self.deadlines.set(RETENTION_CHECK, now.mono_ms + self.config.retention_check_interval_ms)

    # Members of the classic protocol, in groups of either kind

    def create(self, now: Now, group_id: str) -> Decided[None]:
        return self.classic.create(now, group_id)

    def join(self, now: Now, request: "JoinGroupRequest", joiner: "Joiner", ticket: Ticket) -> Decided[None]:
        if self.consumers.has_members(request.group_id):
            return self.consumers.classic_join(now, request, joiner, ticket)
        return self.classic.join(now, request, joiner, ticket)

    def sync(self, now: Now, request: "SyncGroupRequest", ticket: Ticket) -> Decided[None]:
        if request.group_id in self.consumers.groups:
            return self.consumers.classic_sync(now, request, ticket)
        return self.classic.sync(now, request, ticket)

    def heartbeat(self, now: Now, request: "HeartbeatRequest") -> "Decided[HeartbeatResponse]":
        from odradek.coordinator.group.classic.syncing import heartbeat  # straight: it comes most often

        if request.group_id in self.consumers.groups:
            return self.consumers.classic_heartbeat(now, request)
        return heartbeat(self.classic, now, request)

    def leave(self, now: Now, group_id: str, members: "list[MemberIdentity]") -> "Decided[LeaveGroupResponse]":
        if group_id in self.consumers.groups:
            return self.consumers.classic_leave(now, group_id, members)
        return self.classic.leave(now, group_id, members)

    # Offsets

    def commit_offsets(self, now: Now, sender: CommitFrom, commits: Sequence[Commit]) -> Decided[list[int]]:
        """The error code of each commit."""
        return commit_offsets(self, now, sender, commits)

    def txn_offset_commit(
        self, now: Now, sender: CommitFrom, commits: Sequence[Commit], producer_id: int, producer_epoch: int
    ) -> Decided[list[int]]:
        """The error code of each commit of a transaction: they count when `end_transaction` says so."""
        return txn_offset_commit(self, now, sender, commits, producer_id, producer_epoch)

    def end_transaction(self, marker: EndMarker) -> Decided[None]:
        """The marker itself is the record."""
        return Decided([(marker, 0)])

    def fetch_offsets(
        self, group_id: str, wanted: "WantedTopics | None", *, require_stable: bool
    ) -> "Decided[list[FetchedTopic]]":
        from odradek.coordinator.group.offset_fetch import fetch_offsets

        return fetch_offsets(self.offsets, group_id, wanted, require_stable)

    def delete_offsets(self, group_id: str, places: Sequence[tuple[str, int]]) -> Decided[list[int] | int]:
        """The error code of each, or one for all."""
        from odradek.coordinator.group.deleting import delete_offsets

        return delete_offsets(self, group_id, places)

    def topics_deleted(self, topics: Iterable[str]) -> Decided[None]:
        from odradek.coordinator.group.deleting import topics_deleted

        return topics_deleted(self, topics)

    # Events of admins

    def describe(self, group_id: str, *, tells_missing: bool) -> "Decided[DescribedGroup]":
        return self.classic.describe(group_id, tells_missing=tells_missing)

    def list_groups(self, wanted: "GroupFilter") -> "Decided[list[ListedGroup]]":
        rooms = (self.consumers, self.shares, self.streams, self.classic)
        return Decided(response=[listed for room in rooms for listed in room.listed(wanted)])

    def delete(self, group_id: str) -> Decided[int]:
        """The error code."""
        from odradek.coordinator.group.deleting import delete

        return delete(self, group_id)

    # Time

    def follow_up(self, now: Now) -> Decided[None] | None:
        return self.classic.follow_up(now) or self.consumers.follow_up(now)

    def next_deadline_ms(self) -> int | None:
        return self.deadlines.next_ms()

    def expire(self, now: Now) -> Decided[None] | None:
        from odradek.coordinator.group import expiry

        return expiry.expire(self, now)

    def validate(self) -> None:
        self.offsets.validate()
        self.classic.validate()
        self.consumers.validate()
        self.shares.validate()
        self.streams.validate()
