"""AddOffsetsToTxn, API key 25: adds the offsets of a group to a transaction (KIP-98).

From a producer to the transaction coordinator, before TxnOffsetCommit. Transactions v2 do without it (KIP-890).

Versions 0-4, flexible from 3. Kafka 3.3 has 0-3, 3.9 and 4.3 0-4.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields; PRODUCER_FENCED in the place of INVALID_PRODUCER_EPOCH (KIP-588)
     3  same fields in the flexible encoding (KIP-482)
     4  same fields; TRANSACTION_ABORTABLE may be answered (KIP-890)
"""

from odradek.protocol.declare import Request, Response, int16, int32, int64, string


class AddOffsetsToTxnRequest(Request, key=25, versions="0-4", flexible="3+"):
    transactional_id = string()
    producer_id      = int64()
    producer_epoch   = int16()
    group_id         = string()


class AddOffsetsToTxnResponse(Response, key=25, versions="0-4", flexible="3+"):
    throttle_time_ms = int32()
    error_code       = int16()
