"""DescribeLogDirs, versions 0-5: our log dirs and the replicas in them. Null topics ask for all.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
     3  response: an error for the whole answer
     4  response: total and usable bytes of the volume (KIP-827)
     5  response: whether the dir is cordoned (KIP-1066)

Who may: DESCRIBE on the cluster. Errors: CLUSTER_AUTHORIZATION_FAILED; a dir that is offline is told with
KAFKA_STORAGE_ERROR and no topics; a topic that is not there is left out.
A partition that is set aside because its log is damaged stands in its dir, which is well, with its size and the lag -1:
the answer has no place for more. Which file and which byte is told by the server log and by the metrics.
A 3.3 lists every topic of a dir, with no partitions where none was asked for; a 4.3 lists what was asked for.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.log.manager.log_dir import LogDir
from odradek.protocol import errors
from odradek.protocol.messages.k35_describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from odradek.replica.log_dirs import DirVolume, Wanted, replicas_in, volume_job
from odradek.security.acl import CLUSTER, CLUSTER_NAME, DESCRIBE

ERROR_VERSION_MIN = 3
VOLUME_VERSION_MIN = 4


def refuse(request: DescribeLogDirsRequest, error: errors.KafkaError, version: int) -> DescribeLogDirsResponse:
    """Before version 3 there is no place for an error: the answer is empty."""
    response = DescribeLogDirsResponse()
    if version >= ERROR_VERSION_MIN:
        response.error_code = error.code
    return response


@serves(DescribeLogDirsRequest, versions="0-5", refuse=refuse)
async def describe_log_dirs(call: BrokerCall, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    call.demand(DESCRIBE, CLUSTER, CLUSTER_NAME)
    wanted = _wanted(request)
    dirs = call.services.logs.dirs.by_path.values()
    return DescribeLogDirsResponse(results=[await _describe(call, log_dir, wanted) for log_dir in dirs])


def _wanted(request: DescribeLogDirsRequest) -> Wanted | None:
    if request.topics is None:
        return None
    wanted: dict[str, frozenset[int]] = {}
    for topic in request.topics:
        wanted[topic.topic] = wanted.get(topic.topic, frozenset()) | frozenset(topic.partitions)
    return wanted


async def _describe(call: BrokerCall, log_dir: LogDir, wanted: Wanted | None) -> DescribeLogDirsResult:
    result = DescribeLogDirsResult(log_dir=log_dir.path)
    if not log_dir.is_online:
        result.error_code = errors.KafkaStorageError.code
        return result
    if call.version >= VOLUME_VERSION_MIN:
        job = volume_job(call.services.logs.disk, log_dir.path)
        volume: DirVolume = await call.services.loop.submit(job)
        result.total_bytes, result.usable_bytes = volume
    result.is_cordoned = log_dir.path in call.services.logs.dirs.cordoned
    result.topics = _topics(call, log_dir, wanted)
    return result


def _topics(call: BrokerCall, log_dir: LogDir, wanted: Wanted | None) -> list[DescribeLogDirsTopic]:
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    if not call.services.release.behaviour.omits_topics_without_answer:
        topics = {topic: [] for topic, _ in sorted({*log_dir.logs, *log_dir.set_aside_logs})}
    for found in replicas_in(call.services.replicas, log_dir, wanted):
        partition = DescribeLogDirsPartition(
            partition_index=found.partition,
            partition_size=found.size_bytes,
            offset_lag=found.offset_lag,
            is_future_key=found.is_future,
        )
        topics.setdefault(found.topic, []).append(partition)
    return [DescribeLogDirsTopic(name=name, partitions=partitions) for name, partitions in topics.items()]
