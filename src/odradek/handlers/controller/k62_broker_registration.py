"""BrokerRegistration, versions 0-4: a broker comes, and gets its broker epoch (KIP-631).

     1  whether it is a ZooKeeper broker in migration (KIP-866)
     2  ids of its log directories (KIP-858)
     3  broker epoch before a clean shutdown (KIP-966)
     4  same fields; features whose lowest level is 0 may be named

Who may: CLUSTER_ACTION on the cluster. Errors: NOT_CONTROLLER; INCONSISTENT_CLUSTER_ID; DUPLICATE_BROKER_REGISTRATION
while another incarnation lives; UNSUPPORTED_VERSION for a feature level that the broker does not know;
INVALID_REGISTRATION for its directories.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.messages.k62_broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from odradek.reactor.pending import Pending
from odradek.security.acl import CLUSTER_ACTION


@serves(BrokerRegistrationRequest, versions="0-4", on="controller", allow=on_cluster(CLUSTER_ACTION))
def broker_registration(
    call: ControllerCall, request: BrokerRegistrationRequest
) -> Pending[BrokerRegistrationResponse]:
    return call.services.controller.register_broker(request)
