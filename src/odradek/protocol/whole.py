"""Whole requests and responses: a header, whose version the API table tells, and the body behind it.

    header, request = decode_request(frame)
    header, response = decode_response(frame, FETCH, version)

A frame is what follows the four bytes of the length. Bytes that do not parse are `PeerProtocolError`. A key that no
release declares is `InvalidRequest`, a version that the API does not have is `UnsupportedVersion`.
"""

from functools import lru_cache

from odradek.broken_rule import present
from odradek.protocol import apis, registry
from odradek.protocol.declare import Request, Response
from odradek.protocol.errors import EncodeError
from odradek.protocol.messages.header import RequestHeader, ResponseHeader
from odradek.protocol.parts import Buffer, Part


def decode_request(data: Buffer, at: int = 0) -> tuple[RequestHeader, Request]:
    """The header and the request that stand in `data` from byte `at` on; what follows is ignored, as Kafka does."""
    header, request, _ = decode_request_prefix(data, at)
    return header, request


def decode_request_prefix(data: Buffer, at: int = 0) -> tuple[RequestHeader, Request, int]:
    """The header, the request, and the position behind them."""
    start = RequestHeader.decode(data, 0, at)  # every version of the header begins with key and version
    api = apis.by_key(start.request_api_key)
    version = start.request_api_version
    header, at = RequestHeader.decode_prefix(data, api.request_header_version(version), at)
    request, end = registry.request(api.key).decode_prefix(data, version, at)
    return header, request, end


def decode_response(data: Buffer, api_key: int, version: int, at: int = 0) -> tuple[ResponseHeader, Response]:
    """The header and the response to a request of that key and version: neither stands in the bytes."""
    header, response, _ = decode_response_prefix(data, api_key, version, at)
    return header, response


def decode_response_prefix(
    data: Buffer, api_key: int, version: int, at: int = 0
) -> tuple[ResponseHeader, Response, int]:
    """The header, the response, and the position behind them."""
    header_version, message = _response_shape(api_key, version)
    header, at = ResponseHeader.decode_prefix(data, header_version, at)
    response, end = message.decode_prefix(data, version, at)
    return header, response, end


@lru_cache(maxsize=256)
def _response_shape(api_key: int, version: int) -> tuple[int, type[Response]]:
    return apis.by_key(api_key).response_header_version(version), registry.response(api_key)


def encode_request(header: RequestHeader, request: Request) -> list[Part]:
    """The parts to send; the header names the key and the version of the request."""
    if header.request_api_key != request.api_key:
        raise EncodeError(f"the header has the API key {header.request_api_key}, {type(request).__name__} another")
    version = header.request_api_version
    header_version = apis.by_key(header.request_api_key).request_header_version(version)
    return [*header.encode(header_version), *request.encode(version)]


def encode_response(header: ResponseHeader, response: Response, version: int) -> list[Part]:
    """The parts to send in answer to a request of that version."""
    api_key = present(response.api_key, "a response belongs to an API")
    header_version = apis.by_key(api_key).response_header_version(version)
    return [*header.encode(header_version), *response.encode(version)]
