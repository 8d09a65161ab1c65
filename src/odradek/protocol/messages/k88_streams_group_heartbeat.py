"""StreamsGroupHeartbeat, API key 88: a member of a streams group joins, stays, reconciles tasks and leaves (KIP-1071).

To the group coordinator, which keeps the topology and assigns tasks. Member epoch 0 joins, -1 leaves. Null fields
have not changed since the last heartbeat.

Version 0, flexible. Neither in Kafka 3.3 nor in 3.9; 4.3 has 0.
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
    nullable_array,
    nullable_string,
    nullable_struct,
    string,
    struct,
    uint16,
)


class KeyValue(Struct):
    key   = string()
    value = string()


class TopicInfo(Struct):
    name               = string()
    partitions         = int32()
    replication_factor = int16()
    topic_configs      = array(KeyValue)


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


class Topology(Struct):
    epoch         = int32()
    subtopologies = array(Subtopology)


class TaskIds(Struct):
    subtopology_id = string()
    partitions     = array(int32())


class Endpoint(Struct):
    host = string()
    port = uint16()


class TaskOffset(Struct):
    subtopology_id = string()
    partition      = int32()
    offset         = int64()


class StreamsGroupHeartbeatRequest(Request, key=88, versions="0", flexible="0+"):
    group_id                   = string()
    member_id                  = string()
    member_epoch               = int32()
    endpoint_information_epoch = int32()
    instance_id                = nullable_string()
    rack_id                    = nullable_string()
    rebalance_timeout_ms       = int32(default=-1)
    topology                   = nullable_struct(Topology)
    active_tasks               = nullable_array(TaskIds)
    standby_tasks              = nullable_array(TaskIds)
    warmup_tasks               = nullable_array(TaskIds)
    process_id                 = nullable_string()
    user_endpoint              = nullable_struct(Endpoint)
    client_tags                = nullable_array(KeyValue)
    task_offsets               = nullable_array(TaskOffset)
    task_end_offsets           = nullable_array(TaskOffset)
    shutdown_application       = boolean()


class Status(Struct):
    status_code   = int8()
    status_detail = string()


class StreamsGroupHeartbeatResponseTaskIds(Struct):
    subtopology_id = string()
    partitions     = array(int32())


class StreamsGroupHeartbeatResponseEndpoint(Struct):
    host = string()
    port = uint16()


class TopicPartition(Struct):
    topic      = string()
    partitions = array(int32())


class EndpointToPartitions(Struct):
    user_endpoint      = struct(StreamsGroupHeartbeatResponseEndpoint)
    active_partitions  = array(TopicPartition)
    standby_partitions = array(TopicPartition)


class StreamsGroupHeartbeatResponse(Response, key=88, versions="0", flexible="0+"):
    throttle_time_ms            = int32()
    error_code                  = int16()
    error_message               = nullable_string()
    member_id                   = string()
    member_epoch                = int32()
    heartbeat_interval_ms       = int32()
    acceptable_recovery_lag     = int32()
    task_offset_interval_ms     = int32()
    status                      = nullable_array(Status, default=[])
    active_tasks                = nullable_array(StreamsGroupHeartbeatResponseTaskIds)
    standby_tasks               = nullable_array(StreamsGroupHeartbeatResponseTaskIds)
    warmup_tasks                = nullable_array(StreamsGroupHeartbeatResponseTaskIds)
    endpoint_information_epoch  = int32()
    partitions_by_user_endpoint = nullable_array(EndpointToPartitions)
