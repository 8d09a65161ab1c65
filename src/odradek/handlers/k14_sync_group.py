"""SyncGroup, versions 0-5: the leader of a classic group hands in the assignment, and every member fetches its own.

     1  throttle time in the response
     2  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     3  group instance id
     4  same fields in the flexible encoding
     5  protocol type and name on both sides; a request without them is INCONSISTENT_GROUP_PROTOCOL

The answers are held until the leader's request is there.

Who may: READ on the group.
Errors: INVALID_GROUP_ID, UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, FENCED_INSTANCE_ID, INCONSISTENT_GROUP_PROTOCOL,
REBALANCE_IN_PROGRESS (also while the coordinator loads), those of the coordinator.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k14_sync_group import SyncGroupRequest, SyncGroupResponse
from odradek.reactor.pending import Pending
from odradek.security.acl import GROUP, READ

_WITH_PROTOCOL = 5


@serves(SyncGroupRequest, versions="0-5")
def sync_group(call: BrokerCall, request: SyncGroupRequest) -> Pending[SyncGroupResponse]:
    is_told = request.protocol_type is not None and request.protocol_name is not None
    if call.version >= _WITH_PROTOCOL and not is_told:
        raise errors.InconsistentGroupProtocol()
    call.demand(READ, GROUP, request.group_id)
    return call.services.groups.sync(request)
