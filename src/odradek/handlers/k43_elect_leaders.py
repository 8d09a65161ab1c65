"""ElectLeaders, versions 0-2: a broker hands it on to the active controller (`handlers/controller/`).

     1  election type, preferred or unclean; response: an error for the whole request (KIP-460)
     2  same fields in the flexible encoding (KIP-482)

Who may: ALTER on the cluster; asked by the controller. Errors: per partition, as the controller says; what is wrong
with all of it stands at each partition, and from 1 on at the top.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.forward import forward
from odradek.handlers.serves import serves
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.k43_elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)


def refuse_elect_leaders(request: ElectLeadersRequest, error: KafkaError, version: int) -> ElectLeadersResponse:
    results = [
        ReplicaElectionResult(
            topic=topic.topic,
            partition_result=[
                PartitionResult(partition_id=partition, error_code=error.code, error_message=error.message)
                for partition in topic.partitions
            ],
        )
        for topic in request.topic_partitions or ()
    ]
    response = ElectLeadersResponse(replica_election_results=results)
    if version >= 1:
        response.error_code = error.code
    return response


@serves(ElectLeadersRequest, versions="0-2", refuse=refuse_elect_leaders)
async def elect_leaders(call: BrokerCall, request: ElectLeadersRequest) -> ElectLeadersResponse:
    return await forward(call, request, ElectLeadersResponse)
