"""ListOffsets, API key 2: offsets by timestamp, or at the marked places of a partition.

Answered by the leader. Negative timestamps name a place: -1 the end of the log (for read_committed the last stable
offset), -2 its start; later versions have more.

Versions 0-11, flexible from 6. Kafka 3.3 has 0-7, 3.9 0-9, 4.3 1-11. 4.0 dropped 0 (KIP-896).

     1  one offset with its timestamp in the place of a list of segment offsets (KIP-79)
     2  isolation level (KIP-98); throttle time in the response
     3  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     4  leader epochs, for fencing and with the offset found (KIP-320)
     5  same fields; OFFSET_NOT_AVAILABLE while a new leader's high watermark lags (KIP-207)
     6  same fields in the flexible encoding (KIP-482)
     7  same fields; -3, the record with the highest timestamp (KIP-734)
     8  same fields; -4, the start of the local log (KIP-405)
     9  same fields; -5, the last offset in remote storage (KIP-1005)
    10  request: timeout, for lookups in remote storage (KIP-1075)
    11  same fields; -6, the first offset that is yet to be uploaded (KIP-1023)
"""

from odradek.protocol.declare import Request, Response, Struct, array, int8, int16, int32, int64, string


class ListOffsetsPartition(Struct):
    partition_index      = int32()
    current_leader_epoch = int32("4+", default=-1, ignorable=True)
    timestamp            = int64()
    max_num_offsets      = int32("0", default=1)


class ListOffsetsTopic(Struct):
    name       = string()
    partitions = array(ListOffsetsPartition)


class ListOffsetsRequest(Request, key=2, versions="0-11", flexible="6+"):
    replica_id      = int32()
    isolation_level = int8("2+")
    topics          = array(ListOffsetsTopic)
    timeout_ms      = int32("10+", ignorable=True)


class ListOffsetsPartitionResponse(Struct):
    partition_index   = int32()
    error_code        = int16()
    old_style_offsets = array(int64(), "0")
    timestamp         = int64("1+", default=-1)
    offset            = int64("1+", default=-1)
    leader_epoch      = int32("4+", default=-1)


class ListOffsetsTopicResponse(Struct):
    name       = string()
    partitions = array(ListOffsetsPartitionResponse)


class ListOffsetsResponse(Response, key=2, versions="0-11", flexible="6+"):
    throttle_time_ms = int32("2+", ignorable=True)
    topics           = array(ListOffsetsTopicResponse)
