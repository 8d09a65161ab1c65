"""AlterPartition, API key 56: a partition leader asks the controller to change the in-sync replicas (KIP-497).

Needs CLUSTER_ACTION. The partition epoch makes it compare-and-set; the response gives the state that holds.

Versions 0-3, flexible. Kafka 3.3 has 0-2, 3.9 0-3, 4.3 2-3. 4.0 dropped 0-1.
On controller listeners only; in ZooKeeper mode the broker that is the controller serves it.

     1  leader recovery state (KIP-704)
     2  topic ids in the place of names; INELIGIBLE_REPLICA and NEW_LEADER_ELECTED may be answered (KIP-841)
     3  request: broker epoch of every member of the new set (KIP-903)
"""

from odradek.protocol.declare import Request, Response, Struct, array, int8, int16, int32, int64, string, uuid


class BrokerState(Struct):
    broker_id    = int32()
    broker_epoch = int64(default=-1)


class PartitionData(Struct):
    partition_index       = int32()
    leader_epoch          = int32()
    new_isr               = array(int32(), "0-2")
    new_isr_with_epochs   = array(BrokerState, "3+")
    leader_recovery_state = int8("1+")
    partition_epoch       = int32()


class TopicData(Struct):
    topic_name = string("0-1", ignorable=True)
    topic_id   = uuid("2+", ignorable=True)
    partitions = array(PartitionData)


class AlterPartitionRequest(Request, key=56, versions="0-3", flexible="0+"):
    broker_id    = int32()
    broker_epoch = int64(default=-1)
    topics       = array(TopicData)


class AlterPartitionResponsePartitionData(Struct):
    partition_index       = int32()
    error_code            = int16()
    leader_id             = int32()
    leader_epoch          = int32()
    isr                   = array(int32())
    leader_recovery_state = int8("1+", ignorable=True)
    partition_epoch       = int32()


class AlterPartitionResponseTopicData(Struct):
    topic_name = string("0-1", ignorable=True)
    topic_id   = uuid("2+", ignorable=True)
    partitions = array(AlterPartitionResponsePartitionData)


class AlterPartitionResponse(Response, key=56, versions="0-3", flexible="0+"):
    throttle_time_ms = int32()
    error_code       = int16()
    topics           = array(AlterPartitionResponseTopicData)
