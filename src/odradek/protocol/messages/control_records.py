"""The bodies of control records: the keys and values in control batches of a log.

The key of a control record is two bytes of version and two bytes of type; the value depends on the type.

     0  abort marker of a transaction, EndTxnMarker (KIP-98); two bytes of version come first
     1  commit marker of a transaction, the same
     2  LeaderChangeMessage: a new leader of the metadata quorum (KIP-595); versions 0-1, 3.3 has 0
     3  SnapshotHeaderRecord, the first record of a snapshot (KIP-630)
     4  SnapshotFooterRecord, the last one
     5  KRaftVersionRecord: the finalized kraft.version (KIP-853), not in 3.3
     6  VotersRecord: the voters with directory ids and endpoints (KIP-853), not in 3.3

Version 1 of LeaderChangeMessage adds the directory ids of the voters (KIP-853); the rest has version 0 only. Types 2-6
carry their version in a field of their own, and are flexible; the markers are not.
"""

from odradek.protocol.declare import Data, Struct, array, int16, int32, int64, string, struct, uint16, uuid


class ControlRecordTypeSchema(Data, versions="0"):
    type = int16()


class EndTxnMarker(Data, versions="0"):
    coordinator_epoch = int32()


class Voter(Struct):
    voter_id           = int32()
    voter_directory_id = uuid("1+")


class LeaderChangeMessage(Data, versions="0-1", flexible="0+"):
    version         = int16()
    leader_id       = int32()
    voters          = array(Voter)
    granting_voters = array(Voter)


class SnapshotHeaderRecord(Data, versions="0", flexible="0+"):
    version                      = int16()
    last_contained_log_timestamp = int64()


class SnapshotFooterRecord(Data, versions="0", flexible="0+"):
    version = int16()


class KRaftVersionRecord(Data, versions="0", flexible="0+"):
    version        = int16()
    k_raft_version = int16()


class Endpoint(Struct):
    name = string()
    host = string()
    port = uint16()


class KRaftVersionFeature(Struct):
    min_supported_version = int16()
    max_supported_version = int16()


class VotersRecordVoter(Struct):
    voter_id               = int32()
    voter_directory_id     = uuid()
    endpoints              = array(Endpoint)
    k_raft_version_feature = struct(KRaftVersionFeature)


class VotersRecord(Data, versions="0", flexible="0+"):
    version = int16()
    voters  = array(VotersRecordVoter)
