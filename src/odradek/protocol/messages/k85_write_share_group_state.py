"""WriteShareGroupState, API key 85: a partition leader stores the state of share partitions (KIP-932).

At the share coordinator; needs CLUSTER_ACTION.

Versions 0-1, flexible. Not in Kafka 3.3; 3.9 has 0 (unstable), 4.3 0-1.

     1  request: how many records past the start offset are done with, to derive the lag (KIP-1226)
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


class StateBatch(Struct):
    first_offset   = int64()
    last_offset    = int64()
    delivery_state = int8()
    delivery_count = int16()


class PartitionData(Struct):
    partition               = int32()
    state_epoch             = int32()
    leader_epoch            = int32()
    start_offset            = int64()
    delivery_complete_count = int32("1+", default=-1, ignorable=True)
    state_batches           = array(StateBatch)


class WriteStateData(Struct):
    topic_id   = uuid()
    partitions = array(PartitionData)


class WriteShareGroupStateRequest(Request, key=85, versions="0-1", flexible="0+"):
    group_id = string()
    topics   = array(WriteStateData)


class PartitionResult(Struct):
    partition     = int32()
    error_code    = int16()
    error_message = nullable_string()


class WriteStateResult(Struct):
    topic_id   = uuid()
    partitions = array(PartitionResult)


class WriteShareGroupStateResponse(Response, key=85, versions="0-1", flexible="0+"):
    results = array(WriteStateResult)
