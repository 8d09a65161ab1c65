"""SyncGroup, API key 14: the leader of a classic group hands in the assignment, and every member fetches its own.

To the group coordinator, which holds the answers until the leader's request is there.

Versions 0-5, flexible from 4. The same in Kafka 3.3, 3.9 and 4.3.

     1  throttle time in the response
     2  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     3  request: group instance id (KIP-345)
     4  same fields in the flexible encoding (KIP-482)
     5  protocol type and name on both sides, checked against the group's (KIP-559)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    bytes_,
    int16,
    int32,
    nullable_string,
    string,
)


class SyncGroupRequestAssignment(Struct):
    member_id  = string()
    assignment = bytes_()


class SyncGroupRequest(Request, key=14, versions="0-5", flexible="4+"):
    group_id          = string()
    generation_id     = int32()
    member_id         = string()
    group_instance_id = nullable_string("3+")
    protocol_type     = nullable_string("5+", ignorable=True)
    protocol_name     = nullable_string("5+", ignorable=True)
    assignments       = array(SyncGroupRequestAssignment)


class SyncGroupResponse(Response, key=14, versions="0-5", flexible="4+"):
    throttle_time_ms = int32("1+", ignorable=True)
    error_code       = int16()
    protocol_type    = nullable_string("5+", ignorable=True)
    protocol_name    = nullable_string("5+", ignorable=True)
    assignment       = bytes_()
