"""OffsetForLeaderEpoch, API key 23: where a leader epoch ends in the log, to find the point of divergence (KIP-101).

Followers ask their leader before they truncate; from version 2 on consumers, too, to notice truncation.

Versions 0-4, flexible from 4. Kafka 3.3 and 3.9 have 0-4, 4.3 2-4. 4.0 dropped 0-1 (KIP-896).

     1  response: the epoch that the end offset belongs to (KIP-279)
     2  request: current leader epoch, for fencing; throttle time in the response; open to consumers (KIP-320)
     3  request: replica id, -1 for a consumer and -2 for a debugging consumer
     4  same fields in the flexible encoding (KIP-482)
"""

from odradek.protocol.declare import Request, Response, Struct, array, int16, int32, int64, string


class OffsetForLeaderPartition(Struct):
    partition            = int32()
    current_leader_epoch = int32("2+", default=-1, ignorable=True)
    leader_epoch         = int32()


class OffsetForLeaderTopic(Struct):
    topic      = string()
    partitions = array(OffsetForLeaderPartition)


class OffsetForLeaderEpochRequest(Request, key=23, versions="0-4", flexible="4+"):
    replica_id = int32("3+", default=-2, ignorable=True)
    topics     = array(OffsetForLeaderTopic)


class EpochEndOffset(Struct):
    error_code   = int16()
    partition    = int32()
    leader_epoch = int32("1+", default=-1, ignorable=True)
    end_offset   = int64(default=-1)


class OffsetForLeaderTopicResult(Struct):
    topic      = string()
    partitions = array(EpochEndOffset)


class OffsetForLeaderEpochResponse(Response, key=23, versions="0-4", flexible="4+"):
    throttle_time_ms = int32("2+", ignorable=True)
    topics           = array(OffsetForLeaderTopicResult)
