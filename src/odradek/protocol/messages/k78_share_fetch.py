"""ShareFetch, API key 78: a share consumer acquires records and acknowledges earlier ones (KIP-932).

To the leader of each partition. Session epoch 0 opens a session, -1 closes it. Acknowledge types: 0 gap, 1 accept,
2 release, 3 reject, 4 renew.

Versions 0-2, flexible. Not in Kafka 3.3; 3.9 has 0 (unstable), 4.3 1-2.

     1  request: number of records and batch size in the place of bytes per partition;
        response: acquisition lock timeout, and records are never null
     2  request: acquire mode (KIP-1206); acknowledge type renew and its flag (KIP-1222)
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
    records_,
    string,
    struct,
    uuid,
)


class AcknowledgementBatch(Struct):
    first_offset      = int64()
    last_offset       = int64()
    acknowledge_types = array(int8())


class FetchPartition(Struct):
    partition_index         = int32()
    partition_max_bytes     = int32("0")
    acknowledgement_batches = array(AcknowledgementBatch)


class FetchTopic(Struct):
    topic_id   = uuid()
    partitions = array(FetchPartition)


class ForgottenTopic(Struct):
    topic_id   = uuid()
    partitions = array(int32())


class ShareFetchRequest(Request, key=78, versions="0-2", flexible="0+"):
    group_id              = nullable_string()
    member_id             = nullable_string(default="")
    share_session_epoch   = int32()
    max_wait_ms           = int32()
    min_bytes             = int32()
    max_bytes             = int32(default=2147483647)
    max_records           = int32("1+")
    batch_size            = int32("1+")
    share_acquire_mode    = int8("2+", ignorable=True)
    is_renew_ack          = boolean("2+")
    topics                = array(FetchTopic)
    forgotten_topics_data = array(ForgottenTopic)


class LeaderIdAndEpoch(Struct):
    leader_id    = int32()
    leader_epoch = int32()


class AcquiredRecords(Struct):
    first_offset   = int64()
    last_offset    = int64()
    delivery_count = int16()


class PartitionData(Struct):
    partition_index           = int32()
    error_code                = int16()
    error_message             = nullable_string()
    acknowledge_error_code    = int16()
    acknowledge_error_message = nullable_string()
    current_leader            = struct(LeaderIdAndEpoch)
    records                   = records_(nullable="0")
    acquired_records          = array(AcquiredRecords)


class ShareFetchableTopicResponse(Struct):
    topic_id   = uuid()
    partitions = array(PartitionData)


class NodeEndpoint(Struct):
    node_id = int32()
    host    = string()
    port    = int32()
    rack    = nullable_string()


class ShareFetchResponse(Response, key=78, versions="0-2", flexible="0+"):
    throttle_time_ms            = int32()
    error_code                  = int16()
    error_message               = nullable_string()
    acquisition_lock_timeout_ms = int32("1+")
    responses                   = array(ShareFetchableTopicResponse)
    node_endpoints              = array(NodeEndpoint)
