"""RenewDelegationToken, API key 39: an owner or renewer makes a delegation token live longer (KIP-48).

3.3 serves it in ZooKeeper mode only.

Versions 0-2, flexible from 2. Kafka 3.3 and 3.9 have 0-2, 4.3 1-2. 4.0 dropped 0 (KIP-896).
On broker and controller listeners; a broker forwards it to the controller.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
"""

from odradek.protocol.declare import Request, Response, bytes_, int16, int32, int64


class RenewDelegationTokenRequest(Request, key=39, versions="0-2", flexible="2+"):
    hmac            = bytes_()
    renew_period_ms = int64()


class RenewDelegationTokenResponse(Response, key=39, versions="0-2", flexible="2+"):
    error_code          = int16()
    expiry_timestamp_ms = int64()
    throttle_time_ms    = int32()
