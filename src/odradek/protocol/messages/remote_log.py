"""Tiered storage (KIP-405): segments in the topic __remote_log_metadata.

A record is framed by varints, record type and record version. All have version 0 only and are flexible. After 3.3, and
under the same version, came the custom metadata of the storage plugin (KIP-917), in 0, 1 and 3, and whether the
transaction index is empty (KIP-1058), in 0 and 3.

     0  RemoteLogSegmentMetadataRecord: a segment whose copy begins
     1  RemoteLogSegmentMetadataUpdateRecord: a segment in a new state
     2  RemotePartitionDeleteMetadataRecord: the remote data of a partition that is being deleted
     3  RemoteLogSegmentMetadataSnapshotRecord: a segment without its partition, for snapshots of one partition

Segment states: 0 copy started, 1 copy finished, 2 delete started, 3 delete finished. Partition states: 0 marked,
1 delete started, 2 delete finished.
"""

from odradek.protocol.declare import (
    Data,
    Struct,
    array,
    boolean,
    int8,
    int32,
    int64,
    nullable_bytes,
    string,
    struct,
    uuid,
)


class TopicIdPartitionEntry(Struct):
    name      = string()
    id        = uuid()
    partition = int32()


class RemoteLogSegmentIdEntry(Struct):
    topic_id_partition = struct(TopicIdPartitionEntry)
    id                 = uuid()


class SegmentLeaderEpochEntry(Struct):
    leader_epoch = int32()
    offset       = int64()


class RemoteLogSegmentMetadataRecord(Data, key=0, versions="0", flexible="0+"):
    remote_log_segment_id    = struct(RemoteLogSegmentIdEntry)
    start_offset             = int64()
    end_offset               = int64()
    broker_id                = int32()
    max_timestamp_ms         = int64()
    event_timestamp_ms       = int64()
    segment_leader_epochs    = array(SegmentLeaderEpochEntry)
    segment_size_in_bytes    = int32()
    custom_metadata          = nullable_bytes()
    remote_log_segment_state = int8()
    txn_index_empty          = boolean(tag=0)


class RemoteLogSegmentMetadataUpdateRecordTopicIdPartitionEntry(Struct):
    name      = string()
    id        = uuid()
    partition = int32()


class RemoteLogSegmentMetadataUpdateRecordRemoteLogSegmentIdEntry(Struct):
    topic_id_partition = struct(RemoteLogSegmentMetadataUpdateRecordTopicIdPartitionEntry)
    id                 = uuid()


class RemoteLogSegmentMetadataUpdateRecord(Data, key=1, versions="0", flexible="0+"):
    remote_log_segment_id    = struct(RemoteLogSegmentMetadataUpdateRecordRemoteLogSegmentIdEntry)
    broker_id                = int32()
    event_timestamp_ms       = int64()
    custom_metadata          = nullable_bytes()
    remote_log_segment_state = int8()


class RemotePartitionDeleteMetadataRecordTopicIdPartitionEntry(Struct):
    name      = string()
    id        = uuid()
    partition = int32()


class RemotePartitionDeleteMetadataRecord(Data, key=2, versions="0", flexible="0+"):
    topic_id_partition            = struct(RemotePartitionDeleteMetadataRecordTopicIdPartitionEntry)
    broker_id                     = int32()
    event_timestamp_ms            = int64()
    remote_partition_delete_state = int8()


class RemoteLogSegmentMetadataSnapshotRecordSegmentLeaderEpochEntry(Struct):
    leader_epoch = int32()
    offset       = int64()


class RemoteLogSegmentMetadataSnapshotRecord(Data, key=3, versions="0", flexible="0+"):
    segment_id               = uuid()
    start_offset             = int64()
    end_offset               = int64()
    broker_id                = int32()
    max_timestamp_ms         = int64()
    event_timestamp_ms       = int64()
    segment_leader_epochs    = array(RemoteLogSegmentMetadataSnapshotRecordSegmentLeaderEpochEntry)
    segment_size_in_bytes    = int32()
    custom_metadata          = nullable_bytes()
    remote_log_segment_state = int8()
    txn_index_empty          = boolean(tag=0)
