"""ReadShareGroupStateSummary, API key 87."""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    int64,
    nullable_string,
    string,
    uuid,
)


class PartitionData(Struct):
    partition    = int32()
    leader_epoch = int32()


class ReadStateSummaryData(Struct):
    topic_id   = uuid()
    partitions = array(PartitionData)


class ReadShareGroupStateSummaryRequest(Request, key=87, versions="0-1", flexible="0+"):
    group_id = string()
    topics   = array(ReadStateSummaryData)


class PartitionResult(Struct):
    partition               = int32()
    error_code              = int16()
    error_message           = nullable_string()
    state_epoch             = int32()
    leader_epoch            = int32()
    start_offset            = int64()
    delivery_complete_count = int32("1+", default=-1, ignorable=True)


class ReadStateSummaryResult(Struct):
    topic_id   = uuid()
    partitions = array(PartitionResult)


class ReadShareGroupStateSummaryResponse(Response, key=87, versions="0-1", flexible="0+"):
    results = array(ReadStateSummaryResult)
