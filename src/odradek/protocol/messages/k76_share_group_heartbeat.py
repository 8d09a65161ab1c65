"""ShareGroupHeartbeat, API key 76: a member of a share group joins, stays and leaves (KIP-932).

To the group coordinator. Member epoch 0 joins, -1 leaves. Null fields have not changed since the last heartbeat.

Versions 0-1, flexible. Not in Kafka 3.3; 3.9 has 0 (unstable), 4.3 1.

     1  same fields; the first stable version
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


class ShareGroupHeartbeatRequest(Request, key=76, versions="0-1", flexible="0+"):
    group_id               = string()
    member_id              = string()
    member_epoch           = int32()
    rack_id                = nullable_string()
    subscribed_topic_names = nullable_array(string())


class TopicPartitions(Struct):
    topic_id   = uuid()
    partitions = array(int32())


class Assignment(Struct):
    topic_partitions = array(TopicPartitions)


class ShareGroupHeartbeatResponse(Response, key=76, versions="0-1", flexible="0+"):
    throttle_time_ms      = int32()
    error_code            = int16()
    error_message         = nullable_string()
    member_id             = nullable_string()
    member_epoch          = int32()
    heartbeat_interval_ms = int32()
    assignment            = nullable_struct(Assignment)
