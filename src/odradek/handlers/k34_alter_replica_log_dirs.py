"""AlterReplicaLogDirs, versions 0-2: moves replicas between our log dirs.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)

Who may: ALTER on the cluster. Answered when the copy is begun; DescribeLogDirs tells how far it is.

| what is wrong | error |
|---|---|
| a dir that is none of ours | LOG_DIR_NOT_FOUND |
| a dir that is offline, or the one where the replica lies | KAFKA_STORAGE_ERROR |
| a replica that is not on this broker | REPLICA_NOT_AVAILABLE; the dir is remembered for when it comes |
| no such topic or partition | UNKNOWN_TOPIC_OR_PARTITION |
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k34_alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from odradek.security.acl import ALTER, CLUSTER, CLUSTER_NAME


def refuse(request: AlterReplicaLogDirsRequest, error: errors.KafkaError, version: int) -> AlterReplicaLogDirsResponse:
    codes = {
        (topic.name, index): error.code for each in request.dirs for topic in each.topics for index in topic.partitions
    }
    return _response(codes)


@serves(AlterReplicaLogDirsRequest, versions="0-2", refuse=refuse)
async def alter_replica_log_dirs(call: BrokerCall, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    call.demand(ALTER, CLUSTER, CLUSTER_NAME)
    codes: dict[tuple[str, int], int] = {}
    for each in request.dirs:
        for topic in each.topics:
            for index in topic.partitions:
                codes[topic.name, index] = await _alter(call, topic.name, index, each.path)
    return _response(codes)


async def _alter(call: BrokerCall, topic: str, index: int, path: str) -> int:
    try:
        await call.services.replicas.mover.alter(topic, index, path)
    except errors.NotLeaderOrFollower:
        return errors.ReplicaNotAvailable.code
    except errors.KafkaError as error:
        return error.code
    return 0


def _response(codes: dict[tuple[str, int], int]) -> AlterReplicaLogDirsResponse:
    topics: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for (topic, index), code in codes.items():
        result = AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code)
        topics.setdefault(topic, []).append(result)
    results = [AlterReplicaLogDirTopicResult(topic_name=name, partitions=found) for name, found in topics.items()]
    return AlterReplicaLogDirsResponse(results=results)
