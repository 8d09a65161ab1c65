"""AlterPartitionReassignments, versions 0-1: an admin moves replicas, or cancels a move (KIP-455).

     1  whether the number of replicas may change, on both sides (KIP-860)

Who may: ALTER on the cluster. Errors: NOT_CONTROLLER; per partition UNKNOWN_TOPIC_OR_PARTITION,
INVALID_REPLICA_ASSIGNMENT, INVALID_REPLICATION_FACTOR, NO_REASSIGNMENT_IN_PROGRESS.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.messages.k45_alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from odradek.reactor.pending import Pending
from odradek.security.acl import ALTER


@serves(AlterPartitionReassignmentsRequest, versions="0-1", on="controller", allow=on_cluster(ALTER))
def alter_partition_reassignments(
    call: ControllerCall, request: AlterPartitionReassignmentsRequest
) -> Pending[AlterPartitionReassignmentsResponse]:
    return call.services.controller.run(lambda core: core.alter_reassignments(request))
