"""The room of the share protocol: its groups, and the events that the core hands on to them.

Most brokers never serve a share group: the modules are imported when they are first needed.
"""

from typing import TYPE_CHECKING

from odradek.coordinator.core import Decided
from odradek.coordinator.group.share.groups import ShareGroups
from odradek.coordinator.now import Now

if TYPE_CHECKING:
    from collections.abc import Collection

    from odradek.coordinator.group.consumer.requests import Caller
    from odradek.coordinator.group.deadlines import What
    from odradek.protocol.messages.k76_share_group_heartbeat import (
        ShareGroupHeartbeatRequest,
        ShareGroupHeartbeatResponse,
    )
    from odradek.protocol.messages.k77_share_group_describe import DescribedGroup


class ShareRoom(ShareGroups):
    __slots__ = ()

    def loaded(self, now: Now) -> None:
        """Members get a fresh session."""
        for group in self.groups.values():
            for member_id in group.members:
                self.begin_session(group.group_id, member_id, now)

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

    def expire(self, what: "What", now: Now) -> Decided[None]:
        _, group_id, member_id = what
        group = self.groups.get(group_id)
        if group is None or member_id not in group.members:
            return Decided()
        from odradek.coordinator.group.share.heartbeat import expire

        self.retry_session(group_id, member_id, now)
        return expire(self, group, member_id)
