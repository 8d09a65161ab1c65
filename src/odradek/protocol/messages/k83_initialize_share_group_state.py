"""InitializeShareGroupState, API key 83: the group coordinator has the state of new share partitions set up (KIP-932).

To the share coordinator; needs CLUSTER_ACTION.

Version 0, flexible. Not in Kafka 3.3; 3.9 has 0 (unstable), 4.3 0.
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
    state_epoch  = int32()
    start_offset = int64()


class InitializeStateData(Struct):
    topic_id   = uuid()
    partitions = array(PartitionData)


class InitializeShareGroupStateRequest(Request, key=83, versions="0", flexible="0+"):
    group_id = string()
    topics   = array(InitializeStateData)


class PartitionResult(Struct):
    partition     = int32()
    error_code    = int16()
    error_message = nullable_string()


class InitializeStateResult(Struct):
    topic_id   = uuid()
    partitions = array(PartitionResult)


class InitializeShareGroupStateResponse(Response, key=83, versions="0", flexible="0+"):
    results = array(InitializeStateResult)
