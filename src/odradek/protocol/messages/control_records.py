"""The bodies of control records."""

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
