"""ShareGroupHeartbeat, version 1: a member of a share group joins, stays and leaves (KIP-932).

     1  the first stable version

Who may: READ on the group, DESCRIBE on each topic that is subscribed to.

| what is wrong | error |
|---|---|
| `share.version` is 0 | UNSUPPORTED_VERSION |
| a field that may not be empty or missing | INVALID_REQUEST |
| no such group, or one of another kind | GROUP_ID_NOT_FOUND |
| the group is full | GROUP_MAX_SIZE_REACHED |
| no such member; another epoch than the member's | UNKNOWN_MEMBER_ID; FENCED_MEMBER_EPOCH |
"""

from odradek.coordinator.group.consumer.requests import Caller
from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.handlers.share_feature import MEMBER_ID_CHARACTERS_MAX, demand_share_groups, shares_of
from odradek.protocol import errors
from odradek.protocol.messages.k76_share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from odradek.reactor.pending import Pending
from odradek.security.acl import DESCRIBE, GROUP, READ, TOPIC


def refuse(request: ShareGroupHeartbeatRequest, error: errors.KafkaError, version: int) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(error_code=error.code)


@serves(ShareGroupHeartbeatRequest, versions="1", refuse=refuse)
def share_group_heartbeat(
    call: BrokerCall, request: ShareGroupHeartbeatRequest
) -> Pending[ShareGroupHeartbeatResponse]:
    demand_share_groups(call)
    call.demand(READ, GROUP, request.group_id)
    for name in request.subscribed_topic_names or ():
        call.demand(DESCRIBE, TOPIC, name)
    if len(request.member_id) > MEMBER_ID_CHARACTERS_MAX:
        raise errors.InvalidRequest()
    caller = Caller(call.client_id or "", f"/{call.address[0]}", call.version)
    return shares_of(call).groups.heartbeat(request, caller)
