"""DeleteShareGroupState, API key 86: the group coordinator has the state of share partitions deleted (KIP-932).

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
    nullable_string,
    string,
    uuid,
)


class PartitionData(Struct):
    partition = int32()


class DeleteStateData(Struct):
    topic_id   = uuid()
    partitions = array(PartitionData)


class DeleteShareGroupStateRequest(Request, key=86, versions="0", flexible="0+"):
    group_id = string()
    topics   = array(DeleteStateData)


class PartitionResult(Struct):
    partition     = int32()
    error_code    = int16()
    error_message = nullable_string()


class DeleteStateResult(Struct):
    topic_id   = uuid()
    partitions = array(PartitionResult)


class DeleteShareGroupStateResponse(Response, key=86, versions="0", flexible="0+"):
    results = array(DeleteStateResult)
