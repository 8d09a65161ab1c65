"""DeleteTopics, API key 20."""

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


class DeleteTopicState(Struct):
    name     = nullable_string()
    topic_id = uuid()


class DeleteTopicsRequest(Request, key=20, versions="0-6", flexible="4+"):
    topic_names = array(string(), "0-5", ignorable=True)
    topics      = array(DeleteTopicState, "6+")
    timeout_ms  = int32()


class DeletableTopicResult(Struct):
    name          = nullable_string(nullable="6+", default="")
    topic_id      = uuid("6+", ignorable=True)
    error_code    = int16()
    error_message = nullable_string("5+", ignorable=True)


class DeleteTopicsResponse(Response, key=20, versions="0-6", flexible="4+"):
    throttle_time_ms = int32("1+", ignorable=True)
    responses        = array(DeletableTopicResult)
