"""AlterPartitionReassignments, versions 0-1: a broker hands it on to the active controller (`handlers/controller/`).

     1  whether the number of replicas may change, on both sides (KIP-860)

Who may: ALTER on the cluster; asked by the controller. Errors: per partition or for all, as the controller says.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.forward import forward
from odradek.handlers.serves import serves
from odradek.protocol.messages.k45_alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)


@serves(AlterPartitionReassignmentsRequest, versions="0-1")
async def alter_partition_reassignments(
    call: BrokerCall, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    return await forward(call, request, AlterPartitionReassignmentsResponse)
