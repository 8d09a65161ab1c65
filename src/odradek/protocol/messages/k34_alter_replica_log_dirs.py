"""AlterReplicaLogDirs, API key 34: an admin moves replicas between the log directories of one broker (KIP-113).

To the broker that has, or is about to get, the replicas.

Versions 0-2, flexible from 2. Kafka 3.3 and 3.9 have 0-2, 4.3 1-2. 4.0 dropped 0 (KIP-896).

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
"""

from odradek.protocol.declare import Request, Response, Struct, array, int16, int32, string


class AlterReplicaLogDirTopic(Struct):
    name       = string()
    partitions = array(int32())


class AlterReplicaLogDir(Struct):
    path   = string()
    topics = array(AlterReplicaLogDirTopic)


class AlterReplicaLogDirsRequest(Request, key=34, versions="0-2", flexible="2+"):
    dirs = array(AlterReplicaLogDir)


class AlterReplicaLogDirPartitionResult(Struct):
    partition_index = int32()
    error_code      = int16()


class AlterReplicaLogDirTopicResult(Struct):
    topic_name = string()
    partitions = array(AlterReplicaLogDirPartitionResult)


class AlterReplicaLogDirsResponse(Response, key=34, versions="0-2", flexible="2+"):
    throttle_time_ms = int32()
    results          = array(AlterReplicaLogDirTopicResult)
