"""InitProducerId, API key 22: a producer gets its producer id and epoch (KIP-98).

A transactional producer asks its transaction coordinator, which fences the predecessor and aborts its transaction; one
without a transactional id asks any broker.

Versions 0-6, flexible from 2. Kafka 3.3 has 0-4, 3.9 0-5, 4.3 0-6 (6 unstable).

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
     3  request: current producer id and epoch, to bump the epoch after an error (KIP-360)
     4  same fields; PRODUCER_FENCED in the place of INVALID_PRODUCER_EPOCH (KIP-588)
     5  same fields; TRANSACTION_ABORTABLE may be answered (KIP-890)
     6  unstable: two-phase commit, keeping a prepared transaction and naming the open one (KIP-939)
"""

from odradek.protocol.declare import Request, Response, boolean, int16, int32, int64, nullable_string


class InitProducerIdRequest(Request, key=22, versions="0-6", flexible="2+"):
    transactional_id       = nullable_string(default="")
    transaction_timeout_ms = int32()
    producer_id            = int64("3+", default=-1)
    producer_epoch         = int16("3+", default=-1)
    enable2_pc             = boolean("6+")
    keep_prepared_txn      = boolean("6+")


class InitProducerIdResponse(Response, key=22, versions="0-6", flexible="2+"):
    throttle_time_ms           = int32()
    error_code                 = int16()
    producer_id                = int64(default=-1)
    producer_epoch             = int16()
    ongoing_txn_producer_id    = int64("6+", default=-1)
    ongoing_txn_producer_epoch = int16("6+", default=-1)
