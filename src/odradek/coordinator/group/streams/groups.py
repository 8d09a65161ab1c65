"""The streams groups of one shard, with their times: what the events of the streams protocol work on.

The events have files of their own (heartbeat, leaving, target, commits, describing); `room.py` is where the core finds
them. Delays and what is found out about topologies (`volatile.py`) are in memory only.
"""

from typing import TYPE_CHECKING, Any

from odradek.coordinator.group.classic.groups import ClassicGroups
from odradek.coordinator.group.epochs.groups import EpochGroups
from odradek.coordinator.group.shard_state import ShardState
from odradek.coordinator.group.streams.config import StreamsConfig
from odradek.coordinator.group.streams.volatile import Volatile
from odradek.coordinator.group.topics import GroupTopics
from odradek.coordinator.now import Now
from odradek.protocol.declare import Message

if TYPE_CHECKING:
    from odradek.coordinator.group.plan import Record
    from odradek.coordinator.group.streams.configured import ConfiguredTopology
    from odradek.coordinator.group.streams.group import StreamsGroup
    from odradek.coordinator.group.streams.member import StreamsMember

# What a deadline is for.
SESSION, REVOCATION, DELAY = "streams session", "streams revocation", "streams delay"
KINDS = frozenset({SESSION, REVOCATION, DELAY})

UNREVOKED_TASKS = 2  # the state of a member that has to give back

# Types of records, as `protocol.messages.streams_groups` has them; most brokers never need to import that.
GROUP_RECORD = 17
RECORDS = frozenset({GROUP_RECORD, 19, 20, 21, 22, 23})


class StreamsGroups(EpochGroups["StreamsGroup"]):
    __slots__ = ("_volatile", "classic", "config")

    protocol = "streams"
    session = SESSION
    group_record = GROUP_RECORD

    def __init__(self, shard: ShardState, classic: ClassicGroups, config: StreamsConfig, topics: GroupTopics) -> None:
        super().__init__(shard, topics)
        self.classic = classic  # an empty one gives way to a streams group
        self.config = config
        self._volatile: dict[str, Volatile] = {}

    def _new_group(self, group_id: str) -> "StreamsGroup":
        from odradek.coordinator.group.streams.group import StreamsGroup

        self.classic.forget(group_id)  # one that only kept offsets, or whose end was compacted away
        return StreamsGroup(group_id)

    def _forget(self, group_id: str) -> None:
        super()._forget(group_id)
        self._volatile.pop(group_id, None)
        self.shard.deadlines.clear((DELAY, group_id, ""))

    def replay(self, key: Message, value: Message | None) -> None:
        super().replay(key, value)
        of_group: Any = key  # as there
        group_id: str = of_group.group_id
        known = self._volatile.get(group_id)
        if known is not None and not self.has_members(group_id):
            known.shutdown_requested_by = None

    def _no_group(self, group: "StreamsGroup") -> "list[Record]":
        from odradek.coordinator.group.streams.records import no_group

        return no_group(group)

    def _filtered_as(self, state: str) -> str:
        """A filter names a group that is not ready by the name of Kafka's constant."""
        return "not_ready" if state == "NotReady" else state.lower()

    # What is known in memory alone

    def volatile(self, group_id: str) -> Volatile:
        """What is known in memory of a group that there is."""
        return self._volatile.setdefault(group_id, Volatile())

    def configured(self, group_id: str) -> "ConfiguredTopology | None":
        known = self._volatile.get(group_id)
        return None if known is None else known.configured

    # Time

    def begin_session(self, group_id: str, member_id: str, now: Now) -> None:
        timeout_ms = self.config.session_timeout_ms(self.topics.configs_of(group_id))
        self.time_session(group_id, member_id, timeout_ms, now)

    def time_revocation(self, group_id: str, member: "StreamsMember", now: Now) -> None:
        """A member that has to give back has its rebalance timeout to do so."""
        what = (REVOCATION, group_id, member.member_id)
        if member.state == UNREVOKED_TASKS:
            self.shard.deadlines.set(what, now.mono_ms + max(0, member.rebalance_timeout_ms))
        else:
            self.shard.deadlines.clear(what)

    def delay(self, group_id: str, now: Now) -> None:
        """The first assignment of a group waits for those who start with its first member."""
        delay_ms = self.config.initial_rebalance_delay_ms(self.topics.configs_of(group_id))
        if delay_ms > 0 and not self.is_delayed(group_id):
            self.shard.deadlines.set((DELAY, group_id, ""), now.mono_ms + delay_ms)

    def is_delayed(self, group_id: str) -> bool:
        return self.shard.deadlines.get((DELAY, group_id, "")) is not None
