"""UpdateRaftVoter, API key 82: a voter tells the leader of the quorum its endpoints and kraft.version range (KIP-853).

Version 0, flexible. Not in Kafka 3.3; 3.9 and 4.3 have 0.
On controller listeners only.
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    nullable_string,
    string,
    struct,
    uint16,
    uuid,
)


class Listener(Struct):
    name = string()
    host = string()
    port = uint16()


class KRaftVersionFeature(Struct):
    min_supported_version = int16()
    max_supported_version = int16()


class UpdateRaftVoterRequest(Request, key=82, versions="0", flexible="0+"):
    cluster_id             = nullable_string(default="")
    current_leader_epoch   = int32()
    voter_id               = int32()
    voter_directory_id     = uuid()
    listeners              = array(Listener)
    k_raft_version_feature = struct(KRaftVersionFeature)


class CurrentLeader(Struct):
    leader_id    = int32(default=-1)
    leader_epoch = int32(default=-1)
    host         = string()
    port         = int32()


class UpdateRaftVoterResponse(Response, key=82, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code       = int16()
    current_leader   = struct(CurrentLeader, tag=0)
