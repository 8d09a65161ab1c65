"""DeleteRecords, API key 21."""

from odradek.protocol.declare import Request, Response, Struct, array, int16, int32, int64, string


class DeleteRecordsPartition(Struct):
    partition_index = int32()
    offset          = int64()


class DeleteRecordsTopic(Struct):
    name       = string()
    partitions = array(DeleteRecordsPartition)


class DeleteRecordsRequest(Request, key=21, versions="0-2", flexible="2+"):
    topics     = array(DeleteRecordsTopic)
    timeout_ms = int32()


class DeleteRecordsPartitionResult(Struct):
    partition_index = int32()
    low_watermark   = int64()
    error_code      = int16()


class DeleteRecordsTopicResult(Struct):
    name       = string()
    partitions = array(DeleteRecordsPartitionResult)


class DeleteRecordsResponse(Response, key=21, versions="0-2", flexible="2+"):
    throttle_time_ms = int32()
    topics           = array(DeleteRecordsTopicResult)
