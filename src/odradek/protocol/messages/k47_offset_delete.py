"""OffsetDelete, API key 47: an admin deletes offsets of a group (KIP-496).

To the group coordinator, which refuses for topics that the group is subscribed to.

Version 0, never flexible. The same in Kafka 3.3, 3.9 and 4.3.
"""

from odradek.protocol.declare import Request, Response, Struct, array, int16, int32, string


class OffsetDeleteRequestPartition(Struct):
    partition_index = int32()


class OffsetDeleteRequestTopic(Struct):
    name       = string()
    partitions = array(OffsetDeleteRequestPartition)


class OffsetDeleteRequest(Request, key=47, versions="0"):
    group_id = string()
    topics   = array(OffsetDeleteRequestTopic)


class OffsetDeleteResponsePartition(Struct):
    partition_index = int32()
    error_code      = int16()


class OffsetDeleteResponseTopic(Struct):
    name       = string()
    partitions = array(OffsetDeleteResponsePartition)


class OffsetDeleteResponse(Response, key=47, versions="0"):
    error_code       = int16()
    throttle_time_ms = int32()
    topics           = array(OffsetDeleteResponseTopic)
