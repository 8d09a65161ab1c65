"""InitializeShareGroupState, version 0: the group coordinator has the state of new share-partitions set up (KIP-932).

To the share coordinator. Who may: CLUSTER_ACTION on the cluster, which brokers have.
Errors, per partition: FENCED_STATE_EPOCH, UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST, those of the coordinator.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.handlers.share_feature import shares_of
from odradek.handlers.share_states import Result, each, refused
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.k83_initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionResult,
)
from odradek.security.acl import CLUSTER_ACTION


def refuse(
    request: InitializeShareGroupStateRequest, error: errors.KafkaError, version: int
) -> InitializeShareGroupStateResponse:
    return _response(refused(request.topics, error))


@serves(InitializeShareGroupStateRequest, versions="0", allow=on_cluster(CLUSTER_ACTION), refuse=refuse)
async def initialize_share_group_state(
    call: BrokerCall, request: InitializeShareGroupStateRequest
) -> InitializeShareGroupStateResponse:
    coordinator = shares_of(call).coordinator
    results = await each(
        request.group_id,
        request.topics,
        lambda key, each: coordinator.initialize(key, each.state_epoch, each.start_offset),
    )
    return _response(results)


def _response(results: dict[bytes, list[Result[None]]]) -> InitializeShareGroupStateResponse:
    return InitializeShareGroupStateResponse(
        results=[
            InitializeStateResult(
                topic_id=Uuid(topic_id),
                partitions=[PartitionResult(partition=each.partition, **each.code_and_message) for each in of_topic],
            )
            for topic_id, of_topic in results.items()
        ]
    )
