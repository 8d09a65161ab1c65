"""WriteShareGroupState, versions 0-1: a partition's leader writes the state of share-partitions (KIP-932).

     1  how many records past the start offset are done with (KIP-1226)

To the share coordinator. Who may: CLUSTER_ACTION on the cluster, which brokers have.
Errors, per partition: FENCED_LEADER_EPOCH, FENCED_STATE_EPOCH, UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST, those of
the coordinator.
"""

from odradek.coordinator.share.core import Write
from odradek.coordinator.share.state import batches_of
from odradek.handlers.call import BrokerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.handlers.share_feature import shares_of
from odradek.handlers.share_states import Result, each, refused
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.k85_write_share_group_state import (
    PartitionData,
    PartitionResult,
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
    WriteStateResult,
)
from odradek.security.acl import CLUSTER_ACTION


def refuse(
    request: WriteShareGroupStateRequest, error: errors.KafkaError, version: int
) -> WriteShareGroupStateResponse:
    return _response(refused(request.topics, error))


@serves(WriteShareGroupStateRequest, versions="0-1", allow=on_cluster(CLUSTER_ACTION), refuse=refuse)
async def write_share_group_state(
    call: BrokerCall, request: WriteShareGroupStateRequest
) -> WriteShareGroupStateResponse:
    coordinator = shares_of(call).coordinator
    results = await each(request.group_id, request.topics, lambda key, each: coordinator.write(key, _write(each)))
    return _response(results)


def _response(results: dict[bytes, list[Result[None]]]) -> WriteShareGroupStateResponse:
    return WriteShareGroupStateResponse(
        results=[
            WriteStateResult(
                topic_id=Uuid(topic_id),
                partitions=[PartitionResult(partition=each.partition, **each.code_and_message) for each in of_topic],
            )
            for topic_id, of_topic in results.items()
        ]
    )


def _write(each: PartitionData) -> Write:
    return Write(
        each.state_epoch,
        each.leader_epoch,
        each.start_offset,
        each.delivery_complete_count,
        batches_of(each.state_batches),
    )
