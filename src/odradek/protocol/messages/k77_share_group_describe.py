"""ShareGroupDescribe, API key 77: state, members and assignments of share groups, for admins (KIP-932).

Answered by the coordinator of each group.

Versions 0-1, flexible. Not in Kafka 3.3; 3.9 has 0 (unstable), 4.3 1.

     1  same fields; the first stable version
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    nullable_string,
    string,
    struct,
    uuid,
)


class ShareGroupDescribeRequest(Request, key=77, versions="0-1", flexible="0+"):
    group_ids                     = array(string())
    include_authorized_operations = boolean()


class TopicPartitions(Struct):
    topic_id   = uuid()
    topic_name = string()
    partitions = array(int32())


class Assignment(Struct):
    topic_partitions = array(TopicPartitions)


class Member(Struct):
    member_id              = string()
    rack_id                = nullable_string()
    member_epoch           = int32()
    client_id              = string()
    client_host            = string()
    subscribed_topic_names = array(string())
    assignment             = struct(Assignment)


class DescribedGroup(Struct):
    error_code            = int16()
    error_message         = nullable_string()
    group_id              = string()
    group_state           = string()
    group_epoch           = int32()
    assignment_epoch      = int32()
    assignor_name         = string()
    members               = array(Member)
    authorized_operations = int32(default=-2147483648)


class ShareGroupDescribeResponse(Response, key=77, versions="0-1", flexible="0+"):
    throttle_time_ms = int32()
    groups           = array(DescribedGroup)
