"""ListPartitionReassignments, version 0: a broker hands it on to the active controller (`handlers/controller/`).

Who may: DESCRIBE on the cluster; asked by the controller. Errors: for all, as the controller says.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.forward import forward
from odradek.handlers.serves import serves
from odradek.protocol.messages.k46_list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)


@serves(ListPartitionReassignmentsRequest, versions="0")
async def list_partition_reassignments(
    call: BrokerCall, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    return await forward(call, request, ListPartitionReassignmentsResponse)
