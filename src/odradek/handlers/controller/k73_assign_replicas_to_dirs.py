"""AssignReplicasToDirs, version 0: a broker tells which log directory holds each replica (KIP-858).

Who may: CLUSTER_ACTION on the cluster. Errors: NOT_CONTROLLER; STALE_BROKER_EPOCH; UNSUPPORTED_VERSION below
metadata.version 17; per partition UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER for who holds
no replica.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.messages.k73_assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from odradek.reactor.pending import Pending
from odradek.security.acl import CLUSTER_ACTION


@serves(AssignReplicasToDirsRequest, versions="0", on="controller", allow=on_cluster(CLUSTER_ACTION))
def assign_replicas_to_dirs(
    call: ControllerCall, request: AssignReplicasToDirsRequest
) -> Pending[AssignReplicasToDirsResponse]:
    return call.services.controller.run(lambda core: core.assign_replicas_to_dirs(request))
