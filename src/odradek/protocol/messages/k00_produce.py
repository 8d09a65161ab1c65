"""Produce, API key 0: record batches from a producer for the leaders of their partitions.

Sent to each leader with the batches that it leads. With acks 0 no response is sent. Versions 0-1 are for messages
of magic 0, version 2 for magic 1, version 3 and later for batches of magic 2 only. A 4.3 broker advertises
0-13, yet cannot read 0-2.

Versions 0-13, flexible from 9. Kafka 3.3 has 0-9, 3.9 0-11, 4.3 3-13. 4.0 dropped 0-2 (KIP-896).

     1  throttle time in the response
     2  message format with timestamps; log append time in the response (KIP-32)
     3  transactional id, batches of magic 2 (KIP-98)
     4  same fields; KAFKA_STORAGE_ERROR may be answered (KIP-112)
     5  log start offset in the response
     6  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     7  same fields; zstd is allowed (KIP-110)
     8  response: errors per record and an error message (KIP-467)
     9  same fields in the flexible encoding (KIP-482)
    10  response: current leader, and the endpoints of the nodes it names (KIP-951)
    11  same fields; TRANSACTION_ABORTABLE may be answered (KIP-890)
    12  same fields; the leader adds the partition to the transaction, AddPartitionsToTxn is not needed (KIP-890)
    13  topic ids in the place of names (KIP-516)
"""

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
