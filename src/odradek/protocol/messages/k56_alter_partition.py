"""AlterPartition, API key 56."""

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
