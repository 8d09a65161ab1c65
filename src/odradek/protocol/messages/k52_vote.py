"""Vote, API key 52."""

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
