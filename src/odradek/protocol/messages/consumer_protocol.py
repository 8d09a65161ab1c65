"""What members of a classic consumer group tell each other through the coordinator.

Opaque to the broker: the subscription is the metadata in JoinGroup, the assignment the bytes in SyncGroup. Both begin
with two bytes of version; a reader takes what it knows of a newer version. Versions 0-3 of both; 3.3 has 0-1.

     1  subscription: owned partitions, for cooperative rebalances (KIP-429)
     2  subscription: generation in which they were owned (KIP-792)
     3  subscription: rack (KIP-881)

The assignment has the same fields in all versions.
"""

from odradek.protocol.declare import Data, Struct, array, int32, nullable_bytes, nullable_string, string


class TopicPartition(Struct):
    topic      = string()
    partitions = array(int32())


class ConsumerProtocolSubscription(Data, versions="0-3"):
    topics           = array(string())
    user_data        = nullable_bytes()
    owned_partitions = array(TopicPartition, "1+", ignorable=True)
    generation_id    = int32("2+", default=-1, ignorable=True)
    rack_id          = nullable_string("3+", ignorable=True)


class ConsumerProtocolAssignmentTopicPartition(Struct):
    topic      = string()
    partitions = array(int32())


class ConsumerProtocolAssignment(Data, versions="0-3"):
    assigned_partitions = array(ConsumerProtocolAssignmentTopicPartition)
    user_data           = nullable_bytes()
