"""BeginQuorumEpoch, API key 53: a new leader of the metadata quorum announces itself to the voters (KIP-595).

Only between controllers; needs CLUSTER_ACTION.

Versions 0-1, flexible from 1. Kafka 3.3 has 0, 3.9 and 4.3 0-1.
On controller listeners only.

     1  flexible; request: voter id and directory id, endpoints of the leader; response: endpoints (KIP-853)
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


class PartitionData(Struct):
    partition_index    = int32()
    voter_directory_id = uuid("1+", ignorable=True)
    leader_id          = int32()
    leader_epoch       = int32()


class TopicData(Struct):
    topic_name = string()
    partitions = array(PartitionData)


class LeaderEndpoint(Struct):
    name = string()
    host = string()
    port = uint16()


class BeginQuorumEpochRequest(Request, key=53, versions="0-1", flexible="1+"):
    cluster_id       = nullable_string()
    voter_id         = int32("1+", default=-1, ignorable=True)
    topics           = array(TopicData)
    leader_endpoints = array(LeaderEndpoint, "1+", ignorable=True)


class BeginQuorumEpochResponsePartitionData(Struct):
    partition_index = int32()
    error_code      = int16()
    leader_id       = int32()
    leader_epoch    = int32()


class BeginQuorumEpochResponseTopicData(Struct):
    topic_name = string()
    partitions = array(BeginQuorumEpochResponsePartitionData)


class NodeEndpoint(Struct):
    node_id = int32()
    host    = string()
    port    = uint16()


class BeginQuorumEpochResponse(Response, key=53, versions="0-1", flexible="1+"):
    error_code     = int16()
    topics         = array(BeginQuorumEpochResponseTopicData)
    node_endpoints = array(NodeEndpoint, "1+", tag=0)
