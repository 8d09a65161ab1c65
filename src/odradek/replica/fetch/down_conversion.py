"""Records for readers of old versions: converted down to the magic that they know, in a job.

Versions 0 and 1 read magic 0, versions 2 and 3 magic 1. Before version 10 nobody reads zstd: a topic whose configs say
zstd is refused, and so is a zstd batch that would have to be converted; one that a producer has compressed by itself
goes out as it is from version 4 on, as Kafka sends it. A topic with `message.downconversion.enable=false` is refused to
versions before 4, UNSUPPORTED_VERSION. Both are refused whether there are records or not.
"""

from typing import TYPE_CHECKING

from odradek.log.config import LogConfig
from odradek.protocol import errors
from odradek.protocol.messages.k01_fetch import FetchRequest, FetchResponse, PartitionData
from odradek.reactor.file_range import FileRange
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Buffer, Cancelled, JobOf
from odradek.records.convert import DownConverted, down_convert
from odradek.replica.fetch.partition_data import not_here, records_of, release, size_of

if TYPE_CHECKING:
    from odradek.replica.manager import ReplicaManager

MAGIC_1_VERSION_MIN = 2
MAGIC_2_VERSION_MIN = 4
ZSTD = "zstd"
UNSEEN = (errors.UnknownTopicOrPartition.code, errors.TopicAuthorizationFailed.code)  # not even looked at


async def for_old_reader(
    replicas: "ReplicaManager", request: FetchRequest, version: int, answer: FetchResponse | Pending[FetchResponse]
) -> FetchResponse:
    try:
        response = await answer if isinstance(answer, Pending) else answer
    except Cancelled:
        if isinstance(answer, Pending):
            answer.cancel()
        raise
    # A task of its own: a conversion that is under way comes to its end, whoever waits for it, and lets its files go.
    return await replicas.loop.spawn(_for_version(replicas, request, version, response))


async def _for_version(
    replicas: "ReplicaManager", request: FetchRequest, version: int, response: FetchResponse
) -> FetchResponse:
    offsets = _fetch_offsets(request) if version < MAGIC_2_VERSION_MIN else {}
    for topic in response.responses:
        hosted = replicas.topics.get(topic.topic)
        refusal = None if hosted is None else _refusal(hosted.config, version)
        for number, data in enumerate(topic.partitions):
            if refusal is not None and data.error_code not in UNSEEN:
                topic.partitions[number] = _refused(data, refusal)
            elif data.error_code == errors.NONE and size_of(data) and version < MAGIC_2_VERSION_MIN:
                offset = offsets.get((topic.topic, data.partition_index), 0)
                topic.partitions[number] = await _converted(replicas, data, version, offset)
    return response


def _refusal(config: LogConfig, version: int) -> errors.KafkaError | None:
    """Why a topic is not for such a reader, whatever is in it."""
    if config.compression_type == ZSTD:
        return errors.UnsupportedCompressionType()
    if version < MAGIC_2_VERSION_MIN and config.converts_down is False:
        return errors.UnsupportedVersion()
    return None


def _fetch_offsets(request: FetchRequest) -> dict[tuple[str, int], int]:
    asked = [(topic.topic, partition) for topic in request.topics for partition in topic.partitions]
    return {(topic, partition.partition): partition.fetch_offset for topic, partition in asked}


async def _converted(replicas: "ReplicaManager", data: PartitionData, version: int, offset: int) -> PartitionData:
    records = records_of(data)
    magic = 0 if version < MAGIC_1_VERSION_MIN else 1
    try:
        converted: DownConverted = await replicas.loop.submit(_convert_job(records, magic, offset))
    except errors.KafkaError as error:
        return _refused(data, error)
    finally:
        release(data)
    data.records = converted.data
    replicas.metrics.fetch_conversions.count += converted.converted_count
    return data


def _convert_job(records: Buffer | FileRange, magic: int, offset: int) -> JobOf[DownConverted]:
    if isinstance(records, FileRange):
        records = records.disk_file.pread(records.size, records.position)
    yield len(records)
    return down_convert(records, magic, offset)


def _refused(data: PartitionData, error: errors.KafkaError) -> PartitionData:
    """Returns the answer of a partition that cannot be converted: null for records, unlike other errors."""
    release(data)
    told = not_here(data.partition_index, error)
    told.records = None
    return told
