"""The share groups of one shard, beside its classic and consumer ones: a part of `GroupCore`.

`groups` is what the log holds; sessions, what groups have seen of the topics and since when state is being set up are
in memory only, and begin anew when it is loaded.
"""

from typing import TYPE_CHECKING

from odradek.coordinator.core import Decided
from odradek.coordinator.group.consumer.topics import GroupTopics
from odradek.coordinator.group.share.config import ShareConfig
from odradek.coordinator.now import Now
from odradek.protocol import errors
from odradek.protocol.declare import Message

if TYPE_CHECKING:
    from collections.abc import Collection

    from odradek.coordinator.group.consumer.requests import Caller
    from odradek.coordinator.group.core import GroupCore
    from odradek.coordinator.group.deadlines import What
    from odradek.coordinator.group.describing import GroupFilter
    from odradek.coordinator.group.share.group import ShareGroup
    from odradek.protocol.messages.k16_list_groups import ListedGroup
    from odradek.protocol.messages.k76_share_group_heartbeat import (
        ShareGroupHeartbeatRequest,
        ShareGroupHeartbeatResponse,
    )
    from odradek.protocol.messages.k77_share_group_describe import DescribedGroup

SESSION = "share session"  # what a deadline is for
RETRY_MS = 1000  # until a member that could not be written as gone is tried again

# Types of records, as `protocol.messages.share_groups` has them; most brokers never need to import that.
GROUP_RECORD = 11
RECORDS = frozenset({10, GROUP_RECORD, 12, 13, 14, 15})


class ShareGroups:
    __slots__ = ("_initializing_ms", "_seen_topics", "config", "core", "groups", "topics")

    def __init__(self, core: "GroupCore", config: ShareConfig, topics: GroupTopics) -> None:
        self.core = core
        self.config = config
        self.topics = topics
        self.groups: dict[str, ShareGroup] = {}
        self._seen_topics: dict[str, int] = {}  # the version of the topics that a group has looked at
        self._initializing_ms: dict[str, int] = {}  # since when the share coordinator is being asked

    def __repr__(self) -> str:
        return f"ShareGroups({len(self.groups)} groups)"

    def group(self, group_id: str) -> "ShareGroup":
        """GroupIdNotFound if there is none of this kind."""
        group = self.groups.get(group_id)
        if group is None:
            is_other = self.is_of_other_kind(group_id)
            raise errors.GroupIdNotFound(f"Group {group_id} {'is not a share group' if is_other else 'not found'}.")
        return group

    def is_of_other_kind(self, group_id: str) -> bool:
        return self.core.has_group(group_id) and group_id not in self.groups

    # The log

    def replay(self, key: Message, value: Message | None) -> None:
        group_id: str = key.group_id
        if value is None and key.api_key == GROUP_RECORD:
            self.groups.pop(group_id, None)
            self._seen_topics.pop(group_id, None)
            self._initializing_ms.pop(group_id, None)
            return
        group = self.groups.get(group_id)
        if group is None:
            if value is None:
                return
            from odradek.coordinator.group.share.group import ShareGroup

            group = self.groups[group_id] = ShareGroup(group_id)
        group.replay(key, value)

    def loaded(self, now: Now) -> None:
        for group in self.groups.values():
            for member_id in group.members:
                self.begin_session(group.group_id, member_id, now)

    # Events

    def heartbeat(
        self, now: Now, request: "ShareGroupHeartbeatRequest", caller: "Caller"
    ) -> "Decided[ShareGroupHeartbeatResponse]":
        from odradek.coordinator.group.share.heartbeat import heartbeat

        return heartbeat(self, now, request, caller)

    def topics_deleted(self, topic_ids: "Collection[bytes]") -> Decided[None]:
        from odradek.coordinator.group.share.state_topics import topics_deleted

        return topics_deleted(self, topic_ids)

    def describe(self, group_id: str) -> "Decided[DescribedGroup]":
        from odradek.coordinator.group.share.describing import describe

        return describe(self, group_id)

    def listed(self, wanted: "GroupFilter") -> "list[ListedGroup]":
        if not self.groups:
            return []
        from odradek.coordinator.group.share.describing import listed

        return listed(self, wanted)

    # Topics

    def has_seen_topics(self, group_id: str) -> bool:
        return self._seen_topics.get(group_id) == self.topics.version

    def saw_topics(self, group_id: str) -> None:
        self._seen_topics[group_id] = self.topics.version

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
        self.core.deadlines.set((SESSION, group_id, member_id), now.mono_ms + timeout_ms)

    def expire(self, what: "What", now: Now) -> Decided[None]:
        _, group_id, member_id = what
        group = self.groups.get(group_id)
        if group is None or member_id not in group.members:
            return Decided()
        from odradek.coordinator.group.share.heartbeat import expire

        # of no effect once the member's end is replayed
        self.core.deadlines.set((SESSION, group_id, member_id), now.mono_ms + RETRY_MS)
        return expire(self, group, member_id)

    def validate(self) -> None:
        for group in self.groups.values():
            group.validate()
            for member_id in group.members:
                what = (SESSION, group.group_id, member_id)
                assert self.core.deadlines.get(what) is not None, f"{member_id} of {group} has no session"
