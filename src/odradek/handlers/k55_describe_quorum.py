"""DescribeQuorum, versions 0-2: a broker hands it on to the active controller (`handlers/controller/`).

     1  response: when each replica last fetched and was last caught up (KIP-836)
     2  response: error messages, directory ids, listeners of the nodes (KIP-853)

Who may: DESCRIBE on the cluster; asked by the controller. Errors: per partition, as the leader of the quorum says.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.forward import forward
from odradek.handlers.serves import serves
from odradek.protocol.messages.k55_describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
)


@serves(DescribeQuorumRequest, versions="0-2")
async def describe_quorum(call: BrokerCall, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    return await forward(call, request, DescribeQuorumResponse)
