"""ConsumerGroupDescribe, API key 69: state, members and assignments of consumer groups, for admins (KIP-848).

Answered by the coordinator of each group.

Versions 0-1, flexible. Not in Kafka 3.3; 3.9 has 0, 4.3 0-1.

     1  response: member type, classic or consumer (KIP-1099)
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
    nullable_string,
    string,
    struct,
    uuid,
)


class ConsumerGroupDescribeRequest(Request, key=69, versions="0-1", flexible="0+"):
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
    instance_id            = nullable_string()
    rack_id                = nullable_string()
    member_epoch           = int32()
    client_id              = string()
    client_host            = string()
    subscribed_topic_names = array(string())
    subscribed_topic_regex = nullable_string()
    assignment             = struct(Assignment)
    target_assignment      = struct(Assignment)
    member_type            = int8("1+", default=-1, ignorable=True)


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


class ConsumerGroupDescribeResponse(Response, key=69, versions="0-1", flexible="0+"):
    throttle_time_ms = int32()
    groups           = array(DescribedGroup)
