"""DeleteShareGroupState, version 0: the group coordinator has the state of share-partitions deleted (KIP-932).

To the share coordinator. Who may: CLUSTER_ACTION on the cluster, which brokers have.
Errors, per partition: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST, those of the coordinator.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.handlers.share_feature import shares_of
from odradek.handlers.share_states import Result, each, refused
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.k86_delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    PartitionResult,
)
from odradek.security.acl import CLUSTER_ACTION


def refuse(
    request: DeleteShareGroupStateRequest, error: errors.KafkaError, version: int
) -> DeleteShareGroupStateResponse:
    return _response(refused(request.topics, error))


@serves(DeleteShareGroupStateRequest, versions="0", allow=on_cluster(CLUSTER_ACTION), refuse=refuse)
async def delete_share_group_state(
    call: BrokerCall, request: DeleteShareGroupStateRequest
) -> DeleteShareGroupStateResponse:
    coordinator = shares_of(call).coordinator
    results = await each(request.group_id, request.topics, lambda key, each: coordinator.delete(key))
    return _response(results)


def _response(results: dict[bytes, list[Result[None]]]) -> DeleteShareGroupStateResponse:
    return DeleteShareGroupStateResponse(
        results=[
            DeleteStateResult(
                topic_id=Uuid(topic_id),
                partitions=[PartitionResult(partition=each.partition, **each.code_and_message) for each in of_topic],
            )
            for topic_id, of_topic in results.items()
        ]
    )
