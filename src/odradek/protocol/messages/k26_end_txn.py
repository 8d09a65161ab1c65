"""EndTxn, API key 26."""

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
