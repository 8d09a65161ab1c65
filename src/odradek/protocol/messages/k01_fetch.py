"""Fetch, API key 1: record data for consumers, for followers, and for the replicas of the metadata quorum.

Answered by the leader; from version 11 on it may send a consumer to a follower. The answer waits until min_bytes are
there or max_wait_ms are over.

Versions 0-18, flexible from 12. Kafka 3.3 has 0-13, 3.9 0-17, 4.3 4-18. 4.0 dropped 0-3 (KIP-896).
On broker and controller listeners.

     1  throttle time in the response
     2  same fields; batches of magic 1 may be answered (KIP-32)
     3  a limit for the whole response; the order of the partitions counts (KIP-74)
     4  batches of magic 2; isolation level; last stable offset and aborted transactions (KIP-98)
     5  log start offset, the follower's in the request, the leader's in the response (KIP-107)
     6  same fields; KAFKA_STORAGE_ERROR may be answered (KIP-112)
     7  incremental sessions: session id and epoch, forgotten topics, an error for the whole response (KIP-227)
     8  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     9  request: current leader epoch, for fencing (KIP-320)
    10  same fields; batches in zstd may be answered (KIP-110)
    11  rack of the consumer, preferred read replica (KIP-392)
    12  flexible; last fetched and diverging epoch, current leader, cluster id (KIP-595), snapshot id (KIP-630)
    13  topic ids in the place of names (KIP-516)
    14  same fields; a follower may be told OFFSET_MOVED_TO_TIERED_STORAGE (KIP-405)
    15  request: replica id and replica epoch as a tagged struct in the place of replica_id (KIP-903)
    16  response: endpoints of the nodes that current leaders name (KIP-951)
    17  request: directory id of the fetching replica (KIP-853)
    18  request: high watermark of the fetching replica (KIP-1166)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    int8,
    int16,
    int32,
    int64,
    nullable_array,
    nullable_string,
    records_,
    string,
    struct,
    uuid,
)


class FetchPartition(Struct):
    partition            = int32()
    current_leader_epoch = int32("9+", default=-1, ignorable=True)
    fetch_offset         = int64()
    last_fetched_epoch   = int32("12+", default=-1)
    log_start_offset     = int64("5+", default=-1, ignorable=True)
    partition_max_bytes  = int32()
    replica_directory_id = uuid("17+", tag=0, ignorable=True)
    high_watermark       = int64("18+", default=9223372036854775807, tag=1, ignorable=True)


class FetchTopic(Struct):
    topic      = string("0-12", ignorable=True)
    topic_id   = uuid("13+", ignorable=True)
    partitions = array(FetchPartition)


class ForgottenTopic(Struct):
    topic      = string("7-12", ignorable=True)
    topic_id   = uuid("13+", ignorable=True)
    partitions = array(int32())


class ReplicaState(Struct):
    replica_id    = int32(default=-1)
    replica_epoch = int64(default=-1)


class FetchRequest(Request, key=1, versions="0-18", flexible="12+"):
    replica_id            = int32("0-14", default=-1)
    max_wait_ms           = int32()
    min_bytes             = int32()
    max_bytes             = int32("3+", default=2147483647, ignorable=True)
    isolation_level       = int8("4+", ignorable=True)
    session_id            = int32("7+", ignorable=True)
    session_epoch         = int32("7+", default=-1, ignorable=True)
    topics                = array(FetchTopic)
    forgotten_topics_data = array(ForgottenTopic, "7+")
    rack_id               = string("11+", ignorable=True)
    cluster_id            = nullable_string("12+", tag=0, ignorable=True)
    replica_state         = struct(ReplicaState, "15+", tag=1)


class AbortedTransaction(Struct):
    producer_id  = int64()
    first_offset = int64()


class EpochEndOffset(Struct):
    epoch      = int32(default=-1)
    end_offset = int64(default=-1)


class LeaderIdAndEpoch(Struct):
    leader_id    = int32(default=-1)
    leader_epoch = int32(default=-1)


class SnapshotId(Struct):
    end_offset = int64(default=-1)
    epoch      = int32(default=-1)


class PartitionData(Struct):
    partition_index        = int32()
    error_code             = int16()
    high_watermark         = int64()
    last_stable_offset     = int64("4+", default=-1, ignorable=True)
    log_start_offset       = int64("5+", default=-1, ignorable=True)
    aborted_transactions   = nullable_array(AbortedTransaction, "4+", default=[], ignorable=True)
    preferred_read_replica = int32("11+", default=-1)
    records                = records_(nullable="")
    diverging_epoch        = struct(EpochEndOffset, "12+", tag=0)
    current_leader         = struct(LeaderIdAndEpoch, "12+", tag=1)
    snapshot_id            = struct(SnapshotId, "12+", tag=2)


class FetchableTopicResponse(Struct):
    topic      = string("0-12", ignorable=True)
    topic_id   = uuid("13+", ignorable=True)
    partitions = array(PartitionData)


class NodeEndpoint(Struct):
    node_id = int32()
    host    = string()
    port    = int32()
    rack    = nullable_string()


class FetchResponse(Response, key=1, versions="0-18", flexible="12+"):
    throttle_time_ms = int32("1+", ignorable=True)
    error_code       = int16("7+", ignorable=True)
    session_id       = int32("7+")
    responses        = array(FetchableTopicResponse)
    node_endpoints   = array(NodeEndpoint, "16+", tag=0)
