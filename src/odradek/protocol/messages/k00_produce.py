"""Produce, API key 0."""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    int64,
    nullable_string,
    records_,
    string,
    struct,
    uuid,
)


class PartitionProduceData(Struct):
    index   = int32()
    records = records_(nullable="")


class TopicProduceData(Struct):
    name           = string("0-12", ignorable=True)
    topic_id       = uuid("13+", ignorable=True)
    partition_data = array(PartitionProduceData)


class ProduceRequest(Request, key=0, versions="0-13", flexible="9+"):
    transactional_id = nullable_string("3+")
    acks             = int16()
    timeout_ms       = int32()
    topic_data       = array(TopicProduceData)


class BatchIndexAndErrorMessage(Struct):
    batch_index               = int32()
    batch_index_error_message = nullable_string()


class LeaderIdAndEpoch(Struct):
    leader_id    = int32(default=-1)
    leader_epoch = int32(default=-1)


class PartitionProduceResponse(Struct):
    index              = int32()
    error_code         = int16()
    base_offset        = int64()
    log_append_time_ms = int64("2+", default=-1, ignorable=True)
    log_start_offset   = int64("5+", default=-1, ignorable=True)
    record_errors      = array(BatchIndexAndErrorMessage, "8+", ignorable=True)
    error_message      = nullable_string("8+", ignorable=True)
    current_leader     = struct(LeaderIdAndEpoch, "10+", tag=0)


class TopicProduceResponse(Struct):
    name                = string("0-12", ignorable=True)
    topic_id            = uuid("13+", ignorable=True)
    partition_responses = array(PartitionProduceResponse)


class NodeEndpoint(Struct):
    node_id = int32()
    host    = string()
    port    = int32()
    rack    = nullable_string()


class ProduceResponse(Response, key=0, versions="0-13", flexible="9+"):
    responses        = array(TopicProduceResponse)
    throttle_time_ms = int32("1+", ignorable=True)
    node_endpoints   = array(NodeEndpoint, "10+", tag=0)
