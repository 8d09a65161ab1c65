"""DescribeGroups, API key 15: state and members of classic groups, for admins.

Answered by the coordinator of each group. ConsumerGroupDescribe serves groups of the consumer protocol.

Versions 0-6, flexible from 5. Kafka 3.3 and 3.9 have 0-5, 4.3 0-6.

     1  throttle time in the response
     2  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     3  authorized operations, if asked for (KIP-430)
     4  response: group instance ids (KIP-345)
     5  same fields in the flexible encoding (KIP-482)
     6  response: error message; an unknown group is GROUP_ID_NOT_FOUND, before it was a dead group (KIP-1043)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    bytes_,
    int16,
    int32,
    nullable_string,
    string,
)


class DescribeGroupsRequest(Request, key=15, versions="0-6", flexible="5+"):
    groups                        = array(string())
    include_authorized_operations = boolean("3+")


class DescribedGroupMember(Struct):
    member_id         = string()
    group_instance_id = nullable_string("4+", ignorable=True)
    client_id         = string()
    client_host       = string()
    member_metadata   = bytes_()
    member_assignment = bytes_()


class DescribedGroup(Struct):
    error_code            = int16()
    error_message         = nullable_string("6+")
    group_id              = string()
    group_state           = string()
    protocol_type         = string()
    protocol_data         = string()
    members               = array(DescribedGroupMember)
    authorized_operations = int32("3+", default=-2147483648)


class DescribeGroupsResponse(Response, key=15, versions="0-6", flexible="5+"):
    throttle_time_ms = int32("1+", ignorable=True)
    groups           = array(DescribedGroup)
