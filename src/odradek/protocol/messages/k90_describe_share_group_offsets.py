"""DescribeShareGroupOffsets, API key 90: start offsets of share groups, for admins (KIP-932).

Answered by the coordinator of each group. Null topics ask for all.

Versions 0-1, flexible. Neither in Kafka 3.3 nor in 3.9; 4.3 has 0-1.

     1  response: lag (KIP-1226)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    int64,
    nullable_array,
    nullable_string,
    string,
    uuid,
)


class DescribeShareGroupOffsetsRequestTopic(Struct):
    topic_name = string()
    partitions = array(int32())


class DescribeShareGroupOffsetsRequestGroup(Struct):
    group_id = string()
    topics   = nullable_array(DescribeShareGroupOffsetsRequestTopic, default=[])


class DescribeShareGroupOffsetsRequest(Request, key=90, versions="0-1", flexible="0+"):
    groups = array(DescribeShareGroupOffsetsRequestGroup)


class DescribeShareGroupOffsetsResponsePartition(Struct):
    partition_index = int32()
    start_offset    = int64()
    leader_epoch    = int32()
    lag             = int64("1+", default=-1, ignorable=True)
    error_code      = int16()
    error_message   = nullable_string()


class DescribeShareGroupOffsetsResponseTopic(Struct):
    topic_name = string()
    topic_id   = uuid()
    partitions = array(DescribeShareGroupOffsetsResponsePartition)


class DescribeShareGroupOffsetsResponseGroup(Struct):
    group_id      = string()
    topics        = array(DescribeShareGroupOffsetsResponseTopic)
    error_code    = int16()
    error_message = nullable_string()


class DescribeShareGroupOffsetsResponse(Response, key=90, versions="0-1", flexible="0+"):
    throttle_time_ms = int32()
    groups           = array(DescribeShareGroupOffsetsResponseGroup)
