"""What members of a classic consumer group tell each other through the coordinator."""

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
