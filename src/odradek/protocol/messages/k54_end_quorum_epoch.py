"""EndQuorumEpoch, API key 54: a leader of the metadata quorum resigns and names its preferred successors (KIP-595).

Only between controllers; needs CLUSTER_ACTION.

Versions 0-1, flexible from 1. Kafka 3.3 has 0, 3.9 and 4.3 0-1.
On controller listeners only.

     1  flexible; request: successors with directory ids, endpoints of the leader; response: endpoints (KIP-853)
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
    uint16,
    uuid,
)


class ReplicaInfo(Struct):
    candidate_id           = int32()
    candidate_directory_id = uuid()


class PartitionData(Struct):
    partition_index      = int32()
    leader_id            = int32()
    leader_epoch         = int32()
    preferred_successors = array(int32(), "0", ignorable=True)
    preferred_candidates = array(ReplicaInfo, "1+", ignorable=True)


class TopicData(Struct):
    topic_name = string()
    partitions = array(PartitionData)


class LeaderEndpoint(Struct):
    name = string()
    host = string()
    port = uint16()


class EndQuorumEpochRequest(Request, key=54, versions="0-1", flexible="1+"):
    cluster_id       = nullable_string()
    topics           = array(TopicData)
    leader_endpoints = array(LeaderEndpoint, "1+", ignorable=True)


class EndQuorumEpochResponsePartitionData(Struct):
    partition_index = int32()
    error_code      = int16()
    leader_id       = int32()
    leader_epoch    = int32()


class EndQuorumEpochResponseTopicData(Struct):
    topic_name = string()
    partitions = array(EndQuorumEpochResponsePartitionData)


class NodeEndpoint(Struct):
    node_id = int32()
    host    = string()
    port    = uint16()


class EndQuorumEpochResponse(Response, key=54, versions="0-1", flexible="1+"):
    error_code     = int16()
    topics         = array(EndQuorumEpochResponseTopicData)
    node_endpoints = array(NodeEndpoint, "1+", tag=0)
