"""FindCoordinator, API key 10."""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    int8,
    int16,
    int32,
    nullable_string,
    string,
)


class FindCoordinatorRequest(Request, key=10, versions="0-6", flexible="3+"):
    key              = string("0-3")
    key_type         = int8("1+")
    coordinator_keys = array(string(), "4+")


class Coordinator(Struct):
    key           = string()
    node_id       = int32()
    host          = string()
    port          = int32()
    error_code    = int16()
    error_message = nullable_string(default="")


class FindCoordinatorResponse(Response, key=10, versions="0-6", flexible="3+"):
    throttle_time_ms = int32("1+", ignorable=True)
    coordinators     = array(Coordinator, "4+")
    error_code       = int16("0-3")
    error_message    = nullable_string("1-3", default="", ignorable=True)
    node_id          = int32("0-3")
    host             = string("0-3")
    port             = int32("0-3")
