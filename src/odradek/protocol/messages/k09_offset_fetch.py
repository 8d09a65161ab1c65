"""OffsetFetch, API key 9: how far a group has read, from the group coordinator.

Version 0 read offsets from ZooKeeper.

Versions 0-10, flexible from 6. Kafka 3.3 has 0-8, 3.9 0-9, 4.3 1-10. 4.0 dropped 0 (KIP-896).

     1  same fields; offsets come from __consumer_offsets
     2  null topics ask for all; response: an error for the whole answer
     3  throttle time in the response
     4  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     5  response: leader epoch (KIP-320)
     6  same fields in the flexible encoding (KIP-482)
     7  request: require_stable, to get no offset that an open transaction may change (KIP-447)
     8  several groups in one request, each with its topics and its error (KIP-709)
     9  request: member id and member epoch (KIP-848)
    10  topic ids in the place of names (KIP-848)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
    nullable_array,
    nullable_string,
    string,
    uuid,
)


class OffsetFetchRequestTopics(Struct):
    name              = string("8-9", ignorable=True)
    topic_id          = uuid("10+", ignorable=True)
    partition_indexes = array(int32())


class OffsetFetchRequestGroup(Struct):
    group_id     = string()
    member_id    = nullable_string("9+", ignorable=True)
    member_epoch = int32("9+", default=-1, ignorable=True)
    topics       = nullable_array(OffsetFetchRequestTopics, default=[])


class OffsetFetchRequestTopic(Struct):
    name              = string()
    partition_indexes = array(int32())


class OffsetFetchRequest(Request, key=9, versions="0-10", flexible="6+"):
    groups         = array(OffsetFetchRequestGroup, "8+")
    group_id       = string("0-7")
    topics         = nullable_array(OffsetFetchRequestTopic, "0-7", nullable="2+", default=[])
    require_stable = boolean("7+")


class OffsetFetchResponsePartitions(Struct):
    partition_index        = int32()
    committed_offset       = int64()
    committed_leader_epoch = int32(default=-1)
    metadata               = nullable_string(default="")
    error_code             = int16()


class OffsetFetchResponseTopics(Struct):
    name       = string("8-9", ignorable=True)
    topic_id   = uuid("10+", ignorable=True)
    partitions = array(OffsetFetchResponsePartitions)


class OffsetFetchResponseGroup(Struct):
    group_id   = string()
    topics     = array(OffsetFetchResponseTopics)
    error_code = int16()


class OffsetFetchResponsePartition(Struct):
    partition_index        = int32()
    committed_offset       = int64()
    committed_leader_epoch = int32("5+", default=-1, ignorable=True)
    metadata               = nullable_string(default="")
    error_code             = int16()


class OffsetFetchResponseTopic(Struct):
    name       = string()
    partitions = array(OffsetFetchResponsePartition)


class OffsetFetchResponse(Response, key=9, versions="0-10", flexible="6+"):
    throttle_time_ms = int32("3+", ignorable=True)
    groups           = array(OffsetFetchResponseGroup, "8+")
    topics           = array(OffsetFetchResponseTopic, "0-7")
    error_code       = int16("2-7", ignorable=True)
