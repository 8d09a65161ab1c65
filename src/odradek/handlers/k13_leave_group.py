"""LeaveGroup, versions 0-5: members leave a classic group, or an admin removes them.

     1  throttle time in the response
     2  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     3  several members, by member id or group instance id, one result each; before it one member, whose error is the
        answer's
     4  same fields in the flexible encoding
     5  the reason, per member

Who may: READ on the group.
Errors: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID per member; INVALID_GROUP_ID, those of the coordinator.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.protocol.messages.k13_leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from odradek.security.acl import GROUP, READ

_WITH_MEMBERS = 3


@serves(LeaveGroupRequest, versions="0-5")
async def leave_group(call: BrokerCall, request: LeaveGroupRequest) -> LeaveGroupResponse:
    call.demand(READ, GROUP, request.group_id)
    if call.version >= _WITH_MEMBERS:
        return await call.services.groups.leave(request.group_id, request.members)
    alone = MemberIdentity(member_id=request.member_id, group_instance_id=None)
    left = await call.services.groups.leave(request.group_id, [alone])
    return LeaveGroupResponse(error_code=left.members[0].error_code)
