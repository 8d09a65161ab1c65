"""UnregisterBroker, version 0: an admin removes a broker that is gone (KIP-631).

Who may: ALTER on the cluster. Errors: NOT_CONTROLLER; BROKER_ID_NOT_REGISTERED.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.messages.k64_unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from odradek.reactor.pending import Pending
from odradek.security.acl import ALTER


@serves(UnregisterBrokerRequest, versions="0", on="controller", allow=on_cluster(ALTER))
def unregister_broker(call: ControllerCall, request: UnregisterBrokerRequest) -> Pending[UnregisterBrokerResponse]:
    return call.services.controller.run(lambda core: core.unregister_broker(request.broker_id))
