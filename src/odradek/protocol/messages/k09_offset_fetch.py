"""OffsetFetch, API key 9."""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
    nullable_array,
    nullable_string,
    string,
    uuid,
)


class OffsetFetchRequestTopics(Struct):
    name              = string("8-9", ignorable=True)
    topic_id          = uuid("10+", ignorable=True)
    partition_indexes = array(int32())


class OffsetFetchRequestGroup(Struct):
    group_id     = string()
    member_id    = nullable_string("9+", ignorable=True)
    member_epoch = int32("9+", default=-1, ignorable=True)
    topics       = nullable_array(OffsetFetchRequestTopics, default=[])


class OffsetFetchRequestTopic(Struct):
    name              = string()
    partition_indexes = array(int32())


class OffsetFetchRequest(Request, key=9, versions="0-10", flexible="6+"):
    groups         = array(OffsetFetchRequestGroup, "8+")
    group_id       = string("0-7")
    topics         = nullable_array(OffsetFetchRequestTopic, "0-7", nullable="2+", default=[])
    require_stable = boolean("7+")


class OffsetFetchResponsePartitions(Struct):
    partition_index        = int32()
    committed_offset       = int64()
    committed_leader_epoch = int32(default=-1)
    metadata               = nullable_string(default="")
    error_code             = int16()


class OffsetFetchResponseTopics(Struct):
    name       = string("8-9", ignorable=True)
    topic_id   = uuid("10+", ignorable=True)
    partitions = array(OffsetFetchResponsePartitions)


class OffsetFetchResponseGroup(Struct):
    group_id   = string()
    topics     = array(OffsetFetchResponseTopics)
    error_code = int16()


class OffsetFetchResponsePartition(Struct):
    partition_index        = int32()
    committed_offset       = int64()
    committed_leader_epoch = int32("5+", default=-1, ignorable=True)
    metadata               = nullable_string(default="")
    error_code             = int16()


class OffsetFetchResponseTopic(Struct):
    name       = string()
    partitions = array(OffsetFetchResponsePartition)


class OffsetFetchResponse(Response, key=9, versions="0-10", flexible="6+"):
    throttle_time_ms = int32("3+", ignorable=True)
    groups           = array(OffsetFetchResponseGroup, "8+")
    topics           = array(OffsetFetchResponseTopic, "0-7")
    error_code       = int16("2-7", ignorable=True)
