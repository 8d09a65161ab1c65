"""CreatePartitions, API key 37."""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    nullable_array,
    nullable_string,
    string,
)


class CreatePartitionsAssignment(Struct):
    broker_ids = array(int32())


class CreatePartitionsTopic(Struct):
    name        = string()
    count       = int32()
    assignments = nullable_array(CreatePartitionsAssignment, default=[])


class CreatePartitionsRequest(Request, key=37, versions="0-3", flexible="2+"):
    topics        = array(CreatePartitionsTopic)
    timeout_ms    = int32()
    validate_only = boolean()


class CreatePartitionsTopicResult(Struct):
    name          = string()
    error_code    = int16()
    error_message = nullable_string()


class CreatePartitionsResponse(Response, key=37, versions="0-3", flexible="2+"):
    throttle_time_ms = int32()
    results          = array(CreatePartitionsTopicResult)
