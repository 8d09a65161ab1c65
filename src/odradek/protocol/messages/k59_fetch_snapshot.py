"""FetchSnapshot, API key 59: a piece of a snapshot of the metadata log (KIP-630).

From followers and observers of the quorum to its leader, after a Fetch was answered with a snapshot id. A piece may
begin and end inside a batch.

Versions 0-1, flexible. Kafka 3.3 has 0, 3.9 and 4.3 0-1.
On controller listeners only.

     1  request: directory id of the fetching replica; response: endpoints of the leader (KIP-853)
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
    records_,
    string,
    struct,
    uint16,
    uuid,
)


class SnapshotId(Struct):
    end_offset = int64()
    epoch      = int32()


class PartitionSnapshot(Struct):
    partition            = int32()
    current_leader_epoch = int32()
    snapshot_id          = struct(SnapshotId)
    position             = int64()
    replica_directory_id = uuid("1+", tag=0, ignorable=True)


class TopicSnapshot(Struct):
    name       = string()
    partitions = array(PartitionSnapshot)


class FetchSnapshotRequest(Request, key=59, versions="0-1", flexible="0+"):
    replica_id = int32(default=-1)
    max_bytes  = int32(default=2147483647)
    topics     = array(TopicSnapshot)
    cluster_id = nullable_string(tag=0)


class FetchSnapshotResponseSnapshotId(Struct):
    end_offset = int64()
    epoch      = int32()


class LeaderIdAndEpoch(Struct):
    leader_id    = int32()
    leader_epoch = int32()


class FetchSnapshotResponsePartitionSnapshot(Struct):
    index             = int32()
    error_code        = int16()
    snapshot_id       = struct(FetchSnapshotResponseSnapshotId)
    size              = int64()
    position          = int64()
    unaligned_records = records_()
    current_leader    = struct(LeaderIdAndEpoch, tag=0)


class FetchSnapshotResponseTopicSnapshot(Struct):
    name       = string()
    partitions = array(FetchSnapshotResponsePartitionSnapshot)


class NodeEndpoint(Struct):
    node_id = int32()
    host    = string()
    port    = uint16()


class FetchSnapshotResponse(Response, key=59, versions="0-1", flexible="0+"):
    throttle_time_ms = int32()
    error_code       = int16()
    topics           = array(FetchSnapshotResponseTopicSnapshot)
    node_endpoints   = array(NodeEndpoint, "1+", tag=0)
