"""DeleteRecords, versions 0-2: moves log start offsets forward.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)

Who may: DELETE on each topic. The answer has the low watermark: the smallest log start offset of all live replicas.

| what is wrong | error |
|---|---|
| an offset past the high watermark, or a negative one but -1 | OFFSET_OUT_OF_RANGE |
| a topic that is compacted and not deleted from | POLICY_VIOLATION |
| an internal topic | INVALID_TOPIC_EXCEPTION |
| replicas that do not follow in time | REQUEST_TIMED_OUT |
| unknown, elsewhere | UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER |
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.internal_topics import INTERNAL_TOPICS
from odradek.protocol.messages.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from odradek.reactor.pending import Pending
from odradek.replica.deletion import delete_records as delete_in_partition
from odradek.security.acl import DELETE, TOPIC

UNKNOWN = -1

_Deleting = tuple[DeleteRecordsPartitionResult, int | Pending[int]]


def refuse(request: DeleteRecordsRequest, error: errors.KafkaError, version: int) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(name=topic.name, partitions=[_failed(each, error) for each in topic.partitions])
            for topic in request.topics
        ]
    )


@serves(DeleteRecordsRequest, versions="0-2", refuse=refuse)
async def delete_records(call: BrokerCall, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    """All partitions begin before the first is waited for: one deadline holds for all of them."""
    deleting: list[_Deleting] = []
    topics = []
    for topic in request.topics:
        results = []
        for asked in topic.partitions:
            try:
                result = DeleteRecordsPartitionResult(partition_index=asked.partition_index)
                deleting.append((result, _begin(call, topic.name, asked, request.timeout_ms)))
            except errors.KafkaError as error:
                result = _failed(asked, error)
            results.append(result)
        topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=results))
    for result, low_watermark in deleting:
        await _end(result, low_watermark)
    return DeleteRecordsResponse(topics=topics)


def _begin(call: BrokerCall, topic: str, asked: DeleteRecordsPartition, timeout_ms: int) -> int | Pending[int]:
    call.demand(DELETE, TOPIC, topic)
    if topic in INTERNAL_TOPICS:
        raise errors.InvalidTopicException(f"The records of {topic} are deleted by the coordinators alone.")
    replicas = call.services.replicas
    partition = replicas.led_partition(topic, asked.partition_index)
    return delete_in_partition(replicas, partition, asked.offset, timeout_ms)


async def _end(result: DeleteRecordsPartitionResult, low_watermark: int | Pending[int]) -> None:
    try:
        result.low_watermark = await low_watermark if isinstance(low_watermark, Pending) else low_watermark
    except errors.KafkaError as error:
        result.low_watermark = UNKNOWN
        result.error_code = error.code


def _failed(asked: DeleteRecordsPartition, error: errors.KafkaError) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(
        partition_index=asked.partition_index, low_watermark=UNKNOWN, error_code=error.code
    )
