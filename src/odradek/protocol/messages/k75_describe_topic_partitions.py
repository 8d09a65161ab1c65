"""DescribeTopicPartitions, API key 75: topics and partitions page by page, with eligible leader replicas (KIP-966).

Any broker answers, up to a limit of partitions; the next request goes on from the cursor. Never creates topics.

Version 0, flexible. Not in Kafka 3.3; 3.9 and 4.3 have 0.
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    nullable_array,
    nullable_string,
    nullable_struct,
    string,
    uuid,
)


class TopicRequest(Struct):
    name = string()


class Cursor(Struct):
    topic_name      = string()
    partition_index = int32()


class DescribeTopicPartitionsRequest(Request, key=75, versions="0", flexible="0+"):
    topics                   = array(TopicRequest)
    response_partition_limit = int32(default=2000)
    cursor                   = nullable_struct(Cursor)


class DescribeTopicPartitionsResponsePartition(Struct):
    error_code               = int16()
    partition_index          = int32()
    leader_id                = int32()
    leader_epoch             = int32(default=-1)
    replica_nodes            = array(int32())
    isr_nodes                = array(int32())
    eligible_leader_replicas = nullable_array(int32())
    last_known_elr           = nullable_array(int32())
    offline_replicas         = array(int32())


class DescribeTopicPartitionsResponseTopic(Struct):
    error_code                  = int16()
    name                        = nullable_string(default="")
    topic_id                    = uuid()
    is_internal                 = boolean()
    partitions                  = array(DescribeTopicPartitionsResponsePartition)
    topic_authorized_operations = int32(default=-2147483648)


class DescribeTopicPartitionsResponseCursor(Struct):
    topic_name      = string()
    partition_index = int32()


class DescribeTopicPartitionsResponse(Response, key=75, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    topics           = array(DescribeTopicPartitionsResponseTopic)
    next_cursor      = nullable_struct(DescribeTopicPartitionsResponseCursor)
