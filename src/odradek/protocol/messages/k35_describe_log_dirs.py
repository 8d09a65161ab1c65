"""DescribeLogDirs, API key 35."""

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
