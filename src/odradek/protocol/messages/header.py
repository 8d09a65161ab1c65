"""The headers that stand before every request and response."""

from odradek.protocol.declare import Header, int16, int32, nullable_string


class RequestHeader(Header, versions="0-2", flexible="2+"):
    request_api_key     = int16()
    request_api_version = int16()
    correlation_id      = int32()
    client_id           = nullable_string("1+", default="", ignorable=True, flexible=False)


class ResponseHeader(Header, versions="0-1", flexible="1+"):
    correlation_id = int32()
