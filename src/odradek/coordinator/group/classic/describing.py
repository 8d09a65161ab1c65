"""DescribeGroups, and ListGroups of classic groups."""

from odradek.coordinator.core import Decided
from odradek.coordinator.group.classic.classic_group import ClassicGroup
from odradek.coordinator.group.classic.groups import ClassicGroups
from odradek.coordinator.group.classic.member import Member
from odradek.coordinator.group.classic.states import DEAD, STABLE
from odradek.coordinator.group.listing import GroupFilter
from odradek.protocol import errors
from odradek.protocol.messages.k15_describe_groups import DescribedGroup, DescribedGroupMember
from odradek.protocol.messages.k16_list_groups import ListedGroup

TYPE = "classic"


def describe(groups: ClassicGroups, group_id: str, tells_missing: bool) -> Decided[DescribedGroup]:
    """A missing group is told as dead; by an error where the version has a message for it."""
    group = groups.groups.get(group_id)
    if group is None:
        return Decided(response=_missing(groups, group_id, tells_missing))
    is_stable = group.state == STABLE
    described = DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        protocol_type=group.protocol_type or "",
        protocol_data=group.protocol or "" if is_stable else "",
        members=[_member(groups, group, member) for member in group.members.values()],
    )
    return Decided(response=described)


def _missing(groups: ClassicGroups, group_id: str, tells_missing: bool) -> DescribedGroup:
    missing = DescribedGroup(group_id=group_id, group_state=DEAD)
    if tells_missing:
        is_other = groups.shard.has_group(group_id)
        missing.error_code = errors.GroupIdNotFound.code
        missing.error_message = f"Group {group_id} {'is not a classic group' if is_other else 'not found'}."
    return missing


def _member(groups: ClassicGroups, group: ClassicGroup, member: Member) -> DescribedGroupMember:
    is_stable = group.state == STABLE
    shows_assignment = is_stable or groups.shard.behaviour.shows_assignments_of_unstable_groups
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata(group.protocol) if is_stable else b"",
        member_assignment=member.assignment if shows_assignment else b"",
    )


def listed(groups: ClassicGroups, wanted: GroupFilter) -> list[ListedGroup]:
    if not wanted.has_type(TYPE):
        return []
    spelled = str.lower if groups.shard.behaviour.ignores_case_of_states else str
    states = {spelled(state) for state in wanted.states}
    return [
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state,
            group_type=TYPE,
        )
        for group in groups.groups.values()
        if not states or spelled(group.state) in states
    ]
