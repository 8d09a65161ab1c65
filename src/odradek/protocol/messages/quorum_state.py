"""The file quorum-state: the epoch and the vote of a replica of the metadata quorum (KIP-595).

Stored as JSON, the version in the field data_version; never sent. Versions 0-1, flexible; 3.3 has 0.

     1  directory id of the candidate voted for; cluster id, applied offset and the voters are gone (KIP-853)
"""

from odradek.protocol.declare import Data, Struct, int32, int64, nullable_array, string, uuid


class Voter(Struct):
    voter_id = int32()


class QuorumStateData(Data, versions="0-1", flexible="0+"):
    cluster_id         = string("0")
    leader_id          = int32(default=-1)
    leader_epoch       = int32(default=-1)
    voted_id           = int32(default=-1)
    voted_directory_id = uuid("1+")
    applied_offset     = int64("0")
    current_voters     = nullable_array(Voter, "0", default=[])
