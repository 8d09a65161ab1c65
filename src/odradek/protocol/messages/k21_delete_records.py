"""DeleteRecords, API key 21: an admin moves the log start offset of partitions forward (KIP-107).

To the leader of each partition, which answers when all live replicas have followed, or the timeout is over. Offset
-1 stands for the high watermark.

Versions 0-2, flexible from 2. The same in Kafka 3.3, 3.9 and 4.3.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
"""

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
