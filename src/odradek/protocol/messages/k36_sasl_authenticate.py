"""SaslAuthenticate, API key 36: one step of a SASL exchange (KIP-152).

After SaslHandshake version 1, repeated until the mechanism is done; later again, to authenticate anew.

Versions 0-2, flexible from 2. The same in Kafka 3.3, 3.9 and 4.3.
On broker and controller listeners.

     1  response: session lifetime, after which the client must authenticate again (KIP-368)
     2  same fields in the flexible encoding (KIP-482)
"""

from odradek.protocol.declare import Request, Response, bytes_, int16, int64, nullable_string


class SaslAuthenticateRequest(Request, key=36, versions="0-2", flexible="2+"):
    auth_bytes = bytes_()


class SaslAuthenticateResponse(Response, key=36, versions="0-2", flexible="2+"):
    error_code          = int16()
    error_message       = nullable_string(default="")
    auth_bytes          = bytes_()
    session_lifetime_ms = int64("1+", ignorable=True)
