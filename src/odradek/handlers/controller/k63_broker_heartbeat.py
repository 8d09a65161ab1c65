"""BrokerHeartbeat, versions 0-2: a broker lives, and asks to be unfenced, fenced, or to stop (KIP-631).

     1  request: offline log directories (KIP-858)
     2  request: cordoned log directories (KIP-1066)

Who may: CLUSTER_ACTION on the cluster. Errors: NOT_CONTROLLER; STALE_BROKER_EPOCH for an incarnation that is not the
registered one.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.messages.k63_broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from odradek.reactor.pending import Pending
from odradek.security.acl import CLUSTER_ACTION


@serves(BrokerHeartbeatRequest, versions="0-2", on="controller", allow=on_cluster(CLUSTER_ACTION))
def broker_heartbeat(call: ControllerCall, request: BrokerHeartbeatRequest) -> Pending[BrokerHeartbeatResponse]:
    return call.services.controller.heartbeat(request)
