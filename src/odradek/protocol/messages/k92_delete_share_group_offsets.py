"""DeleteShareGroupOffsets, API key 92: an admin deletes the offsets of a share group for whole topics (KIP-932).

To the group coordinator; the group must be empty.

Version 0, flexible. Neither in Kafka 3.3 nor in 3.9; 4.3 has 0.
"""

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
