"""ListPartitionReassignments, version 0: the moves that are under way (KIP-455).

Who may: DESCRIBE on the cluster. Errors: NOT_CONTROLLER. What is unknown or does not move is left out.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.messages.k46_list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from odradek.reactor.pending import Pending
from odradek.security.acl import DESCRIBE


@serves(ListPartitionReassignmentsRequest, versions="0", on="controller", allow=on_cluster(DESCRIBE))
def list_partition_reassignments(
    call: ControllerCall, request: ListPartitionReassignmentsRequest
) -> Pending[ListPartitionReassignmentsResponse]:
    return call.services.controller.run(lambda core: core.list_reassignments(request))
