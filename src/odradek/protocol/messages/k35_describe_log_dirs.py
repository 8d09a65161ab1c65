"""DescribeLogDirs, API key 35: the log directories of one broker and the replicas in them (KIP-113).

Null topics ask for all. Future replicas, on the move between directories, are listed as such.

Versions 0-5, flexible from 2. Kafka 3.3 and 3.9 have 0-4, 4.3 1-5. 4.0 dropped 0 (KIP-896).

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
     3  response: an error for the whole answer
     4  response: total and usable bytes of the volume (KIP-827)
     5  response: whether the directory is cordoned (KIP-1066)
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
    string,
)


class DescribableLogDirTopic(Struct):
    topic      = string()
    partitions = array(int32())


class DescribeLogDirsRequest(Request, key=35, versions="0-5", flexible="2+"):
    topics = nullable_array(DescribableLogDirTopic, default=[])


class DescribeLogDirsPartition(Struct):
    partition_index = int32()
    partition_size  = int64()
    offset_lag      = int64()
    is_future_key   = boolean()


class DescribeLogDirsTopic(Struct):
    name       = string()
    partitions = array(DescribeLogDirsPartition)


class DescribeLogDirsResult(Struct):
    error_code   = int16()
    log_dir      = string()
    topics       = array(DescribeLogDirsTopic)
    total_bytes  = int64("4+", default=-1, ignorable=True)
    usable_bytes = int64("4+", default=-1, ignorable=True)
    is_cordoned  = boolean("5+", ignorable=True)


class DescribeLogDirsResponse(Response, key=35, versions="0-5", flexible="2+"):
    throttle_time_ms = int32()
    error_code       = int16("3+", ignorable=True)
    results          = array(DescribeLogDirsResult)
