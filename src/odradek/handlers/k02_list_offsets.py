"""ListOffsets, versions 0-11: offsets by timestamp, or at the marked places of a partition.

     0  a list of segment offsets      1  one offset with its timestamp     2  isolation level
     3  a throttled answer is sent at once and the client does the waiting (KIP-219)
     4  leader epochs                  5  OFFSET_NOT_AVAILABLE              6  flexible
     7  -3, the largest timestamp      8  -4, the local start               9  -5, the last in remote storage
    10  a timeout, for remote storage                                      11  -6, the first to be uploaded

Who may: DESCRIBE on each topic. Answered by the leader; replica id -2, a debugging consumer, may ask any replica.

| what is wrong | error |
|---|---|
| a partition named twice | INVALID_REQUEST from version 1 on; a 4.3 answers once, a 3.3 each time |
| a place that the version does not have | UNSUPPORTED_VERSION in a 4.3; a 3.3 takes it for a time before all records |
| a leader whose high watermark is behind its epoch | OFFSET_NOT_AVAILABLE, before version 5 LEADER_NOT_AVAILABLE |
| unknown, elsewhere, fenced | as for Fetch |
"""

from collections import Counter

from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.log.failure import LogFailure
from odradek.protocol import errors
from odradek.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from odradek.replica.offsets import OffsetQuery, legacy_offsets, list_offset
from odradek.security.acl import DESCRIBE, TOPIC

DEBUGGING_CONSUMER = -2
LEADER_EPOCH_VERSION_MIN = 4
NOT_AVAILABLE_VERSION_MIN = 5
_PLACES = {-1: 1, -2: 1, -3: 7, -4: 8, -5: 9, -6: 11}  # and the first version that has them


def refuse(request: ListOffsetsRequest, error: errors.KafkaError, version: int) -> ListOffsetsResponse:
    topics = [
        ListOffsetsTopicResponse(name=topic.name, partitions=[_failed(each, error) for each in topic.partitions])
        for topic in request.topics
    ]
    return ListOffsetsResponse(topics=topics)


@serves(ListOffsetsRequest, versions="0-11", refuse=refuse)
async def list_offsets(call: BrokerCall, request: ListOffsetsRequest) -> ListOffsetsResponse:
    repeated = _repeated(request) if call.version > 0 else set()
    topics = []
    for topic in request.topics:
        is_allowed = call.authorize(DESCRIBE, TOPIC, topic.name)
        answers = []
        for asked in _once(call, topic, repeated):
            if not is_allowed:
                answers.append(_failed(asked, errors.TopicAuthorizationFailed()))
            elif (topic.name, asked.partition_index) in repeated:
                answers.append(_failed(asked, errors.InvalidRequest()))
            else:
                answers.append(await _answer(call, request, topic.name, asked))
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
    return ListOffsetsResponse(topics=topics)


def _repeated(request: ListOffsetsRequest) -> set[tuple[str, int]]:
    counts = Counter((topic.name, asked.partition_index) for topic in request.topics for asked in topic.partitions)
    return {partition for partition, count in counts.items() if count > 1}


def _once(call: BrokerCall, topic: ListOffsetsTopic, repeated: set[tuple[str, int]]) -> list[ListOffsetsPartition]:
    if not repeated or not call.services.release.behaviour.merges_repeated_partitions:
        return topic.partitions
    return list({asked.partition_index: asked for asked in topic.partitions}.values())


async def _answer(
    call: BrokerCall, request: ListOffsetsRequest, topic: str, asked: ListOffsetsPartition
) -> ListOffsetsPartitionResponse:
    try:
        if call.version == 0:
            return _legacy(call, request, topic, asked)
        return await _found(call, request, topic, asked)
    except LogFailure as failure:
        call.services.logs.handle_failure(failure)
        return _failed(asked, failure)
    except errors.OffsetNotAvailable as error:
        is_known = call.version >= NOT_AVAILABLE_VERSION_MIN
        return _failed(asked, error if is_known else errors.LeaderNotAvailable())
    except errors.KafkaError as error:
        return _failed(asked, error)


async def _found(
    call: BrokerCall, request: ListOffsetsRequest, topic: str, asked: ListOffsetsPartition
) -> ListOffsetsPartitionResponse:
    _check_place(call, asked.timestamp)
    replicas = call.services.replicas
    query = OffsetQuery(
        asked.timestamp,
        isolation_level=request.isolation_level if request.replica_id < 0 else None,
        current_leader_epoch=asked.current_leader_epoch,
        only_leader=request.replica_id != DEBUGGING_CONSUMER,
    )
    found = await list_offset(replicas, replicas.resolve(topic, asked.partition_index), query)
    answer = ListOffsetsPartitionResponse(
        partition_index=asked.partition_index, timestamp=found.timestamp, offset=found.offset
    )
    if call.version >= LEADER_EPOCH_VERSION_MIN:
        answer.leader_epoch = found.leader_epoch
    return answer


def _check_place(call: BrokerCall, timestamp: int) -> None:
    if timestamp >= 0 or not call.services.release.behaviour.refuses_unknown_timestamps:
        return
    version_min = _PLACES.get(timestamp)
    if version_min is None or call.version < version_min:
        raise errors.UnsupportedVersion(f"ListOffsets {call.version} has no timestamp {timestamp}.")


def _legacy(
    call: BrokerCall, request: ListOffsetsRequest, topic: str, asked: ListOffsetsPartition
) -> ListOffsetsPartitionResponse:
    partition = call.services.replicas.led_partition(topic, asked.partition_index)
    offsets = legacy_offsets(
        partition, asked.timestamp, asked.max_num_offsets, call.now_ms(), is_consumer=request.replica_id < 0
    )
    return ListOffsetsPartitionResponse(partition_index=asked.partition_index, old_style_offsets=offsets)


def _failed(asked: ListOffsetsPartition, error: errors.KafkaError) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=asked.partition_index, error_code=error.code)
