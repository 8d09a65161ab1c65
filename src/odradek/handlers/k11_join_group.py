"""JoinGroup, versions 0-9: a member of a classic group joins, or joins again, for a rebalance.

     1  rebalance timeout apart from the session timeout
     2  throttle time in the response
     3  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     4  same fields; a new member gets MEMBER_ID_REQUIRED and its id, and must join again with it
     5  group instance id: static members
     6  same fields in the flexible encoding
     7  response: protocol type; the protocol name may be null
     8  the reason for joining
     9  response: skip_assignment, for a static leader that comes back

The answer is held until the rebalance has its members.

Who may: READ on the group.
Errors: INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT, INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER_ID, MEMBER_ID_REQUIRED,
FENCED_INSTANCE_ID, GROUP_MAX_SIZE_REACHED, REBALANCE_IN_PROGRESS, those of the coordinator.
"""

from odradek.coordinator.group.classic.member import Joiner
from odradek.coordinator.group.classic.refusals import join_refusal
from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k11_join_group import JoinGroupRequest, JoinGroupResponse
from odradek.security.acl import GROUP, READ

_WITH_REBALANCE_TIMEOUT = 1
_WITH_MEMBER_ID_REQUIRED = 4
_WITH_NULL_PROTOCOL = 7
_WITH_SKIP_ASSIGNMENT = 9


def refuse_join_group(request: JoinGroupRequest, error: errors.KafkaError, version: int) -> JoinGroupResponse:
    member_id = "" if isinstance(error, errors.GroupAuthorizationFailed) else request.member_id
    return _shaped(join_refusal(error, member_id), version)


def _shaped(response: JoinGroupResponse, version: int) -> JoinGroupResponse:
    if version < _WITH_NULL_PROTOCOL and response.protocol_name is None:
        response.protocol_name = ""
    return response


@serves(JoinGroupRequest, versions="0-9", refuse=refuse_join_group)
async def join_group(call: BrokerCall, request: JoinGroupRequest) -> JoinGroupResponse:
    call.demand(READ, GROUP, request.group_id)
    if call.version < _WITH_REBALANCE_TIMEOUT:
        request.rebalance_timeout_ms = request.session_timeout_ms
    joiner = Joiner(
        call.client_id or "",
        f"/{call.address[0]}",
        requires_known_member_id=call.version >= _WITH_MEMBER_ID_REQUIRED,
        can_skip_assignment=call.version >= _WITH_SKIP_ASSIGNMENT,
    )
    return _shaped(await call.services.groups.join(request, joiner), call.version)
