"""Transactions (KIP-98) in __transaction_state.

A key begins with two bytes of record type, 0, a value with two bytes of version. A null value deletes the transactional
id. Status: 0 empty, 1 ongoing, 2 prepare commit, 3 prepare abort, 4 complete commit, 5 complete abort, 6 dead,
7 prepare epoch fence. The partitions are null in the state empty.

Value versions 0-1, flexible from 1; 3.3 has 0. 3.3 writes 0; 4.3 writes 1 from transaction.version 1 on.

     1  flexible; previous and next producer id, transaction version of the client and next producer epoch as tagged
        fields (KIP-890), which 3.9 does not have yet
"""

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
