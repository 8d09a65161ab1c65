"""SyncGroup, API key 14."""

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
