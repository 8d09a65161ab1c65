"""ReadShareGroupStateSummary, API key 87: start offsets of share partitions for the group coordinator (KIP-932).

From the share coordinator, without the batches of the state; needs CLUSTER_ACTION.
Version 0 has a leader epoch in 4.3, not in 3.9.

Versions 0-1, flexible. Not in Kafka 3.3; 3.9 has 0 (unstable), 4.3 0-1.

     1  response: how many records past the start offset are done with (KIP-1226)
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
