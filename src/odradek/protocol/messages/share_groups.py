"""Share groups (KIP-932) in __consumer_offsets.

A key begins with two bytes of record type, a value with two bytes of version. A null value deletes what the key names.
None of it is in 3.3. All have version 0 only. The state of their partitions is in another topic, see `share_state.py`.

     9  topics and their state, in 3.9 only: 15 takes its place
    10  a member and what it subscribes to
    11  the group: its epoch and a hash of the topics' metadata (KIP-1101); 3.9 has version 0 without the hash
    12  target assignment: its epoch; tag 0 when it was made
    13  target assignment of a member
    14  current assignment of a member, its epochs and state
    15  topics whose share partitions are being set up, are ready, or are being deleted

Types 12-15 are not in 3.9.
"""

from odradek.protocol.declare import Data, Struct, array, int8, int32, int64, nullable_string, string, uuid


class ShareGroupPartitionMetadataKey(Data, key=9, versions="0"):
    group_id = string()


class TopicPartitionsInfo(Struct):
    topic_id   = uuid()
    topic_name = string()
    partitions = array(int32())


class TopicInfo(Struct):
    topic_id   = uuid()
    topic_name = string()


class ShareGroupPartitionMetadataValue(Data, key=9, versions="0", flexible="0+"):
    initialized_topics = array(TopicPartitionsInfo)
    deleting_topics    = array(TopicInfo)


class ShareGroupMemberMetadataKey(Data, key=10, versions="0"):
    group_id  = string()
    member_id = string()


class ShareGroupMemberMetadataValue(Data, key=10, versions="0", flexible="0+"):
    rack_id                = nullable_string(default="")
    client_id              = string()
    client_host            = string()
    subscribed_topic_names = array(string())


class ShareGroupMetadataKey(Data, key=11, versions="0"):
    group_id = string()


class ShareGroupMetadataValue(Data, key=11, versions="0", flexible="0+"):
    epoch         = int32()
    metadata_hash = int64()


class ShareGroupTargetAssignmentMetadataKey(Data, key=12, versions="0"):
    group_id = string()


class ShareGroupTargetAssignmentMetadataValue(Data, key=12, versions="0", flexible="0+"):
    assignment_epoch     = int32()
    assignment_timestamp = int64(tag=0)


class ShareGroupTargetAssignmentMemberKey(Data, key=13, versions="0"):
    group_id  = string()
    member_id = string()


class TopicPartition(Struct):
    topic_id   = uuid()
    partitions = array(int32())


class ShareGroupTargetAssignmentMemberValue(Data, key=13, versions="0", flexible="0+"):
    topic_partitions = array(TopicPartition)


class ShareGroupCurrentMemberAssignmentKey(Data, key=14, versions="0"):
    group_id  = string()
    member_id = string()


class TopicPartitions(Struct):
    topic_id   = uuid()
    partitions = array(int32())


class ShareGroupCurrentMemberAssignmentValue(Data, key=14, versions="0", flexible="0+"):
    member_epoch          = int32()
    previous_member_epoch = int32()
    state                 = int8()
    assigned_partitions   = array(TopicPartitions)


class ShareGroupStatePartitionMetadataKey(Data, key=15, versions="0"):
    group_id = string()


class ShareGroupStatePartitionMetadataValueTopicPartitionsInfo(Struct):
    topic_id   = uuid()
    topic_name = string()
    partitions = array(int32())


class ShareGroupStatePartitionMetadataValueTopicInfo(Struct):
    topic_id   = uuid()
    topic_name = string()


class ShareGroupStatePartitionMetadataValue(Data, key=15, versions="0", flexible="0+"):
    initializing_topics = array(ShareGroupStatePartitionMetadataValueTopicPartitionsInfo)
    initialized_topics  = array(ShareGroupStatePartitionMetadataValueTopicPartitionsInfo)
    deleting_topics     = array(ShareGroupStatePartitionMetadataValueTopicInfo)
