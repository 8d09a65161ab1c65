"""ReadShareGroupState, version 0: a partition's leader reads the state of share-partitions (KIP-932).

To the share coordinator. Who may: CLUSTER_ACTION on the cluster, which brokers have.
Errors, per partition: FENCED_LEADER_EPOCH, UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST, those of the coordinator.
"""

from typing import TYPE_CHECKING

from odradek.handlers.call import BrokerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.handlers.share_feature import shares_of
from odradek.handlers.share_states import Result, each, refused
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.k84_read_share_group_state import (
    PartitionResult,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateResult,
    StateBatch,
)
from odradek.security.acl import CLUSTER_ACTION

if TYPE_CHECKING:
    from odradek.coordinator.share.state import ShareState


def refuse(request: ReadShareGroupStateRequest, error: errors.KafkaError, version: int) -> ReadShareGroupStateResponse:
    return _response(refused(request.topics, error))


@serves(ReadShareGroupStateRequest, versions="0", allow=on_cluster(CLUSTER_ACTION), refuse=refuse)
async def read_share_group_state(call: BrokerCall, request: ReadShareGroupStateRequest) -> ReadShareGroupStateResponse:
    coordinator = shares_of(call).coordinator
    results = await each(request.group_id, request.topics, lambda key, each: coordinator.read(key, each.leader_epoch))
    return _response(results)


def _response(results: "dict[bytes, list[Result[ShareState]]]") -> ReadShareGroupStateResponse:
    return ReadShareGroupStateResponse(
        results=[
            ReadStateResult(topic_id=Uuid(topic_id), partitions=[_result(each) for each in of_topic])
            for topic_id, of_topic in results.items()
        ]
    )


def _result(each: "Result[ShareState]") -> PartitionResult:
    if each.value is None:
        return PartitionResult(partition=each.partition, **each.code_and_message)
    return PartitionResult(
        partition=each.partition,
        state_epoch=each.value.state_epoch,
        start_offset=each.value.start_offset,
        state_batches=[
            StateBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=count)
            for first, last, state, count in each.value.batches
        ],
    )
