"""The room of the streams protocol: its groups, and the events that the core hands on to them.

Most brokers never serve a streams group: the modules are imported when they are first needed.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.coordinator.core import Decided
from odradek.coordinator.group.streams.groups import DELAY, REVOCATION, UNREVOKED_TASKS, StreamsGroups
from odradek.coordinator.now import Now

if TYPE_CHECKING:
    from odradek.coordinator.group.commit_request import Commit, CommitFrom
    from odradek.coordinator.group.deadlines import What
    from odradek.coordinator.group.streams.group import StreamsGroup
    from odradek.coordinator.group.streams.requests import Caller
    from odradek.coordinator.group.streams.response import HeartbeatResult
    from odradek.protocol.messages.k88_streams_group_heartbeat import StreamsGroupHeartbeatRequest
    from odradek.protocol.messages.k89_streams_group_describe import DescribedGroup


class StreamsRoom(StreamsGroups):
    __slots__ = ()

    def loaded(self, now: Now) -> None:
        """Members get a fresh session, and a fresh time to give back."""
        for group in self.groups.values():
            for member in group.members.values():
                self.begin_session(group.group_id, member.member_id, now)
                self.time_revocation(group.group_id, member, now)

    # Events of members

    def heartbeat(
        self, now: Now, request: "StreamsGroupHeartbeatRequest", caller: "Caller"
    ) -> "Decided[HeartbeatResult]":
        from odradek.coordinator.group.streams.heartbeat import heartbeat

        return heartbeat(self, now, request, caller)

    # Offsets

    def commit_codes(
        self, sender: "CommitFrom", commits: "Sequence[Commit]", *, is_transactional: bool
    ) -> list[int] | None:
        """The error code of each commit; None if the group is none of ours."""
        group = self.groups.get(sender.group_id)
        if group is None:
            return None
        from odradek.coordinator.group.streams.commits import commit_codes

        return commit_codes(group, sender, commits, is_transactional=is_transactional)

    # Events of admins

    def describe(self, group_id: str) -> "Decided[DescribedGroup]":
        from odradek.coordinator.group.streams.describing import describe

        return describe(self, group_id)

    # Time

    def expire(self, what: "What", now: Now) -> Decided[None]:
        kind, group_id, member_id = what
        group = self.groups.get(group_id)
        if group is None:
            return Decided()
        if kind == DELAY:
            return self._delay_is_over(group, now)
        member = group.members.get(member_id)
        if member is None or (kind == REVOCATION and member.state != UNREVOKED_TASKS):
            return Decided()
        from odradek.coordinator.group.streams import leaving

        self.retry_session(group_id, member_id, now)
        return leaving.expire(self, group, member)

    def _delay_is_over(self, group: "StreamsGroup", now: Now) -> Decided[None]:
        """Makes the target. If no topology is configured yet, the next heartbeat does."""
        configured = self.configured(group.group_id)
        if not group.members or configured is None:
            return Decided()
        from odradek.coordinator.group.streams.group import StreamsPlan
        from odradek.coordinator.group.streams.target import make_target

        plan = StreamsPlan(group)
        make_target(self, plan, configured, now)
        return Decided(plan.records)
