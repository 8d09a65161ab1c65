"""The headers that stand before every request and response.

The API's version decides the header's: request header 2 and response header 1 with the API's first flexible version,
1 and 0 before. Two exceptions: ControlledShutdown 0 comes with request header 0, and the response to ApiVersions has
header 0 in all versions, because the client may not know yet what the server speaks.

Request header, versions 0-2, flexible from 2; 4.3 starts at 1.

     1  client id
     2  tagged fields; the client id keeps its two-byte length

Response header, versions 0-1, flexible from 1.

     1  tagged fields
"""

from odradek.protocol.declare import Header, int16, int32, nullable_string


class RequestHeader(Header, versions="0-2", flexible="2+"):
    request_api_key     = int16()
    request_api_version = int16()
    correlation_id      = int32()
    client_id           = nullable_string("1+", default="", ignorable=True, flexible=False)


class ResponseHeader(Header, versions="0-1", flexible="1+"):
    correlation_id = int32()
