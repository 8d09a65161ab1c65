"""The share groups of one shard, with their times: what the events of the share protocol work on.

The events have files of their own (heartbeat, state_topics, describing); `room.py` is where the core finds them. Since
when state is being set up is in memory only.
"""

from typing import TYPE_CHECKING

from odradek.coordinator.group.epochs.groups import EpochGroups
from odradek.coordinator.group.shard_state import ShardState
from odradek.coordinator.group.share.config import ShareConfig
from odradek.coordinator.group.topics import GroupTopics
from odradek.coordinator.now import Now

if TYPE_CHECKING:
    from odradek.coordinator.group.plan import Record
    from odradek.coordinator.group.share.group import ShareGroup

SESSION = "share session"  # what a deadline is for

# Types of records, as `protocol.messages.share_groups` has them; most brokers never need to import that.
GROUP_RECORD = 11
RECORDS = frozenset({10, GROUP_RECORD, 12, 13, 14, 15})


class ShareGroups(EpochGroups["ShareGroup"]):
    __slots__ = ("_initializing_ms", "config")

    protocol = "share"
    session = SESSION
    group_record = GROUP_RECORD

    def __init__(self, shard: ShardState, config: ShareConfig, topics: GroupTopics) -> None:
        super().__init__(shard, topics)
        self.config = config
        self._initializing_ms: dict[str, int] = {}  # since when the share coordinator is being asked

    def _new_group(self, group_id: str) -> "ShareGroup":
        from odradek.coordinator.group.share.group import ShareGroup

        return ShareGroup(group_id)

    def _forget(self, group_id: str) -> None:
        super()._forget(group_id)
        self._initializing_ms.pop(group_id, None)

    def keeps_classic_out(self, group_id: str) -> bool:
        """Even when it is empty: its state at the share coordinator would be left behind."""
        return group_id in self.groups

    def _no_group(self, group: "ShareGroup") -> "list[Record]":
        from odradek.coordinator.group.share.records import no_group

        return no_group(group)

    # Setting up state

    def began_initializing(self, group_id: str, now: Now) -> None:
        self._initializing_ms[group_id] = now.mono_ms

    def ended_initializing(self, group_id: str) -> None:
        self._initializing_ms.pop(group_id, None)

    def is_initializing(self, group_id: str, now: Now) -> bool:
        """Whether an answer of the share coordinator may still come."""
        since_ms = self._initializing_ms.get(group_id)
        return since_ms is not None and now.mono_ms - since_ms < self.config.retry_interval_ms

    # Time

    def begin_session(self, group_id: str, member_id: str, now: Now) -> None:
        timeout_ms = self.config.session_timeout_ms(self.topics.configs_of(group_id))
        self.time_session(group_id, member_id, timeout_ms, now)
