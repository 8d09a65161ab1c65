"""LeaderAndIsr, API key 4: the ZooKeeper controller tells a broker which partitions it leads or follows.

Only between servers in ZooKeeper mode and in the migration to KRaft.

Versions 0-7, flexible from 4. Kafka 3.3 has 0-6, 3.9 0-7; gone with ZooKeeper in 4.0.

     1  request: whether a replica is new (KIP-112)
     2  request: broker epoch, partitions grouped by topic (KIP-380)
     3  request: adding and removing replicas of a reassignment (KIP-455)
     4  same fields in the flexible encoding (KIP-482)
     5  topic ids; request: incremental or full; response grouped by topic id (KIP-516)
     6  request: leader recovery state (KIP-704)
     7  request: whether a KRaft controller sends it (KIP-866)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    string,
    uuid,
)


class LeaderAndIsrPartitionState(Struct):
    topic_name            = string("0-1", ignorable=True)
    partition_index       = int32()
    controller_epoch      = int32()
    leader                = int32()
    leader_epoch          = int32()
    isr                   = array(int32())
    partition_epoch       = int32()
    replicas              = array(int32())
    adding_replicas       = array(int32(), "3+", ignorable=True)
    removing_replicas     = array(int32(), "3+", ignorable=True)
    is_new                = boolean("1+", ignorable=True)
    leader_recovery_state = int8("6+")


class LeaderAndIsrTopicState(Struct):
    topic_name       = string()
    topic_id         = uuid("5+", ignorable=True)
    partition_states = array(LeaderAndIsrPartitionState)


class LeaderAndIsrLiveLeader(Struct):
    broker_id = int32()
    host_name = string()
    port      = int32()


class LeaderAndIsrRequest(Request, key=4, versions="0-7", flexible="4+"):
    controller_id              = int32()
    is_k_raft_controller       = boolean("7+")
    controller_epoch           = int32()
    ungrouped_partition_states = array(LeaderAndIsrPartitionState, "0-1")
    broker_epoch               = int64("2+", default=-1, ignorable=True)
    type                       = int8("5+")
    topic_states               = array(LeaderAndIsrTopicState, "2+")
    live_leaders               = array(LeaderAndIsrLiveLeader)


class LeaderAndIsrPartitionError(Struct):
    topic_name      = string("0-4", ignorable=True)
    partition_index = int32()
    error_code      = int16()


class LeaderAndIsrTopicError(Struct):
    topic_id         = uuid()
    partition_errors = array(LeaderAndIsrPartitionError)


class LeaderAndIsrResponse(Response, key=4, versions="0-7", flexible="4+"):
    error_code       = int16()
    partition_errors = array(LeaderAndIsrPartitionError, "0-4")
    topics           = array(LeaderAndIsrTopicError, "5+")
