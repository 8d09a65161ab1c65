"""Envelope, API key 58."""

from odradek.protocol.declare import Request, Response, bytes_, int16, nullable_bytes


class EnvelopeRequest(Request, key=58, versions="0", flexible="0+"):
    request_data        = bytes_()
    request_principal   = nullable_bytes(default=b"")
    client_host_address = bytes_()


class EnvelopeResponse(Response, key=58, versions="0", flexible="0+"):
    response_data = nullable_bytes()
    error_code    = int16()
