"""SASL inside Kafka's protocol, the server's side.

The peer may ask for ApiVersions, then says with SaslHandshake which mechanism it wants. What follows are the
mechanism's own messages: as SaslAuthenticate requests after a handshake of version 1, as bare frames after version 0.

    state          frame                              next
    FIRST          ApiVersions that is answered       HANDSHAKE
                   ApiVersions of a wrong version     FIRST (the client tries again)
    FIRST,         SaslHandshake, known mechanism     EXCHANGE
    HANDSHAKE      SaslHandshake, unknown mechanism   failed, behind an answer that lists the known ones
    EXCHANGE       a message of the mechanism         EXCHANGE, or the principal, or failed
    any            anything else                      failed

A connection that authenticates again begins at HANDSHAKE, and must end with the same mechanism and the same principal.
"""

from collections.abc import Callable, Sequence

from odradek.broken_rule import present
from odradek.protocol import apis
from odradek.protocol.apis import API_VERSIONS
from odradek.protocol.declare import Response
from odradek.protocol.errors import KafkaError, PeerProtocolError
from odradek.protocol.errors import SaslAuthenticationFailed as Refused
from odradek.protocol.java_hash import in_java_order
from odradek.protocol.messages.header import RequestHeader, ResponseHeader
from odradek.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from odradek.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from odradek.protocol.whole import encode_response
from odradek.reactor.pending import Pending
from odradek.security.authenticator import FAILED, AuthStep, Reply
from odradek.security.mechanism import Mechanism, SaslAuthenticationFailed, SaslServer
from odradek.security.principal import Principal

FRAME_BYTES_MAX = 64 * 1024  # before anybody is known

SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
UNSUPPORTED_SASL_MECHANISM = 33
FIRST, HANDSHAKE, EXCHANGE, OVER = "first", "handshake", "exchange", "over"

AnswerApiVersions = Callable[[memoryview], Reply | Pending[Reply | None] | None]


class SaslAuthenticator:
    """`answer_api_versions` makes the whole answer to a frame with ApiVersions."""

    __slots__ = (
        "_answer_api_versions",
        "_before",
        "_mechanism",
        "_mechanisms",
        "_order",
        "_server",
        "_state",
        "_takes_bare_tokens",
        "frame_bytes_max",
    )

    def __init__(
        self,
        mechanisms: Sequence[Mechanism],
        answer_api_versions: AnswerApiVersions,
        *,
        frame_bytes_max: int = FRAME_BYTES_MAX,
        before: "tuple[str, Principal] | None" = None,
    ) -> None:
        self._mechanisms = {mechanism.name: mechanism for mechanism in mechanisms}
        self._order = in_java_order(tuple(self._mechanisms))
        self._answer_api_versions = answer_api_versions
        self.frame_bytes_max = frame_bytes_max
        self._before = before  # mechanism and principal that this connection has authenticated with already
        self._state = FIRST if before is None else HANDSHAKE
        self._mechanism: Mechanism | None = None
        self._server: SaslServer | None = None
        self._takes_bare_tokens = False

    @property
    def mechanism(self) -> str:
        return self._mechanism.name if self._mechanism is not None else ""

    def receive(self, frame: memoryview) -> AuthStep:
        try:
            if self._state is EXCHANGE and self._takes_bare_tokens:
                return self._bare_token(bytes(frame))
            return self._request(frame)
        except (PeerProtocolError, KafkaError):
            return self._fail()

    # Requests

    def _request(self, frame: memoryview) -> AuthStep:
        start = RequestHeader.decode(frame, 0)
        key, version = start.request_api_key, start.request_api_version
        if key == API_VERSIONS and self._state is FIRST:
            return self._api_versions(frame)
        api = apis.by_key(key)
        header, at = RequestHeader.decode_prefix(frame, api.request_header_version(version))
        if key == SASL_HANDSHAKE and self._state in (FIRST, HANDSHAKE):
            request = SaslHandshakeRequest.decode_prefix(frame, version, at)[0]
            return self._handshake(header, request.mechanism)
        if key == SASL_AUTHENTICATE and self._state is EXCHANGE:
            token = SaslAuthenticateRequest.decode_prefix(frame, version, at)[0].auth_bytes
            return self._token(header, bytes(token))
        return self._fail()

    def _api_versions(self, frame: memoryview) -> AuthStep:
        answer = self._answer_api_versions(frame)
        if not isinstance(answer, list):
            return self._fail()
        if _error_code(answer) == 0:
            self._state = HANDSHAKE
        return AuthStep(answer)

    def _handshake(self, header: RequestHeader, name: str) -> AuthStep:
        mechanism = self._mechanisms.get(name)
        is_served = mechanism is not None and mechanism.server is not None
        code = 0 if is_served else UNSUPPORTED_SASL_MECHANISM
        reply = _framed(header, SaslHandshakeResponse(error_code=code, mechanisms=self._order))
        if mechanism is None or mechanism.server is None:
            return self._fail(reply)
        self._mechanism = mechanism
        self._server = mechanism.server()
        self._takes_bare_tokens = header.request_api_version == 0
        self._state = EXCHANGE
        return AuthStep(reply)

    # Messages of the mechanism

    def _bare_token(self, token: bytes) -> AuthStep:
        try:
            challenge = self._evaluate(token)
        except SaslAuthenticationFailed:
            return self._fail()  # there is no frame that could tell
        return self._stepped([len(challenge).to_bytes(4, "big"), challenge], can_reauthenticate=False)

    def _token(self, header: RequestHeader, token: bytes) -> AuthStep:
        try:
            challenge = self._evaluate(token)
        except SaslAuthenticationFailed as failure:
            response = SaslAuthenticateResponse(error_code=Refused.code, error_message=str(failure), auth_bytes=b"")
            return self._fail(_framed(header, response))
        response = SaslAuthenticateResponse(auth_bytes=challenge)
        if self._chosen_server().principal is not None:
            response.session_lifetime_ms = self._lifetime_ms
        return self._stepped(_framed(header, response), can_reauthenticate=header.request_api_version >= 1)

    def _evaluate(self, token: bytes) -> bytes:
        server = self._chosen_server()
        challenge = server.evaluate(token)
        self._check_unchanged(server.principal)
        return challenge

    def _chosen_server(self) -> SaslServer:
        return present(self._server, "tokens come after the handshake has chosen a mechanism")

    def _check_unchanged(self, principal: Principal | None) -> None:
        """Who authenticates again stays who it was (KIP-368)."""
        if principal is None or self._before is None:
            return
        name, former = self._before
        if name != self.mechanism:
            raise SaslAuthenticationFailed(
                f"SASL mechanism '{self.mechanism}' requested by client is not supported for re-authentication of "
                f"mechanism '{name}'"
            )
        if principal != former:
            raise SaslAuthenticationFailed(
                f"Cannot change principals during re-authentication from {former.kind}.{former.name}: "
                f"{principal.kind}.{principal.name}"
            )

    @property
    def _lifetime_ms(self) -> int:
        return max(0, self._mechanism.reauth_ms) if self._mechanism is not None else 0

    def _stepped(self, reply: Reply, *, can_reauthenticate: bool) -> AuthStep:
        principal = self._chosen_server().principal
        if principal is None:
            return AuthStep(reply)
        self._state = OVER
        return AuthStep(reply, principal, False, self._lifetime_ms, can_reauthenticate)

    def _fail(self, reply: Reply | None = None) -> AuthStep:
        self._state = OVER
        return AuthStep(reply, has_failed=True) if reply is not None else FAILED


def _framed(header: RequestHeader, response: Response) -> Reply:
    version = header.request_api_version
    parts: Reply = [*encode_response(ResponseHeader(correlation_id=header.correlation_id), response, version)]
    return [sum(map(len, parts)).to_bytes(4, "big"), *parts]


def _error_code(answer: Reply) -> int:
    """The error code of an ApiVersions response: in every version it follows the length and the correlation id."""
    return int.from_bytes(b"".join(answer)[8:10], "big", signed=True)
