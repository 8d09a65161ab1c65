"""SaslAuthenticate, API key 36."""

from odradek.protocol.declare import Request, Response, bytes_, int16, int64, nullable_string


class SaslAuthenticateRequest(Request, key=36, versions="0-2", flexible="2+"):
    auth_bytes = bytes_()


class SaslAuthenticateResponse(Response, key=36, versions="0-2", flexible="2+"):
    error_code          = int16()
    error_message       = nullable_string(default="")
    auth_bytes          = bytes_()
    session_lifetime_ms = int64("1+", ignorable=True)
