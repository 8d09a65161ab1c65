"""Groups of the consumer protocol (KIP-848) in __consumer_offsets.

A key begins with two bytes of record type, a value with two bytes of version. A null value deletes what the key names.
None of it is in 3.3, whose loader stops at these types. All have version 0 only. The tags of 3, 6 and 8 are not in 3.9.

     3  the group: its epoch; tag 0 a hash of the topics' metadata (KIP-1101)
     4  topics and partitions as the group last saw them; the hash in type 3 takes its place
     5  a member: what it subscribes to; tag 0 what it supports of the classic protocol, for online migration
     6  target assignment: its epoch; tag 0 when it was made
     7  target assignment of a member
     8  current assignment of a member, its epochs and state; tag 0 of a topic the epoch of each partition
    16  topics that a regular expression matched, and when; not in 3.9
"""

from odradek.protocol.declare import (
    Data,
    Struct,
    array,
    bytes_,
    int8,
    int32,
    int64,
    nullable_array,
    nullable_string,
    nullable_struct,
    string,
    uuid,
)


class ConsumerGroupMetadataKey(Data, key=3, versions="0"):
    group_id = string()


class ConsumerGroupMetadataValue(Data, key=3, versions="0", flexible="0+"):
    epoch         = int32()
    metadata_hash = int64(tag=0)


class ConsumerGroupPartitionMetadataKey(Data, key=4, versions="0"):
    group_id = string()


class PartitionMetadata(Struct):
    partition = int32()
    racks     = array(string())


class TopicMetadata(Struct):
    topic_id           = uuid()
    topic_name         = string()
    num_partitions     = int32()
    partition_metadata = array(PartitionMetadata)


class ConsumerGroupPartitionMetadataValue(Data, key=4, versions="0", flexible="0+"):
    topics = array(TopicMetadata)


class ConsumerGroupMemberMetadataKey(Data, key=5, versions="0"):
    group_id  = string()
    member_id = string()


class ClassicProtocol(Struct):
    name     = string()
    metadata = bytes_()


class ClassicMemberMetadata(Struct):
    session_timeout_ms  = int32()
    supported_protocols = array(ClassicProtocol)


class ConsumerGroupMemberMetadataValue(Data, key=5, versions="0", flexible="0+"):
    instance_id             = nullable_string(default="")
    rack_id                 = nullable_string(default="")
    client_id               = string()
    client_host             = string()
    subscribed_topic_names  = array(string())
    subscribed_topic_regex  = nullable_string(default="")
    rebalance_timeout_ms    = int32(default=-1)
    server_assignor         = nullable_string(default="")
    classic_member_metadata = nullable_struct(ClassicMemberMetadata, default=ClassicMemberMetadata, tag=0)


class ConsumerGroupTargetAssignmentMetadataKey(Data, key=6, versions="0"):
    group_id = string()


class ConsumerGroupTargetAssignmentMetadataValue(Data, key=6, versions="0", flexible="0+"):
    assignment_epoch     = int32()
    assignment_timestamp = int64(tag=0)


class ConsumerGroupTargetAssignmentMemberKey(Data, key=7, versions="0"):
    group_id  = string()
    member_id = string()


class TopicPartition(Struct):
    topic_id   = uuid()
    partitions = array(int32())


class ConsumerGroupTargetAssignmentMemberValue(Data, key=7, versions="0", flexible="0+"):
    topic_partitions = array(TopicPartition)


class ConsumerGroupCurrentMemberAssignmentKey(Data, key=8, versions="0"):
    group_id  = string()
    member_id = string()


class TopicPartitions(Struct):
    topic_id          = uuid()
    partitions        = array(int32())
    assignment_epochs = nullable_array(int32(), default=[], tag=0)


class ConsumerGroupCurrentMemberAssignmentValue(Data, key=8, versions="0", flexible="0+"):
    member_epoch                  = int32()
    previous_member_epoch         = int32()
    state                         = int8()
    assigned_partitions           = array(TopicPartitions)
    partitions_pending_revocation = array(TopicPartitions)


class ConsumerGroupRegularExpressionKey(Data, key=16, versions="0"):
    group_id           = string()
    regular_expression = string()


class ConsumerGroupRegularExpressionValue(Data, key=16, versions="0", flexible="0+"):
    topics    = array(string())
    version   = int64()
    timestamp = int64()
