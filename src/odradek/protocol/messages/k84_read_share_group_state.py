"""ReadShareGroupState, API key 84: a partition leader reads the state of share partitions (KIP-932).

From the share coordinator; needs CLUSTER_ACTION. Reading raises the leader epoch that later writes are checked with.

Version 0, flexible. Not in Kafka 3.3; 3.9 has 0 (unstable), 4.3 0.
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    int8,
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


class ReadStateData(Struct):
    topic_id   = uuid()
    partitions = array(PartitionData)


class ReadShareGroupStateRequest(Request, key=84, versions="0", flexible="0+"):
    group_id = string()
    topics   = array(ReadStateData)


class StateBatch(Struct):
    first_offset   = int64()
    last_offset    = int64()
    delivery_state = int8()
    delivery_count = int16()


class PartitionResult(Struct):
    partition     = int32()
    error_code    = int16()
    error_message = nullable_string()
    state_epoch   = int32()
    start_offset  = int64()
    state_batches = array(StateBatch)


class ReadStateResult(Struct):
    topic_id   = uuid()
    partitions = array(PartitionResult)


class ReadShareGroupStateResponse(Response, key=84, versions="0", flexible="0+"):
    results = array(ReadStateResult)
