"""SaslHandshake, API key 17: a client picks a SASL mechanism, before it authenticates.

Any broker or controller answers, with the mechanisms that it has enabled (KIP-43).

Versions 0-1, never flexible. The same in Kafka 3.3, 3.9 and 4.3.
On broker and controller listeners.

     1  same fields; the tokens that follow are SaslAuthenticate requests, in version 0 bare frames (KIP-152)
"""

from odradek.protocol.declare import Request, Response, array, int16, string


class SaslHandshakeRequest(Request, key=17, versions="0-1"):
    mechanism = string()


class SaslHandshakeResponse(Response, key=17, versions="0-1"):
    error_code = int16()
    mechanisms = array(string())
