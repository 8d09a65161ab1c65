"""Topics, partitions and configs in the KRaft metadata log, __cluster_metadata (KIP-631).

A record is framed by varints: frame version 1, record type, record version. Which version is written is up to the
finalized metadata.version. All are flexible.

Type 3, PartitionRecord, and type 5, PartitionChangeRecord, versions 0-2; 3.3 has 0. A change carries as tagged fields
only what is new; leader -2 and leader recovery state -1 stand for no change.

     1  log directory of each replica (KIP-858)
     2  eligible leader replicas and the last known ones (KIP-966)

With version 0 only:

     2  TopicRecord: name and id of a topic
     4  ConfigRecord: one config of a resource; a null value removes it
     9  RemoveTopicRecord
    28  ClearElrRecord: forget the eligible leader replicas of a topic, or of all (KIP-966); not in 3.3 and 3.9
"""

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

    secret_fields = frozenset({"value"})  # it may be a password


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
