"""ShareAcknowledge, API key 79: a share consumer acknowledges records without fetching more (KIP-932).

To the leader of each partition. Acknowledge types as in ShareFetch.

Versions 0-2, flexible. Not in Kafka 3.3; 3.9 has 0 (unstable), 4.3 1-2.

     1  same fields; the first stable version
     2  acknowledge type renew and its flag; response: acquisition lock timeout (KIP-1222)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    nullable_string,
    string,
    struct,
    uuid,
)


class AcknowledgementBatch(Struct):
    first_offset      = int64()
    last_offset       = int64()
    acknowledge_types = array(int8())


class AcknowledgePartition(Struct):
    partition_index         = int32()
    acknowledgement_batches = array(AcknowledgementBatch)


class AcknowledgeTopic(Struct):
    topic_id   = uuid()
    partitions = array(AcknowledgePartition)


class ShareAcknowledgeRequest(Request, key=79, versions="0-2", flexible="0+"):
    group_id            = nullable_string()
    member_id           = nullable_string(default="")
    share_session_epoch = int32()
    is_renew_ack        = boolean("2+")
    topics              = array(AcknowledgeTopic)


class LeaderIdAndEpoch(Struct):
    leader_id    = int32()
    leader_epoch = int32()


class PartitionData(Struct):
    partition_index = int32()
    error_code      = int16()
    error_message   = nullable_string()
    current_leader  = struct(LeaderIdAndEpoch)


class ShareAcknowledgeTopicResponse(Struct):
    topic_id   = uuid()
    partitions = array(PartitionData)


class NodeEndpoint(Struct):
    node_id = int32()
    host    = string()
    port    = int32()
    rack    = nullable_string()


class ShareAcknowledgeResponse(Response, key=79, versions="0-2", flexible="0+"):
    throttle_time_ms            = int32()
    error_code                  = int16()
    error_message               = nullable_string()
    acquisition_lock_timeout_ms = int32("2+", ignorable=True)
    responses                   = array(ShareAcknowledgeTopicResponse)
    node_endpoints              = array(NodeEndpoint)
