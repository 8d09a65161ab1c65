"""ControllerRegistration, version 0: a controller tells its listeners and features (KIP-919).

Who may: CLUSTER_ACTION on the cluster. Errors: NOT_CONTROLLER; UNSUPPORTED_VERSION below metadata.version 15.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.messages.k70_controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from odradek.reactor.pending import Pending
from odradek.security.acl import CLUSTER_ACTION


@serves(ControllerRegistrationRequest, versions="0", on="controller", allow=on_cluster(CLUSTER_ACTION))
def controller_registration(
    call: ControllerCall, request: ControllerRegistrationRequest
) -> Pending[ControllerRegistrationResponse]:
    return call.services.controller.run(lambda core: core.register_controller(request))
