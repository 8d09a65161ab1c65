"""Classic groups and offsets in __consumer_offsets."""

from odradek.protocol.declare import Data, Struct, array, bytes_, int32, int64, nullable_string, string, uuid


class LegacyOffsetCommitKey(Data, key=0, versions="0"):
    group     = string()
    topic     = string()
    partition = int32()


class LegacyOffsetCommitValue(Data, key=0, versions="0"):
    offset           = int64()
    metadata         = string()
    commit_timestamp = int64()


class OffsetCommitKey(Data, key=1, versions="0"):
    group     = string()
    topic     = string()
    partition = int32()


class OffsetCommitValue(Data, key=1, versions="0-4", flexible="4+"):
    offset           = int64()
    leader_epoch     = int32("3+", default=-1, ignorable=True)
    metadata         = string()
    commit_timestamp = int64()
    expire_timestamp = int64("1", default=-1, ignorable=True)
    topic_id         = uuid("4+", tag=0, ignorable=True)


class GroupMetadataKey(Data, key=2, versions="0"):
    group = string()


class MemberMetadata(Struct):
    member_id         = string()
    group_instance_id = nullable_string("3+", ignorable=True)
    client_id         = string()
    client_host       = string()
    rebalance_timeout = int32("1+", default=-1, ignorable=True)
    session_timeout   = int32()
    subscription      = bytes_()
    assignment        = bytes_()


class GroupMetadataValue(Data, key=2, versions="0-4", flexible="4+"):
    protocol_type           = string()
    generation              = int32()
    protocol                = nullable_string(default="")
    leader                  = nullable_string(default="")
    current_state_timestamp = int64("2+", default=-1, ignorable=True)
    members                 = array(MemberMetadata)
