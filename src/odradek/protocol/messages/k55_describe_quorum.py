"""DescribeQuorum, API key 55: the state of the metadata quorum: leader, voters and observers (KIP-595).

From admins; the leader of the quorum answers.

Versions 0-2, flexible. Kafka 3.3 has 0-1, 3.9 and 4.3 0-2.
On broker and controller listeners; a broker forwards it to the controller.

     1  response: when each replica last fetched and was last caught up (KIP-836)
     2  response: error messages, directory ids, listeners of the nodes (KIP-853)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    int64,
    nullable_string,
    string,
    uint16,
    uuid,
)


class PartitionData(Struct):
    partition_index = int32()


class TopicData(Struct):
    topic_name = string()
    partitions = array(PartitionData)


class DescribeQuorumRequest(Request, key=55, versions="0-2", flexible="0+"):
    topics = array(TopicData)


class ReplicaState(Struct):
    replica_id               = int32()
    replica_directory_id     = uuid("2+")
    log_end_offset           = int64()
    last_fetch_timestamp     = int64("1+", default=-1, ignorable=True)
    last_caught_up_timestamp = int64("1+", default=-1, ignorable=True)


class DescribeQuorumResponsePartitionData(Struct):
    partition_index = int32()
    error_code      = int16()
    error_message   = nullable_string("2+", default="", ignorable=True)
    leader_id       = int32()
    leader_epoch    = int32()
    high_watermark  = int64()
    current_voters  = array(ReplicaState)
    observers       = array(ReplicaState)


class DescribeQuorumResponseTopicData(Struct):
    topic_name = string()
    partitions = array(DescribeQuorumResponsePartitionData)


class Listener(Struct):
    name = string()
    host = string()
    port = uint16()


class Node(Struct):
    node_id   = int32()
    listeners = array(Listener)


class DescribeQuorumResponse(Response, key=55, versions="0-2", flexible="0+"):
    error_code    = int16()
    error_message = nullable_string("2+", default="", ignorable=True)
    topics        = array(DescribeQuorumResponseTopicData)
    nodes         = array(Node, "2+")
