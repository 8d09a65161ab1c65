"""Classic groups and offsets in __consumer_offsets.

A key begins with two bytes of record type, a value with two bytes of version; the types 0-2 are here, those of newer
groups in `consumer_groups.py`, `share_groups.py` and `streams_groups.py`. A null value deletes what the key names.
Kafka 3.x calls the type the key's version, to the same bytes.

Type 0, LegacyOffsetCommit: offsets as brokers wrote them in the beginning; read, no longer written.

Type 1, OffsetCommit: the offset of a group in one partition. Value versions 0-4, flexible from 4; 3.3 ends at 3 and
writes it, 4.3 writes 4.

     1  expire timestamp, only here: kept for commits that ask for a retention time of their own
     2  without it (KIP-211)
     3  leader epoch (KIP-320)
     4  flexible; topic id as a tagged field, which 3.9 does not have yet

Type 2, GroupMetadata: a group, its generation, members and assignment. Value versions 0-4, flexible from 4; 3.3 ends
at 3, and 3.3 and 4.3 write 3.

     1  rebalance timeout (KIP-62)
     2  time of the last change of state (KIP-211)
     3  group instance id (KIP-345)
     4  same fields in the flexible encoding
"""

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
