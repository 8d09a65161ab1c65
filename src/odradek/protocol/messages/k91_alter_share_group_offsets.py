"""AlterShareGroupOffsets, API key 91: an admin sets the start offsets of a share group (KIP-932).

To the group coordinator; the group must be empty.

Version 0, flexible. Neither in Kafka 3.3 nor in 3.9; 4.3 has 0.
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


class AlterShareGroupOffsetsRequestPartition(Struct):
    partition_index = int32()
    start_offset    = int64()


class AlterShareGroupOffsetsRequestTopic(Struct):
    topic_name = string()
    partitions = array(AlterShareGroupOffsetsRequestPartition)


class AlterShareGroupOffsetsRequest(Request, key=91, versions="0", flexible="0+"):
    group_id = string()
    topics   = array(AlterShareGroupOffsetsRequestTopic)


class AlterShareGroupOffsetsResponsePartition(Struct):
    partition_index = int32()
    error_code      = int16()
    error_message   = nullable_string()


class AlterShareGroupOffsetsResponseTopic(Struct):
    topic_name = string()
    topic_id   = uuid()
    partitions = array(AlterShareGroupOffsetsResponsePartition)


class AlterShareGroupOffsetsResponse(Response, key=91, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code       = int16()
    error_message    = nullable_string()
    responses        = array(AlterShareGroupOffsetsResponseTopic)
