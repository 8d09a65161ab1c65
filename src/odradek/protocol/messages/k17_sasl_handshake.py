"""SaslHandshake, API key 17."""

from odradek.protocol.declare import Request, Response, array, int16, string


class SaslHandshakeRequest(Request, key=17, versions="0-1"):
    mechanism = string()


class SaslHandshakeResponse(Response, key=17, versions="0-1"):
    error_code = int16()
    mechanisms = array(string())
