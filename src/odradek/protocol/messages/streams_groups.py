"""Streams groups (KIP-1071) in __consumer_offsets.

A key begins with two bytes of record type, a value with two bytes of version. A null value deletes what the key names.
Neither in 3.3 nor in 3.9. All have version 0 only; type 18 is not in use.

    17  the group: its epoch and a hash of the topics' metadata; tags: validated topology epoch, assignment configs
    19  a member: process, endpoint, tags and topology epoch
    20  target assignment: its epoch; tag 0 when it was made
    21  target assignment of a member: active, standby and warm-up tasks
    22  current assignment of a member, its epochs and state; tag 0 of a subtopology the epoch of each partition
    23  the topology: subtopologies with their source, sink, changelog and repartition topics
"""

from odradek.protocol.declare import (
    Data,
    Struct,
    array,
    int8,
    int16,
    int32,
    int64,
    nullable_array,
    nullable_string,
    nullable_struct,
    string,
    uint16,
)


class StreamsGroupMetadataKey(Data, key=17, versions="0"):
    group_id = string()


class LastAssignmentConfig(Struct):
    key   = string()
    value = string()


class StreamsGroupMetadataValue(Data, key=17, versions="0", flexible="0+"):
    epoch                    = int32()
    metadata_hash            = int64()
    validated_topology_epoch = int32(default=-1, tag=0)
    last_assignment_configs  = nullable_array(LastAssignmentConfig, default=[], tag=1)


class StreamsGroupMemberMetadataKey(Data, key=19, versions="0"):
    group_id  = string()
    member_id = string()


class Endpoint(Struct):
    host = string()
    port = uint16()


class KeyValue(Struct):
    key   = string()
    value = string()


class StreamsGroupMemberMetadataValue(Data, key=19, versions="0", flexible="0+"):
    instance_id          = nullable_string(default="")
    rack_id              = nullable_string(default="")
    client_id            = string()
    client_host          = string()
    rebalance_timeout_ms = int32(default=-1)
    topology_epoch       = int32()
    process_id           = string()
    user_endpoint        = nullable_struct(Endpoint)
    client_tags          = array(KeyValue)


class StreamsGroupTargetAssignmentMetadataKey(Data, key=20, versions="0"):
    group_id = string()


class StreamsGroupTargetAssignmentMetadataValue(Data, key=20, versions="0", flexible="0+"):
    assignment_epoch     = int32()
    assignment_timestamp = int64(tag=0)


class StreamsGroupTargetAssignmentMemberKey(Data, key=21, versions="0"):
    group_id  = string()
    member_id = string()


class TaskIds(Struct):
    subtopology_id = string()
    partitions     = array(int32())


class StreamsGroupTargetAssignmentMemberValue(Data, key=21, versions="0", flexible="0+"):
    active_tasks  = array(TaskIds)
    standby_tasks = array(TaskIds)
    warmup_tasks  = array(TaskIds)


class StreamsGroupCurrentMemberAssignmentKey(Data, key=22, versions="0"):
    group_id  = string()
    member_id = string()


class StreamsGroupCurrentMemberAssignmentValueTaskIds(Struct):
    subtopology_id    = string()
    partitions        = array(int32())
    assignment_epochs = nullable_array(int32(), default=[], tag=0)


class StreamsGroupCurrentMemberAssignmentValue(Data, key=22, versions="0", flexible="0+"):
    member_epoch                     = int32()
    previous_member_epoch            = int32()
    state                            = int8()
    active_tasks                     = array(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    standby_tasks                    = array(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    warmup_tasks                     = array(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    active_tasks_pending_revocation  = array(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    standby_tasks_pending_revocation = array(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    warmup_tasks_pending_revocation  = array(StreamsGroupCurrentMemberAssignmentValueTaskIds)


class StreamsGroupTopologyKey(Data, key=23, versions="0"):
    group_id = string()


class TopicConfig(Struct):
    key   = string()
    value = string()


class TopicInfo(Struct):
    name               = string()
    partitions         = int32()
    replication_factor = int16()
    topic_configs      = array(TopicConfig)


class CopartitionGroup(Struct):
    source_topics             = array(int16())
    source_topic_regex        = array(int16())
    repartition_source_topics = array(int16())


class Subtopology(Struct):
    subtopology_id            = string()
    source_topics             = array(string())
    source_topic_regex        = array(string())
    state_changelog_topics    = array(TopicInfo)
    repartition_sink_topics   = array(string())
    repartition_source_topics = array(TopicInfo)
    copartition_groups        = array(CopartitionGroup)


class StreamsGroupTopologyValue(Data, key=23, versions="0", flexible="0+"):
    epoch         = int32()
    subtopologies = array(Subtopology)
