"""AddRaftVoter, API key 80."""

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
    uint16,
    uuid,
)


class Listener(Struct):
    name = string()
    host = string()
    port = uint16()


class AddRaftVoterRequest(Request, key=80, versions="0-1", flexible="0+"):
    cluster_id         = nullable_string(default="")
    timeout_ms         = int32()
    voter_id           = int32()
    voter_directory_id = uuid()
    listeners          = array(Listener)
    ack_when_committed = boolean("1+", default=True)


class AddRaftVoterResponse(Response, key=80, versions="0-1", flexible="0+"):
    throttle_time_ms = int32()
    error_code       = int16()
    error_message    = nullable_string(default="")
