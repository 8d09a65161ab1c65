"""ExpireDelegationToken, API key 40: an owner or renewer sets the end of a delegation token (KIP-48).

A negative period ends the token at once. 3.3 serves it in ZooKeeper mode only.

Versions 0-2, flexible from 2. Kafka 3.3 and 3.9 have 0-2, 4.3 1-2. 4.0 dropped 0 (KIP-896).
On broker and controller listeners; a broker forwards it to the controller.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
"""

from odradek.protocol.declare import Request, Response, bytes_, int16, int32, int64


class ExpireDelegationTokenRequest(Request, key=40, versions="0-2", flexible="2+"):
    hmac                  = bytes_()
    expiry_time_period_ms = int64()


class ExpireDelegationTokenResponse(Response, key=40, versions="0-2", flexible="2+"):
    error_code          = int16()
    expiry_timestamp_ms = int64()
    throttle_time_ms    = int32()
