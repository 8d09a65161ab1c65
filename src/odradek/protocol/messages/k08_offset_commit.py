"""OffsetCommit, API key 8: a group stores how far it has read.

From a member, or from an admin for an empty group, to the group coordinator. Version 0 kept offsets in ZooKeeper.

Versions 0-10, flexible from 8. Kafka 3.3 has 0-8, 3.9 0-9, 4.3 2-10. 4.0 dropped 0-1 (KIP-896).

     1  offsets are kept in __consumer_offsets; generation and member id; commit timestamp per partition (only in 1)
     2  request: retention time for all offsets in the place of the timestamp
     3  throttle time in the response
     4  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     5  retention time is gone, the broker's config decides (KIP-211)
     6  request: leader epoch (KIP-320)
     7  request: group instance id (KIP-345)
     8  same fields in the flexible encoding (KIP-482)
     9  same fields; the generation may be a member epoch, STALE_MEMBER_EPOCH may be answered (KIP-848)
    10  topic ids in the place of names (KIP-848)
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
