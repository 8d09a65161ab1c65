"""Vote, API key 52: a candidate asks a voter of the metadata quorum for its vote (KIP-595).

Only between controllers; needs CLUSTER_ACTION. Until 3.9 the fields replica_* were called candidate_*.

Versions 0-2, flexible. Kafka 3.3 has 0, 3.9 0-1, 4.3 0-2.
On controller listeners only.

     1  voter id, directory ids of candidate and voter; response: endpoints of the leader (KIP-853)
     2  request: pre-vote, to ask without raising the epoch (KIP-996)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
    nullable_string,
    string,
    uint16,
    uuid,
)


class PartitionData(Struct):
    partition_index      = int32()
    replica_epoch        = int32()
    replica_id           = int32()
    replica_directory_id = uuid("1+", ignorable=True)
    voter_directory_id   = uuid("1+", ignorable=True)
    last_offset_epoch    = int32()
    last_offset          = int64()
    pre_vote             = boolean("2+")


class TopicData(Struct):
    topic_name = string()
    partitions = array(PartitionData)


class VoteRequest(Request, key=52, versions="0-2", flexible="0+"):
    cluster_id = nullable_string()
    voter_id   = int32("1+", default=-1, ignorable=True)
    topics     = array(TopicData)


class VoteResponsePartitionData(Struct):
    partition_index = int32()
    error_code      = int16()
    leader_id       = int32()
    leader_epoch    = int32()
    vote_granted    = boolean()


class VoteResponseTopicData(Struct):
    topic_name = string()
    partitions = array(VoteResponsePartitionData)


class NodeEndpoint(Struct):
    node_id = int32()
    host    = string()
    port    = uint16()


class VoteResponse(Response, key=52, versions="0-2", flexible="0+"):
    error_code     = int16()
    topics         = array(VoteResponseTopicData)
    node_endpoints = array(NodeEndpoint, "1+", tag=0)
