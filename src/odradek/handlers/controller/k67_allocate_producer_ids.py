"""AllocateProducerIds, version 0: a broker gets a block of a thousand producer ids (KIP-730).

Who may: CLUSTER_ACTION on the cluster. Errors: NOT_CONTROLLER; STALE_BROKER_EPOCH.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.messages.k67_allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from odradek.reactor.pending import Pending
from odradek.security.acl import CLUSTER_ACTION


@serves(AllocateProducerIdsRequest, versions="0", on="controller", allow=on_cluster(CLUSTER_ACTION))
def allocate_producer_ids(
    call: ControllerCall, request: AllocateProducerIdsRequest
) -> Pending[AllocateProducerIdsResponse]:
    return call.services.controller.run(lambda core: core.allocate_producer_ids(request))
