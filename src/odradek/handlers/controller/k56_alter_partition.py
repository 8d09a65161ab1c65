"""AlterPartition, versions 0-3: a leader proposes who is in sync (KIP-497).

     1  leader recovery state (KIP-704)
     2  topic ids in the place of names; INELIGIBLE_REPLICA and NEW_LEADER_ELECTED may be answered (KIP-841)
     3  request: broker epoch of every member of the new set (KIP-903)

Who may: CLUSTER_ACTION on the cluster. Errors: NOT_CONTROLLER; STALE_BROKER_EPOCH; per partition FENCED_LEADER_EPOCH,
INVALID_UPDATE_VERSION, INVALID_REQUEST, INELIGIBLE_REPLICA (OPERATION_NOT_ATTEMPTED before 2), NEW_LEADER_ELECTED
when the change gave it another leader.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.messages.k56_alter_partition import AlterPartitionRequest, AlterPartitionResponse
from odradek.reactor.pending import Pending
from odradek.security.acl import CLUSTER_ACTION


@serves(AlterPartitionRequest, versions="0-3", on="controller", allow=on_cluster(CLUSTER_ACTION))
def alter_partition(call: ControllerCall, request: AlterPartitionRequest) -> Pending[AlterPartitionResponse]:
    return call.services.controller.run(lambda core: core.alter_partition(request, call.version))
