"""The room of the classic protocol: its groups, and the events that the core hands on to them.

Most brokers serve few of the events in a short run: the modules are imported when they are first needed.
"""

from typing import TYPE_CHECKING

from odradek.coordinator.core import Decided, Ticket
from odradek.coordinator.group.classic import rebalancing
from odradek.coordinator.group.classic.classic_group import ClassicGroup
from odradek.coordinator.group.classic.groups import ClassicGroups
from odradek.coordinator.now import Now

if TYPE_CHECKING:
    from odradek.coordinator.group.classic.member import Joiner
    from odradek.coordinator.group.deadlines import What
    from odradek.coordinator.group.listing import GroupFilter
    from odradek.protocol.messages.k11_join_group import JoinGroupRequest
    from odradek.protocol.messages.k13_leave_group import LeaveGroupResponse, MemberIdentity
    from odradek.protocol.messages.k14_sync_group import SyncGroupRequest
    from odradek.protocol.messages.k15_describe_groups import DescribedGroup
    from odradek.protocol.messages.k16_list_groups import ListedGroup


class ClassicRoom(ClassicGroups):
    __slots__ = ()

    def loaded(self, now: Now) -> None:
        """Members get a fresh session: they could not reach anybody while there was no coordinator.

        A group that has become a classic one (`consumer/migration.py`) has no leader yet: it begins a rebalance.
        """
        for group in self.groups.values():
            for member in group.members.values():
                self.begin_session(group, member, now)
            if group.members and group.leader is None:
                rebalancing.prepare(self, group, now)

    # Events of members

    def create(self, now: Now, group_id: str) -> Decided[None]:
        """Before the first join of a group that is not there. A 4.3 writes it down, a 3.3 only knows it."""
        kinds = self.shard.kinds
        if group_id in self.groups or any(kind.keeps_classic_out(group_id) for kind in kinds):
            return Decided()
        group = ClassicGroup(group_id, now.wall_ms)
        if not self.shard.behaviour.writes_new_groups:
            self.groups[group_id] = group
            return Decided()
        others = [tombstone for kind in kinds for tombstone in kind.tombstones(group_id)]
        return Decided([*others, self.record(group, group.emptied(0, now.wall_ms))])

    def join(self, now: Now, request: "JoinGroupRequest", joiner: "Joiner", ticket: Ticket) -> Decided[None]:
        from odradek.coordinator.group.classic.joining import join

        return join(self, now, request, joiner, ticket)

    def sync(self, now: Now, request: "SyncGroupRequest", ticket: Ticket) -> Decided[None]:
        from odradek.coordinator.group.classic.syncing import sync

        return sync(self, now, request, ticket)

    def leave(self, now: Now, group_id: str, members: "list[MemberIdentity]") -> "Decided[LeaveGroupResponse]":
        from odradek.coordinator.group.classic.leaving import leave

        return leave(self, now, group_id, members)

    # Events of admins

    def describe(self, group_id: str, *, tells_missing: bool) -> "Decided[DescribedGroup]":
        from odradek.coordinator.group.classic.describing import describe

        return describe(self, group_id, tells_missing)

    def listed(self, wanted: "GroupFilter") -> "list[ListedGroup]":
        from odradek.coordinator.group.classic.describing import listed

        return listed(self, wanted)

    # Time

    def expire(self, what: "What", now: Now) -> Decided[None]:
        from odradek.coordinator.group.classic.expiry import expire

        return expire(self, what, now)

    def follow_up(self, now: Now) -> Decided[None] | None:
        """Ends the join phase of the next group in which everybody has joined; None if there is no such group."""
        while (group_id := self.next_to_look_at()) is not None:
            group = self.groups.get(group_id)
            if group is not None and rebalancing.is_complete(group):
                return rebalancing.complete_join(self, group, now)
        return None
