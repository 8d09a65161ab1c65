"""The classic groups of one shard, with their sessions: what the events of the classic protocol work on.

The events have files of their own (joining, syncing, rebalancing, leaving, expiry, describing); `room.py` is where the
core finds them.
"""

from collections import deque
from typing import TYPE_CHECKING

from odradek.broken_rule import BrokenRuleError
from odradek.coordinator.group.classic.classic_group import ClassicGroup
from odradek.coordinator.group.classic.member import Member
from odradek.coordinator.group.classic.records import group_record, group_tombstone
from odradek.coordinator.group.classic.states import PREPARING_REBALANCE
from odradek.coordinator.group.classic.written_group import WrittenGroup
from odradek.coordinator.group.deadlines import JOIN, SESSION, SYNC
from odradek.coordinator.group.shard_state import ShardState
from odradek.coordinator.now import Now

if TYPE_CHECKING:
    from odradek.protocol.messages.consumer_offsets import GroupMetadataValue
    from odradek.protocol.messages.k11_join_group import JoinGroupRequest
    from odradek.replicated.log_record import Versioned


class ClassicGroups:
    __slots__ = ("_record_version", "_to_look_at", "deadlines", "groups", "shard")

    def __init__(self, shard: ShardState) -> None:
        self.shard = shard
        self.deadlines = shard.deadlines
        self.groups: dict[str, ClassicGroup] = {}
        self._record_version = shard.release.record_versions["GroupMetadataValue"]
        self._to_look_at: deque[str] = deque()  # groups whose rebalance may have become complete

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.groups)} groups)"

    # The log

    def replay(self, group_id: str, value: "GroupMetadataValue | None") -> None:
        if value is None:
            self.forget(group_id)
            return
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = ClassicGroup(group_id)
        group.replay(value)

    def replay_commit(self, group_id: str) -> None:
        """A consumer that only keeps its offsets here has committed: its group is known by them alone."""
        self.groups[group_id] = ClassicGroup(group_id)

    def forget(self, group_id: str) -> None:
        """A group has ended, or has become one of another kind: nothing of its rebalance is waited for any more."""
        if self.groups.pop(group_id, None) is not None:
            self.deadlines.clear((JOIN, group_id, ""))
            self.deadlines.clear((SYNC, group_id, ""))

    def record(self, group: ClassicGroup, written: WrittenGroup) -> "Versioned":
        return group_record(group.group_id, written, self._record_version)

    # What other rooms ask

    def keeps_classic_out(self, group_id: str) -> bool:
        return False

    def tombstones(self, group_id: str) -> "list[Versioned]":
        return [group_tombstone(group_id)] if group_id in self.groups else []

    # Members

    def accepts(self, request: "JoinGroupRequest") -> bool:
        """Whether a join may be looked at at all: if not, no group is made for it."""
        config = self.shard.config
        return config.session_timeout_ms_min <= request.session_timeout_ms <= config.session_timeout_ms_max

    def begin_session(self, group: ClassicGroup, member: Member, now: Now, timeout_ms: int | None = None) -> None:
        timeout_ms = member.session_timeout_ms if timeout_ms is None else timeout_ms
        self.deadlines.set((SESSION, group.group_id, member.member_id), now.mono_ms + timeout_ms)

    # Rebalances

    def may_complete(self, group: ClassicGroup) -> None:
        """Has `follow_up` look, once this event has ended, whether everybody has joined."""
        self._to_look_at.append(group.group_id)

    def next_to_look_at(self) -> str | None:
        return self._to_look_at.popleft() if self._to_look_at else None

    def validate(self) -> None:
        for group in self.groups.values():
            group.validate()
            for member in group.members.values():
                is_timed = self.deadlines.get((SESSION, group.group_id, member.member_id)) is not None
                if not is_timed and not member.is_awaiting:
                    raise BrokenRuleError(f"{member} of {group} has no session and does not wait")
            if group.state == PREPARING_REBALANCE and self.deadlines.get((JOIN, group.group_id, "")) is None:
                raise BrokenRuleError(f"{group} waits for ever")
