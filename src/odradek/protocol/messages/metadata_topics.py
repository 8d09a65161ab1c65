"""Topics, partitions and configs in the KRaft metadata log."""

from odradek.protocol.declare import Data, array, int8, int32, nullable_array, nullable_string, string, uuid


class TopicRecord(Data, key=2, versions="0", flexible="0+"):
    name     = string()
    topic_id = uuid()


class PartitionRecord(Data, key=3, versions="0-2", flexible="0+"):
    partition_id             = int32(default=-1)
    topic_id                 = uuid()
    replicas                 = array(int32())
    isr                      = array(int32())
    removing_replicas        = array(int32())
    adding_replicas          = array(int32())
    leader                   = int32(default=-1)
    leader_epoch             = int32(default=-1)
    partition_epoch          = int32(default=-1)
    directories              = array(uuid(), "1+")
    leader_recovery_state    = int8(tag=0)
    eligible_leader_replicas = nullable_array(int32(), "2+", tag=1)
    last_known_elr           = nullable_array(int32(), "2+", tag=2)


class ConfigRecord(Data, key=4, versions="0", flexible="0+"):
    resource_type = int8()
    resource_name = string()
    name          = string()
    value         = nullable_string(default="")


class PartitionChangeRecord(Data, key=5, versions="0-2", flexible="0+"):
    partition_id             = int32(default=-1)
    topic_id                 = uuid()
    isr                      = nullable_array(int32(), tag=0)
    leader                   = int32(default=-2, tag=1)
    replicas                 = nullable_array(int32(), tag=2)
    removing_replicas        = nullable_array(int32(), tag=3)
    adding_replicas          = nullable_array(int32(), tag=4)
    leader_recovery_state    = int8(default=-1, tag=5)
    eligible_leader_replicas = nullable_array(int32(), "2+", tag=6)
    last_known_elr           = nullable_array(int32(), "2+", tag=7)
    directories              = nullable_array(uuid(), "1+", tag=8)


class RemoveTopicRecord(Data, key=9, versions="0", flexible="0+"):
    topic_id = uuid()


class ClearElrRecord(Data, key=28, versions="0", flexible="0+"):
    topic_name = string()
