"""EndTxn, API key 26: a producer commits or aborts its transaction (KIP-98).

To the transaction coordinator. It answers when the decision is in its log, before the markers are written.

Versions 0-5, flexible from 3. Kafka 3.3 has 0-3, 3.9 0-4, 4.3 0-5.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields; PRODUCER_FENCED in the place of INVALID_PRODUCER_EPOCH (KIP-588)
     3  same fields in the flexible encoding (KIP-482)
     4  same fields; TRANSACTION_ABORTABLE may be answered (KIP-890)
     5  response: producer id and epoch of the next transaction, since each one bumps the epoch (KIP-890)
"""

from odradek.protocol.declare import Request, Response, boolean, int16, int32, int64, string


class EndTxnRequest(Request, key=26, versions="0-5", flexible="3+"):
    transactional_id = string()
    producer_id      = int64()
    producer_epoch   = int16()
    committed        = boolean()


class EndTxnResponse(Response, key=26, versions="0-5", flexible="3+"):
    throttle_time_ms = int32()
    error_code       = int16()
    producer_id      = int64("5+", default=-1, ignorable=True)
    producer_epoch   = int16("5+", default=-1, ignorable=True)
