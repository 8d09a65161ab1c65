"""LeaveGroup: members go, or an admin sends static ones away by their instance id."""

from odradek.coordinator.core import Answer, Decided
from odradek.coordinator.group.classic import rebalancing
from odradek.coordinator.group.classic.classic_group import ClassicGroup
from odradek.coordinator.group.classic.groups import ClassicGroups
from odradek.coordinator.now import Now
from odradek.protocol import errors
from odradek.protocol.messages.k13_leave_group import LeaveGroupResponse, MemberIdentity, MemberResponse


def leave(groups: ClassicGroups, now: Now, group_id: str, members: list[MemberIdentity]) -> Decided[LeaveGroupResponse]:
    group = groups.groups.get(group_id)
    answers: list[Answer] = []
    results = []
    for identity in members:
        code = errors.NONE
        try:
            answers += _leave_one(groups, now, group, identity)
        except errors.KafkaError as error:
            code = error.code
        results.append(
            MemberResponse(member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=code)
        )
    return Decided(response=LeaveGroupResponse(members=results), effects=answers)


def _leave_one(groups: ClassicGroups, now: Now, group: ClassicGroup | None, identity: MemberIdentity) -> list[Answer]:
    if group is None:
        raise errors.UnknownMemberId()
    member_id, instance_id = identity.member_id, identity.group_instance_id
    if not member_id:
        member_id = "" if instance_id is None else group.static_members.get(instance_id, "")
    elif member_id in group.pending_members:
        group.pending_members.discard(member_id)
        groups.may_complete(group)
        return []
    member = group.check_member(member_id, instance_id)
    return rebalancing.remove_member(groups, group, member, now)
