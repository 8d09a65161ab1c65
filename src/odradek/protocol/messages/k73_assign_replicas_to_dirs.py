"""AssignReplicasToDirs, API key 73: a broker tells the controller which log directory holds each replica (KIP-858).

To the active controller.

Version 0, flexible. Not in Kafka 3.3; 3.9 and 4.3 have 0.
On controller listeners only.
"""

from odradek.protocol.declare import Request, Response, Struct, array, int16, int32, int64, uuid


class PartitionData(Struct):
    partition_index = int32()


class TopicData(Struct):
    topic_id   = uuid()
    partitions = array(PartitionData)


class DirectoryData(Struct):
    id     = uuid()
    topics = array(TopicData)


class AssignReplicasToDirsRequest(Request, key=73, versions="0", flexible="0+"):
    broker_id    = int32()
    broker_epoch = int64(default=-1)
    directories  = array(DirectoryData)


class AssignReplicasToDirsResponsePartitionData(Struct):
    partition_index = int32()
    error_code      = int16()


class AssignReplicasToDirsResponseTopicData(Struct):
    topic_id   = uuid()
    partitions = array(AssignReplicasToDirsResponsePartitionData)


class AssignReplicasToDirsResponseDirectoryData(Struct):
    id     = uuid()
    topics = array(AssignReplicasToDirsResponseTopicData)


class AssignReplicasToDirsResponse(Response, key=73, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code       = int16()
    directories      = array(AssignReplicasToDirsResponseDirectoryData)
