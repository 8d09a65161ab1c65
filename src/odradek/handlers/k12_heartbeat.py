"""Heartbeat, versions 0-4: a member of a classic group says that it lives, and learns of rebalances.

     1  throttle time in the response
     2  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     3  group instance id
     4  same fields in the flexible encoding

Who may: READ on the group.
Errors: REBALANCE_IN_PROGRESS asks the member to join again; INVALID_GROUP_ID, UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION,
FENCED_INSTANCE_ID, those of the coordinator; none while it loads.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.reactor.pending import Pending
from odradek.security.acl import GROUP, READ

_ALIVE = HeartbeatResponse(error_code=0)  # the same for everybody, and nobody changes it


@serves(HeartbeatRequest, versions="0-4")
def heartbeat(call: BrokerCall, request: HeartbeatRequest) -> HeartbeatResponse | Pending[HeartbeatResponse]:
    call.demand(READ, GROUP, request.group_id)
    answered = call.services.groups.heartbeat(request)
    return _ALIVE if answered is None else answered
