"""Transactions in __transaction_state."""

from odradek.protocol.declare import Data, Struct, array, int8, int16, int32, int64, nullable_array, string


class TransactionLogKey(Data, key=0, versions="0"):
    transactional_id = string()


class PartitionsSchema(Struct):
    topic         = string()
    partition_ids = array(int32())


class TransactionLogValue(Data, key=0, versions="0-1", flexible="1+"):
    producer_id                          = int64()
    producer_epoch                       = int16()
    transaction_timeout_ms               = int32()
    transaction_status                   = int8()
    transaction_partitions               = nullable_array(PartitionsSchema, default=[])
    transaction_last_update_timestamp_ms = int64()
    transaction_start_timestamp_ms       = int64()
    previous_producer_id                 = int64("1+", default=-1, tag=0)
    next_producer_id                     = int64("1+", default=-1, tag=1)
    client_transaction_version           = int16("1+", tag=2)
    next_producer_epoch                  = int16("1+", default=-1, tag=3)
