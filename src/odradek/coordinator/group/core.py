"""The core of the group coordinator: all groups of one partition of __consumer_offsets.

It knows neither log nor network. An event comes with the time and returns a decision; `replay` writes what the log
holds (groups at rest, offsets); rebalances, sessions and who waits for an answer are in memory only, see
`classic_group.py`. The events have files of their own: joining, syncing, leaving, commits, describing, deleting,
expiry.

Every answer, a refusal too, is a decision's response: it may be given only once what it was decided upon is committed.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from odradek.coordinator.core import Decided, ShardCore
from odradek.coordinator.group.classic import rebalancing
from odradek.coordinator.group.classic.classic_group import PREPARING_REBALANCE, ClassicGroup
from odradek.coordinator.group.classic.member import Joiner, Member
from odradek.coordinator.group.commits import Commit, CommitFrom, commit_offsets, txn_offset_commit
from odradek.coordinator.group.config import GroupConfig
from odradek.coordinator.group.consumer.config import ConsumerConfig
from odradek.coordinator.group.consumer.groups import RECORDS as CONSUMER_RECORDS
from odradek.coordinator.group.consumer.groups import ConsumerGroups
from odradek.coordinator.group.consumer.topics import GroupTopics
from odradek.coordinator.group.counts import GroupCounts
from odradek.coordinator.group.deadlines import JOIN, RETENTION_CHECK, SESSION, Deadlines, What
from odradek.coordinator.group.loading import LoadedOffset
from odradek.coordinator.group.offsets import OffsetStore, Stored, stored
from odradek.coordinator.group.records import GroupRecords
from odradek.coordinator.group.share.config import ShareConfig
from odradek.coordinator.group.share.groups import RECORDS as SHARE_RECORDS
from odradek.coordinator.group.share.groups import ShareGroups
from odradek.coordinator.group.streams.config import StreamsConfig
from odradek.coordinator.group.streams.groups import RECORDS as STREAMS_RECORDS
from odradek.coordinator.group.streams.groups import StreamsGroups
from odradek.coordinator.now import Now
from odradek.protocol import errors
from odradek.protocol.declare import Message
from odradek.protocol.messages.consumer_offsets import (
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    OffsetCommitKey,
)
from odradek.protocol.releases import Release
from odradek.replicated.log_record import EndMarker, LogRecord

if TYPE_CHECKING:
    from odradek.coordinator.group.describing import FetchedTopic, GroupFilter, WantedTopics
    from odradek.protocol.messages.k11_join_group import JoinGroupRequest
    from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
    from odradek.protocol.messages.k13_leave_group import LeaveGroupResponse, MemberIdentity
    from odradek.protocol.messages.k14_sync_group import SyncGroupRequest
    from odradek.protocol.messages.k15_describe_groups import DescribedGroup
    from odradek.protocol.messages.k16_list_groups import ListedGroup


class GroupCore(ShardCore):
    __slots__ = (
        "_ready",
        "behaviour",
        "config",
        "consumers",
        "counts",
        "deadlines",
        "groups",
        "new_uuid",
        "offsets",
        "records",
        "shares",
        "streams",
        "to_check",
    )

    def __init__(
        self,
        config: GroupConfig,
        release: Release,
        new_uuid: Callable[[], str],
        *,
        consumer_config: ConsumerConfig | None = None,
        share_config: ShareConfig | None = None,
        streams_config: StreamsConfig | None = None,
        topics: GroupTopics | None = None,
        new_member_id: Callable[[], str] | None = None,
        counts: GroupCounts | None = None,
    ) -> None:
        """`new_uuid` is where ids of classic members come from, `new_member_id` those of the others."""
        self.config = config
        self.behaviour = release.behaviour
        self.new_uuid = new_uuid
        self.records = GroupRecords(release)
        self.counts = counts or GroupCounts()
        self.groups: dict[str, ClassicGroup] = {}
        self.offsets = OffsetStore()
        self.deadlines: Deadlines[What] = Deadlines()
        topics = topics or GroupTopics()
        self.consumers = ConsumerGroups(self, consumer_config or ConsumerConfig({}), topics, new_member_id or new_uuid)
        self.shares = ShareGroups(self, share_config or ShareConfig({}), topics)
        self.streams = StreamsGroups(self, streams_config or StreamsConfig({}), topics)
        self.to_check: list[str] = []  # groups whose offsets a check of the retention has yet to look at
        self._ready: deque[str] = deque()  # groups whose rebalance may have become complete

    def __repr__(self) -> str:
        return f"GroupCore({len(self.groups)} groups)"

    # The log

    def replay(self, record: LogRecord | EndMarker | LoadedOffset, offset: int) -> None:
        if type(record) is LoadedOffset:  # nearly all of a log
            self._replay_committed(*record)
        elif isinstance(record, EndMarker):
            self.offsets.replay_end(record.producer_id, record.is_commit)
        else:
            assert isinstance(record, LogRecord)
            self._replay_record(record, offset)

    def _replay_record(self, record: LogRecord, offset: int) -> None:
        key, value, producer_id, _ = record
        if type(key) is OffsetCommitKey:  # nearly all of them
            self._replay_offset((key.group, key.topic, key.partition), value, producer_id, offset)
        elif isinstance(key, GroupMetadataKey):
            assert value is None or isinstance(value, GroupMetadataValue)
            self._replay_group(key.group, value)
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
        if group_id not in self.groups and not self.has_group(group_id):
            # of a consumer that only keeps its offsets here
            self.groups[group_id] = ClassicGroup(group_id)
        if producer_id >= 0:
            self.offsets.replay_pending(producer_id, (group_id, topic, partition), committed)
        else:
            self.offsets.replay(group_id, topic, partition, committed)

    def _replay_group(self, group_id: str, value: GroupMetadataValue | None) -> None:
        if value is None:
            self.groups.pop(group_id, None)
            return
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = ClassicGroup(group_id)
        group.restore(value)

    def loaded(self, now: Now) -> None:
        """Members get a fresh session: they could not reach anybody while there was no coordinator.

        A group without a leader has not been dealt out since it changed its protocol (`consumer/migration.py`).
        """
        for group in self.groups.values():
            for member in group.members.values():
                self.begin_session(group, member, now)
            if group.members and group.leader is None:
                rebalancing.prepare(self, group, now)
        self.consumers.loaded(now)
        self.shares.loaded(now)
        self.streams.loaded(now)
        self.deadlines.set(RETENTION_CHECK, now.mono_ms + self.config.retention_check_interval_ms)

    # Events of members

    def create(self, now: Now, group_id: str) -> Decided[None]:
        """Before the first join of a group that is not there. A 4.3 writes it down, a 3.3 only knows it."""
        if group_id in self.groups or group_id in self.shares.groups:
            return Decided()
        if self.consumers.has_members(group_id) or self.streams.has_members(group_id):
            return Decided()
        group = ClassicGroup(group_id, now.wall_ms)
        if not self.behaviour.writes_new_groups:
            self.groups[group_id] = group
            return Decided()
        others = [*self.consumers.tombstones(group_id), *self.streams.tombstones(group_id)]
        return Decided([*others, self.records.empty(group, 0, now.wall_ms)])

    def accepts(self, request: "JoinGroupRequest") -> bool:
        """Whether a join may be looked at at all: if not, no group is made for it."""
        timeout_ms = request.session_timeout_ms
        return self.config.session_timeout_ms_min <= timeout_ms <= self.config.session_timeout_ms_max

    def join(self, now: Now, request: "JoinGroupRequest", joiner: Joiner, ticket: Any) -> Decided[None]:
        from odradek.coordinator.group.classic import joining

        if self.consumers.has_members(request.group_id):
            return self.consumers.classic_join(now, request, joiner, ticket)
        return joining.join(self, now, request, joiner, ticket)

    def sync(self, now: Now, request: "SyncGroupRequest", ticket: Any) -> Decided[None]:
        from odradek.coordinator.group.classic import syncing

        if request.group_id in self.consumers.groups:
            return self.consumers.classic_sync(now, request, ticket)
        return syncing.sync(self, now, request, ticket)

    def heartbeat(self, now: Now, request: "HeartbeatRequest") -> "Decided[HeartbeatResponse]":
        from odradek.coordinator.group.classic.syncing import (
            heartbeat,  # cheaper than from the package: it comes most often
        )

        if request.group_id in self.consumers.groups:
            return self.consumers.classic_heartbeat(now, request)
        return heartbeat(self, now, request)

    def leave(self, now: Now, group_id: str, members: "list[MemberIdentity]") -> "Decided[LeaveGroupResponse]":
        from odradek.coordinator.group.classic import leaving

        if group_id in self.consumers.groups:
            return self.consumers.classic_leave(now, group_id, members)
        return leaving.leave(self, now, group_id, members)

    # Offsets

    def commit_offsets(self, now: Now, sender: CommitFrom, commits: Sequence[Commit]) -> Decided[list[int]]:
        """The error code of each."""
        return commit_offsets(self, now, sender, commits)

    def txn_offset_commit(
        self, now: Now, sender: CommitFrom, commits: Sequence[Commit], producer_id: int, producer_epoch: int
    ) -> Decided[list[int]]:
        """The same inside a transaction: they count when `end_transaction` says so."""
        return txn_offset_commit(self, now, sender, commits, producer_id, producer_epoch)

    def end_transaction(self, marker: EndMarker) -> Decided[None]:
        """The marker itself is the record."""
        return Decided([(marker, 0)])

    def fetch_offsets(
        self, group_id: str, wanted: "WantedTopics | None", *, require_stable: bool
    ) -> "Decided[list[FetchedTopic]]":
        from odradek.coordinator.group.describing import fetch_offsets

        return fetch_offsets(self, group_id, wanted, require_stable)

    def delete_offsets(self, group_id: str, places: Sequence[tuple[str, int]]) -> Decided[list[int] | int]:
        """The error code of each, or one for all."""
        from odradek.coordinator.group.deleting import delete_offsets

        return delete_offsets(self, group_id, places)

    def topics_deleted(self, topics: Iterable[str]) -> Decided[None]:
        from odradek.coordinator.group.deleting import topics_deleted

        return topics_deleted(self, topics)

    # Events of admins

    def describe(self, group_id: str, *, tells_missing: bool) -> "Decided[DescribedGroup]":
        from odradek.coordinator.group.describing import describe

        return describe(self, group_id, tells_missing)

    def list_groups(self, wanted: "GroupFilter") -> "Decided[list[ListedGroup]]":
        from odradek.coordinator.group.describing import list_groups

        return list_groups(self, wanted)

    def delete(self, group_id: str) -> Decided[int]:
        """The error code."""
        from odradek.coordinator.group.deleting import delete

        return delete(self, group_id)

    # Time

    def begin_session(self, group: ClassicGroup, member: Member, now: Now, timeout_ms: int | None = None) -> None:
        timeout_ms = member.session_timeout_ms if timeout_ms is None else timeout_ms
        self.deadlines.set((SESSION, group.group_id, member.member_id), now.mono_ms + timeout_ms)

    def may_complete(self, group: ClassicGroup) -> None:
        """Looks at the group's rebalance once this event has ended."""
        self._ready.append(group.group_id)

    def follow_up(self, now: Now) -> Decided[None] | None:
        while self._ready:
            group = self.groups.get(self._ready.popleft())
            if group is not None and rebalancing.is_complete(group):
                return rebalancing.complete_join(self, group, now)
        return self.consumers.follow_up(now)

    def next_deadline_ms(self) -> int | None:
        return self.deadlines.next_ms()

    def expire(self, now: Now) -> Decided[None] | None:
        from odradek.coordinator.group import expiry

        return expiry.expire(self, now)

    # Looking things up

    def has_group(self, group_id: str) -> bool:
        """Of any kind: an id names one group."""
        kinds = (self.groups, self.consumers.groups, self.shares.groups, self.streams.groups)
        return any(group_id in groups for groups in kinds)

    def group(self, group_id: str) -> ClassicGroup:
        """GroupIdNotFound if there is none."""
        group = self.groups.get(group_id)
        if group is None:
            raise errors.GroupIdNotFound(f"Group {group_id} not found.")
        return group

    def validate(self) -> None:
        self.offsets.validate()
        self.consumers.validate()
        self.shares.validate()
        self.streams.validate()
        for group in self.groups.values():
            group.validate()
            for member in group.members.values():
                is_timed = self.deadlines.get((SESSION, group.group_id, member.member_id)) is not None
                assert is_timed or member.is_awaiting, f"{member} of {group} has no session and does not wait"
            if group.state == PREPARING_REBALANCE:
                assert self.deadlines.get((JOIN, group.group_id, "")) is not None, f"{group} waits for ever"
