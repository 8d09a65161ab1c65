"""StopReplica, API key 5: the ZooKeeper controller tells a broker to stop replicas, and to delete them if asked.

Only between servers in ZooKeeper mode and in the migration to KRaft.

Versions 0-4, flexible from 2. Kafka 3.3 has 0-3, 3.9 0-4; gone with ZooKeeper in 4.0.

     1  request: broker epoch, partitions grouped by topic (KIP-380)
     2  same fields in the flexible encoding (KIP-482)
     3  request: leader epoch and deletion per partition, no longer for all at once (KIP-570)
     4  request: whether a KRaft controller sends it (KIP-866)
"""

from odradek.protocol.declare import Request, Response, Struct, array, boolean, int16, int32, int64, string


class StopReplicaPartitionV0(Struct):
    topic_name      = string()
    partition_index = int32()


class StopReplicaTopicV1(Struct):
    name              = string()
    partition_indexes = array(int32())


class StopReplicaPartitionState(Struct):
    partition_index  = int32()
    leader_epoch     = int32(default=-1)
    delete_partition = boolean()


class StopReplicaTopicState(Struct):
    topic_name       = string()
    partition_states = array(StopReplicaPartitionState)


class StopReplicaRequest(Request, key=5, versions="0-4", flexible="2+"):
    controller_id        = int32()
    is_k_raft_controller = boolean("4+")
    controller_epoch     = int32()
    broker_epoch         = int64("1+", default=-1, ignorable=True)
    delete_partitions    = boolean("0-2")
    ungrouped_partitions = array(StopReplicaPartitionV0, "0")
    topics               = array(StopReplicaTopicV1, "1-2")
    topic_states         = array(StopReplicaTopicState, "3+")


class StopReplicaPartitionError(Struct):
    topic_name      = string()
    partition_index = int32()
    error_code      = int16()


class StopReplicaResponse(Response, key=5, versions="0-4", flexible="2+"):
    error_code       = int16()
    partition_errors = array(StopReplicaPartitionError)
