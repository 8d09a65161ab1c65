"""ReadShareGroupStateSummary, versions 0-1: the group coordinator reads start offsets of share-partitions (KIP-932).

     1  how many records past the start offset are done with (KIP-1226)

To the share coordinator. Who may: CLUSTER_ACTION on the cluster, which brokers have.
Errors, per partition: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST, those of the coordinator.
"""

from typing import TYPE_CHECKING

from odradek.handlers.call import BrokerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.handlers.share_feature import shares_of
from odradek.handlers.share_states import Result, each, refused
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.k87_read_share_group_state_summary import (
    PartitionResult,
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)
from odradek.replica.share.persisted import UNINITIALIZED_OFFSET
from odradek.security.acl import CLUSTER_ACTION

if TYPE_CHECKING:
    from odradek.coordinator.share.state import ShareState


def refuse(
    request: ReadShareGroupStateSummaryRequest, error: errors.KafkaError, version: int
) -> ReadShareGroupStateSummaryResponse:
    return _response(refused(request.topics, error))


@serves(ReadShareGroupStateSummaryRequest, versions="0-1", allow=on_cluster(CLUSTER_ACTION), refuse=refuse)
async def read_share_group_state_summary(
    call: BrokerCall, request: ReadShareGroupStateSummaryRequest
) -> ReadShareGroupStateSummaryResponse:
    coordinator = shares_of(call).coordinator
    results = await each(request.group_id, request.topics, lambda key, each: coordinator.summary(key))
    return _response(results)


def _response(results: "dict[bytes, list[Result[ShareState | None]]]") -> ReadShareGroupStateSummaryResponse:
    return ReadShareGroupStateSummaryResponse(
        results=[
            ReadStateSummaryResult(topic_id=Uuid(topic_id), partitions=[_result(each) for each in of_topic])
            for topic_id, of_topic in results.items()
        ]
    )


def _result(each: "Result[ShareState | None]") -> PartitionResult:
    if each.value is None:  # of nothing that was set up there is no start offset either
        return PartitionResult(
            partition=each.partition, start_offset=UNINITIALIZED_OFFSET, leader_epoch=0, **each.code_and_message
        )
    return PartitionResult(
        partition=each.partition,
        state_epoch=each.value.state_epoch,
        leader_epoch=each.value.leader_epoch,
        start_offset=each.value.start_offset,
        delivery_complete_count=each.value.delivery_complete_count,
    )
