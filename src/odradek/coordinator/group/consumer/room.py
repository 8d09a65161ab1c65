"""The room of the consumer protocol: its groups, and the events that the core hands on to them.

Most brokers never serve a consumer group: the modules are imported when they are first needed.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.coordinator.core import Decided, Ticket
from odradek.coordinator.group.consumer.groups import REGEX, REVOCATION, ConsumerGroups
from odradek.coordinator.group.consumer.member import UNREVOKED_PARTITIONS
from odradek.coordinator.now import Now

if TYPE_CHECKING:
    from odradek.coordinator.group.classic.member import Joiner
    from odradek.coordinator.group.commit_request import Commit, CommitFrom
    from odradek.coordinator.group.consumer.requests import Caller
    from odradek.coordinator.group.deadlines import What
    from odradek.protocol.messages.k11_join_group import JoinGroupRequest
    from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
    from odradek.protocol.messages.k13_leave_group import LeaveGroupResponse, MemberIdentity
    from odradek.protocol.messages.k14_sync_group import SyncGroupRequest
    from odradek.protocol.messages.k68_consumer_group_heartbeat import (
        ConsumerGroupHeartbeatRequest,
        ConsumerGroupHeartbeatResponse,
    )
    from odradek.protocol.messages.k69_consumer_group_describe import DescribedGroup


class ConsumerRoom(ConsumerGroups):
    __slots__ = ()

    def loaded(self, now: Now) -> None:
        """Members get a fresh session, and a fresh time to give back."""
        for group in self.groups.values():
            for member in group.members.values():
                self.begin_session(group.group_id, member, now)
                self.time_revocation(group.group_id, member, now)

    # Events of members

    def heartbeat(
        self, now: Now, request: "ConsumerGroupHeartbeatRequest", caller: "Caller"
    ) -> "Decided[ConsumerGroupHeartbeatResponse]":
        from odradek.coordinator.group.consumer.heartbeat import heartbeat

        return heartbeat(self, now, request, caller)

    def classic_join(self, now: Now, request: "JoinGroupRequest", joiner: "Joiner", ticket: Ticket) -> Decided[None]:
        from odradek.coordinator.group.consumer import classic_members

        return classic_members.join(self, now, self.groups[request.group_id], request, joiner, ticket)

    def classic_sync(self, now: Now, request: "SyncGroupRequest", ticket: Ticket) -> Decided[None]:
        from odradek.coordinator.group.consumer import classic_members

        return classic_members.sync(self, now, self.groups[request.group_id], request, ticket)

    def classic_heartbeat(self, now: Now, request: "HeartbeatRequest") -> "Decided[HeartbeatResponse]":
        from odradek.coordinator.group.consumer import classic_members

        return classic_members.heartbeat(self, now, self.groups[request.group_id], request)

    def classic_leave(self, now: Now, group_id: str, members: "list[MemberIdentity]") -> "Decided[LeaveGroupResponse]":
        from odradek.coordinator.group.consumer import classic_members

        return classic_members.leave(self, now, self.groups[group_id], members)

    # Offsets

    def commit_codes(
        self, sender: "CommitFrom", commits: "Sequence[Commit]", *, is_transactional: bool
    ) -> list[int] | None:
        """The error code of each commit; None if the group is none of ours."""
        group = self.groups.get(sender.group_id)
        if group is None:
            return None
        from odradek.coordinator.group.consumer.commits import commit_codes

        return commit_codes(self, group, sender, commits, is_transactional=is_transactional)

    # Events of admins

    def describe(self, group_id: str) -> "Decided[DescribedGroup]":
        from odradek.coordinator.group.consumer.describing import describe

        return describe(self, group_id)

    # Time

    def expire(self, what: "What", now: Now) -> Decided[None]:
        kind, group_id, member_id = what
        if kind == REGEX:
            from odradek.coordinator.group.consumer import regex

            return regex.step(self, group_id, now)
        group = self.groups.get(group_id)
        if group is None:
            return Decided()
        member = group.members.get(member_id)
        if member is None or (kind == REVOCATION and member.state != UNREVOKED_PARTITIONS):
            return Decided()
        from odradek.coordinator.group.consumer import leaving

        return leaving.expire(self, group, member, now)

    def follow_up(self, now: Now) -> Decided[None] | None:
        if not self.downgraded:
            return None
        from odradek.coordinator.group.consumer.migration import after_downgrade

        return Decided(effects=after_downgrade(self, self.downgraded.popleft(), now))
