"""TxnOffsetCommit, API key 28: stores offsets of a group as part of a transaction (KIP-98).

From a producer to the group coordinator; the offsets count once the transaction is committed.

Versions 0-5, flexible from 3. Kafka 3.3 has 0-3, 3.9 0-4, 4.3 0-5.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  request: leader epoch (KIP-320)
     3  flexible; request: generation, member id and group instance id, to fence members that are gone (KIP-447)
     4  same fields; TRANSACTION_ABORTABLE may be answered (KIP-890)
     5  same fields; the partition of __consumer_offsets joins the transaction without AddOffsetsToTxn (KIP-890)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    int64,
    nullable_string,
    string,
)


class TxnOffsetCommitRequestPartition(Struct):
    partition_index        = int32()
    committed_offset       = int64()
    committed_leader_epoch = int32("2+", default=-1, ignorable=True)
    committed_metadata     = nullable_string(default="")


class TxnOffsetCommitRequestTopic(Struct):
    name       = string()
    partitions = array(TxnOffsetCommitRequestPartition)


class TxnOffsetCommitRequest(Request, key=28, versions="0-5", flexible="3+"):
    transactional_id  = string()
    group_id          = string()
    producer_id       = int64()
    producer_epoch    = int16()
    generation_id     = int32("3+", default=-1)
    member_id         = string("3+")
    group_instance_id = nullable_string("3+")
    topics            = array(TxnOffsetCommitRequestTopic)


class TxnOffsetCommitResponsePartition(Struct):
    partition_index = int32()
    error_code      = int16()


class TxnOffsetCommitResponseTopic(Struct):
    name       = string()
    partitions = array(TxnOffsetCommitResponsePartition)


class TxnOffsetCommitResponse(Response, key=28, versions="0-5", flexible="3+"):
    throttle_time_ms = int32()
    topics           = array(TxnOffsetCommitResponseTopic)
