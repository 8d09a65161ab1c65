"""ConsumerGroupHeartbeat, versions 0-1: a member of a consumer group joins, stays, reconciles and leaves (KIP-848).

     1  request: subscription by regular expression; the member picks its own id (KIP-1082)

Who may: READ on the group, DESCRIBE on each topic that is subscribed to by name; an expression finds what the caller
may DESCRIBE.

| what is wrong | error |
|---|---|
| `group.version` is 0, or the broker does not serve the protocol | UNSUPPORTED_VERSION |
| a field that may not be empty or missing | INVALID_REQUEST |
| an assignor that is not on offer; an expression that is none | UNSUPPORTED_ASSIGNOR; INVALID_REGULAR_EXPRESSION |
| no such group, or a classic one that may not be upgraded | GROUP_ID_NOT_FOUND |
| the group is full | GROUP_MAX_SIZE_REACHED |
| no such member; another epoch than the member's | UNKNOWN_MEMBER_ID; FENCED_MEMBER_EPOCH |
| the instance id is in use; has been taken over | UNRELEASED_INSTANCE_ID; FENCED_INSTANCE_ID |
"""

from odradek.coordinator.group.consumer.requests import Caller
from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from odradek.reactor.pending import Pending
from odradek.security.acl import DESCRIBE, GROUP, READ, TOPIC

FEATURE = "group.version"


def refuse_heartbeat(
    request: ConsumerGroupHeartbeatRequest, error: errors.KafkaError, version: int
) -> ConsumerGroupHeartbeatResponse:
    has_words = isinstance(error, errors.InvalidRequest)
    return ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=error.message if has_words else None)


@serves(ConsumerGroupHeartbeatRequest, versions="0-1", refuse=refuse_heartbeat)
def consumer_group_heartbeat(
    call: BrokerCall, request: ConsumerGroupHeartbeatRequest
) -> Pending[ConsumerGroupHeartbeatResponse]:
    demand_protocol(call)
    call.demand(READ, GROUP, request.group_id)
    for name in request.subscribed_topic_names or ():
        call.demand(DESCRIBE, TOPIC, name)
    if not request.group_id:
        raise errors.InvalidRequest("GroupId can't be empty.")
    caller = Caller(
        call.client_id or "",
        f"/{call.address[0]}",
        call.version,
        lambda name: call.authorize(DESCRIBE, TOPIC, name),
    )
    return call.services.groups.consumer_heartbeat(request, caller)


def demand_protocol(call: BrokerCall) -> None:
    """Raises UnsupportedVersion if this cluster or this broker does not serve consumer groups."""
    is_enabled = call.services.metadata.finalized_features.get(FEATURE, 0) > 0
    if not is_enabled or not call.services.groups.serves_consumer_protocol:
        raise errors.UnsupportedVersion()
