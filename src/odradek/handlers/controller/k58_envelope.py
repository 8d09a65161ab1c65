"""Envelope, version 0: a request that a broker forwards, with the principal and address of its client (KIP-590).

Who may: CLUSTER_ACTION on the cluster; what is inside is asked for in the name of the client. Errors:
PRINCIPAL_DESERIALIZATION_FAILURE; INVALID_REQUEST for a frame that does not parse or an API that is not forwarded;
UNSUPPORTED_VERSION; NOT_CONTROLLER, which tells the broker to look for the controller again. Any other error of the
request inside is part of the response inside.
"""

from odradek.handlers import table
from odradek.handlers.call import Call, ControllerCall, LocalConnection
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import Served, serves
from odradek.protocol import apis, releases
from odradek.protocol.declare import Request, Response
from odradek.protocol.errors import (
    InvalidRequest,
    KafkaError,
    NotController,
    PeerProtocolError,
    PrincipalDeserializationFailure,
    UnknownServerError,
    UnsupportedVersion,
)
from odradek.protocol.messages.header import RequestHeader, ResponseHeader
from odradek.protocol.messages.k58_envelope import EnvelopeRequest, EnvelopeResponse
from odradek.protocol.messages.principal import DefaultPrincipalData
from odradek.protocol.whole import decode_request, encode_response
from odradek.reactor.pending import Pending
from odradek.security.acl import CLUSTER_ACTION
from odradek.security.principal import Principal


@serves(EnvelopeRequest, versions="0", on="controller", allow=on_cluster(CLUSTER_ACTION))
async def envelope(call: ControllerCall, request: EnvelopeRequest) -> EnvelopeResponse:
    principal = _principal(request.request_principal)
    address = _address(request.client_host_address)
    header, inner = _decoded(request.request_data)
    served = _served(call, header)
    connection = LocalConnection(principal, call.listener, address, is_privileged=False)
    version = header.request_api_version
    inner_call = Call(
        call.services, connection, header.request_api_key, version, header.correlation_id, header.client_id
    )
    response = await _answer(served, inner_call, inner)
    parts = encode_response(ResponseHeader(correlation_id=header.correlation_id), response, version)
    return EnvelopeResponse(response_data=b"".join(map(bytes, parts)))  # type: ignore[arg-type]  # no records inside


async def _answer(served: Served, call: ControllerCall, request: Request) -> Response:
    try:
        if served.allow is not None and not call.authorize(*served.allow):
            raise served.allow.refusal()
        answer = served.handler(call, request)
        response: Response = await answer if served.is_async or isinstance(answer, Pending) else answer
        return response
    except NotController:
        raise
    except KafkaError as error:
        return served.refuse(request, error, call.version)
    except PeerProtocolError as error:
        raise InvalidRequest(str(error)) from None
    except Exception as error:  # noqa: BLE001 - whatever a handler raises is answered
        call.services.on_error(call, error)
        return served.refuse(request, UnknownServerError(), call.version)


def _principal(data: bytes | None) -> Principal:
    try:
        if not data or int.from_bytes(data[:2], "big") not in DefaultPrincipalData.versions:
            raise PrincipalDeserializationFailure()
        decoded = DefaultPrincipalData.decode(data, int.from_bytes(data[:2], "big"), at=2)
    except PeerProtocolError:
        raise PrincipalDeserializationFailure() from None
    return Principal(decoded.type, decoded.name, decoded.token_authenticated)


def _address(data: bytes) -> tuple[str, int]:
    if len(data) == 4:
        return ".".join(map(str, data)), 0
    if len(data) == 16:
        return ":".join(data[at : at + 2].hex() for at in range(0, 16, 2)), 0
    raise InvalidRequest(f"An address has 4 or 16 bytes, not {len(data)}")


def _decoded(data: bytes) -> tuple[RequestHeader, Request]:
    try:
        return decode_request(data)
    except PeerProtocolError as error:
        raise InvalidRequest(f"The forwarded request does not parse: {error}") from None


def _served(call: ControllerCall, header: RequestHeader) -> Served:
    key = header.request_api_key
    if not apis.by_key(key).forwardable or key not in table.keys(releases.CONTROLLER):
        raise InvalidRequest(f"API {key} is not forwarded")
    if header.request_api_version not in table.accepted(call.services.release, releases.CONTROLLER, key):
        raise UnsupportedVersion(f"API {key} is not served in version {header.request_api_version}")
    return table.find(releases.CONTROLLER, key)
