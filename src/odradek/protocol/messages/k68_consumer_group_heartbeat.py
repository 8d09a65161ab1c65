"""ConsumerGroupHeartbeat, API key 68: a member of a consumer group joins, stays, reconciles and leaves (KIP-848).

To the group coordinator, which makes the assignment. Member epoch 0 joins, -1 leaves, -2 leaves as a static member
that will come back. Null fields have not changed since the last heartbeat.

Versions 0-1, flexible. Not in Kafka 3.3; 3.9 has 0, 4.3 0-1.

     1  request: subscription by regular expression (KIP-848); the member picks its own id (KIP-1082)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    nullable_array,
    nullable_string,
    nullable_struct,
    string,
    uuid,
)


class TopicPartitions(Struct):
    topic_id   = uuid()
    partitions = array(int32())


class ConsumerGroupHeartbeatRequest(Request, key=68, versions="0-1", flexible="0+"):
    group_id               = string()
    member_id              = string()
    member_epoch           = int32()
    instance_id            = nullable_string()
    rack_id                = nullable_string()
    rebalance_timeout_ms   = int32(default=-1)
    subscribed_topic_names = nullable_array(string())
    subscribed_topic_regex = nullable_string("1+")
    server_assignor        = nullable_string()
    topic_partitions       = nullable_array(TopicPartitions)


class ConsumerGroupHeartbeatResponseTopicPartitions(Struct):
    topic_id   = uuid()
    partitions = array(int32())


class Assignment(Struct):
    topic_partitions = array(ConsumerGroupHeartbeatResponseTopicPartitions)


class ConsumerGroupHeartbeatResponse(Response, key=68, versions="0-1", flexible="0+"):
    throttle_time_ms      = int32()
    error_code            = int16()
    error_message         = nullable_string()
    member_id             = nullable_string()
    member_epoch          = int32()
    heartbeat_interval_ms = int32()
    assignment            = nullable_struct(Assignment)
