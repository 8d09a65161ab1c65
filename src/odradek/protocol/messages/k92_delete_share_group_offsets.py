"""DeleteShareGroupOffsets, API key 92."""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    nullable_string,
    string,
    uuid,
)


class DeleteShareGroupOffsetsRequestTopic(Struct):
    topic_name = string()


class DeleteShareGroupOffsetsRequest(Request, key=92, versions="0", flexible="0+"):
    group_id = string()
    topics   = array(DeleteShareGroupOffsetsRequestTopic)


class DeleteShareGroupOffsetsResponseTopic(Struct):
    topic_name    = string()
    topic_id      = uuid()
    error_code    = int16()
    error_message = nullable_string()


class DeleteShareGroupOffsetsResponse(Response, key=92, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code       = int16()
    error_message    = nullable_string()
    responses        = array(DeleteShareGroupOffsetsResponseTopic)
