"""OffsetCommit, API key 8."""

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


class OffsetCommitRequestPartition(Struct):
    partition_index        = int32()
    committed_offset       = int64()
    commit_timestamp       = int64("1", default=-1)
    committed_leader_epoch = int32("6+", default=-1, ignorable=True)
    committed_metadata     = nullable_string(default="")


class OffsetCommitRequestTopic(Struct):
    name       = string("0-9", ignorable=True)
    topic_id   = uuid("10+", ignorable=True)
    partitions = array(OffsetCommitRequestPartition)


class OffsetCommitRequest(Request, key=8, versions="0-10", flexible="8+"):
    group_id                      = string()
    generation_id_or_member_epoch = int32("1+", default=-1, ignorable=True)
    member_id                     = string("1+", ignorable=True)
    retention_time_ms             = int64("2-4", default=-1, ignorable=True)
    group_instance_id             = nullable_string("7+")
    topics                        = array(OffsetCommitRequestTopic)


class OffsetCommitResponsePartition(Struct):
    partition_index = int32()
    error_code      = int16()


class OffsetCommitResponseTopic(Struct):
    name       = string("0-9", ignorable=True)
    topic_id   = uuid("10+", ignorable=True)
    partitions = array(OffsetCommitResponsePartition)


class OffsetCommitResponse(Response, key=8, versions="0-10", flexible="8+"):
    throttle_time_ms = int32("3+", ignorable=True)
    topics           = array(OffsetCommitResponseTopic)
