"""ListOffsets, API key 2."""

from odradek.protocol.declare import Request, Response, Struct, array, int8, int16, int32, int64, string


class ListOffsetsPartition(Struct):
    partition_index      = int32()
    current_leader_epoch = int32("4+", default=-1, ignorable=True)
    timestamp            = int64()
    max_num_offsets      = int32("0", default=1)


class ListOffsetsTopic(Struct):
    name       = string()
    partitions = array(ListOffsetsPartition)


class ListOffsetsRequest(Request, key=2, versions="0-11", flexible="6+"):
    replica_id      = int32()
    isolation_level = int8("2+")
    topics          = array(ListOffsetsTopic)
    timeout_ms      = int32("10+", ignorable=True)


class ListOffsetsPartitionResponse(Struct):
    partition_index   = int32()
    error_code        = int16()
    old_style_offsets = array(int64(), "0")
    timestamp         = int64("1+", default=-1)
    offset            = int64("1+", default=-1)
    leader_epoch      = int32("4+", default=-1)


class ListOffsetsTopicResponse(Struct):
    name       = string()
    partitions = array(ListOffsetsPartitionResponse)


class ListOffsetsResponse(Response, key=2, versions="0-11", flexible="6+"):
    throttle_time_ms = int32("2+", ignorable=True)
    topics           = array(ListOffsetsTopicResponse)
