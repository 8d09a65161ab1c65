"""The consumer groups of one shard, with their times: what the events of the consumer protocol work on.

The events have files of their own (heartbeat, leaving, target, regex, migration, classic_members, commits, describing);
`room.py` is where the core finds them. Look-ups of expressions are in memory only, and begin anew after loading.
"""

from collections import deque
from typing import TYPE_CHECKING

from odradek.coordinator.group.classic.groups import ClassicGroups
from odradek.coordinator.group.consumer.config import ConsumerConfig
from odradek.coordinator.group.consumer.member import UNREVOKED_PARTITIONS, ConsumerMember
from odradek.coordinator.group.epochs.groups import EpochGroups
from odradek.coordinator.group.shard_state import ShardState
from odradek.coordinator.group.topics import GroupTopics
from odradek.coordinator.now import Now

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.coordinator.group.consumer.downgraded import Downgraded
    from odradek.coordinator.group.consumer.group import ConsumerGroup
    from odradek.coordinator.group.consumer.resolution import Resolution
    from odradek.coordinator.group.plan import Record

# What a deadline is for; the join and the sync are those of members that speak the classic protocol.
SESSION, REVOCATION, JOIN, SYNC = "consumer session", "consumer revocation", "consumer join", "consumer sync"
REGEX = "consumer regex"
KINDS = frozenset({SESSION, REVOCATION, JOIN, SYNC, REGEX})

# Types of records, as `protocol.messages.consumer_groups` has them; most brokers never need to import that.
GROUP_RECORD = 3
RECORDS = frozenset({GROUP_RECORD, 4, 5, 6, 7, 8, 16})


class ConsumerGroups(EpochGroups["ConsumerGroup"]):
    __slots__ = ("classic", "config", "downgraded", "new_member_id", "resolutions", "resolved")

    protocol = "consumer"
    session = SESSION
    group_record = GROUP_RECORD

    def __init__(
        self,
        shard: ShardState,
        classic: ClassicGroups,
        config: ConsumerConfig,
        topics: GroupTopics,
        new_member_id: "Callable[[], str]",
    ) -> None:
        super().__init__(shard, topics)
        self.classic = classic  # where a group comes from that is upgraded, and goes to when it is downgraded
        self.config = config
        self.new_member_id = new_member_id
        self.downgraded: deque[Downgraded] = deque()
        self.resolutions: dict[str, Resolution] = {}  # look-ups of expressions that are under way
        self.resolved: dict[str, tuple[int, int]] = {}  # the last ones: version of the topics, monotonic time

    def _new_group(self, group_id: str) -> "ConsumerGroup":
        from odradek.coordinator.group.consumer.group import ConsumerGroup

        self.classic.forget(group_id)  # one that only kept offsets, or whose end was compacted away
        return ConsumerGroup(group_id)

    def _forget(self, group_id: str) -> None:
        super()._forget(group_id)
        self.resolved.pop(group_id, None)

    def _no_group(self, group: "ConsumerGroup") -> "list[Record]":
        from odradek.coordinator.group.consumer.records import no_group

        return no_group(group)

    # Time

    def begin_session(self, group_id: str, member: ConsumerMember, now: Now) -> None:
        if member.classic is not None:
            timeout_ms = member.classic.session_timeout_ms
        else:
            timeout_ms = self.config.session_timeout_ms(self.topics.configs_of(group_id))
        self.time_session(group_id, member.member_id, timeout_ms, now)

    def time_revocation(self, group_id: str, member: ConsumerMember, now: Now) -> None:
        """A member that has to give back has its rebalance timeout to do so."""
        what = (REVOCATION, group_id, member.member_id)
        if member.state == UNREVOKED_PARTITIONS:
            self.shard.deadlines.set(what, now.mono_ms + max(0, member.rebalance_timeout_ms))
        else:
            self.shard.deadlines.clear(what)

    def forget_revocation(self, group_id: str, member_id: str) -> None:
        self.shard.deadlines.clear((REVOCATION, group_id, member_id))

    def await_join(self, group_id: str, member: ConsumerMember, now: Now) -> None:
        what = (JOIN, group_id, member.member_id)
        if self.shard.deadlines.get(what) is None:
            self.shard.deadlines.set(what, now.mono_ms + max(0, member.rebalance_timeout_ms))

    def await_sync(self, group_id: str, member: ConsumerMember, now: Now) -> None:
        self.shard.deadlines.clear((JOIN, group_id, member.member_id))
        what = (SYNC, group_id, member.member_id)
        self.shard.deadlines.set(what, now.mono_ms + max(0, member.rebalance_timeout_ms))

    def synced(self, group_id: str, member_id: str) -> None:
        self.shard.deadlines.clear((SYNC, group_id, member_id))
