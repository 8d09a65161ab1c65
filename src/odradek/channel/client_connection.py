"""A connection to one node: requests out, frames in, and before that whatever proves who the two are.

    socket connected -> TLS handshake -> SASL exchange -> owner.connected()      each only where it is configured

It goes on reading while a request has not gone out in full: the peer may be unable to take it because we do not take
its answers, and then each would wait for the other for ever.

A frame is copied out of the buffer that all connections share before it is decoded: who asked gets the answer in a
later callback, when that buffer holds something else. A copy costs as much as the peer has really sent.
"""

from collections.abc import Callable
from errno import EPROTO
from typing import TYPE_CHECKING, NamedTuple, Protocol

from odradek.channel.errors import SslAuthenticationFailed
from odradek.channel.node import Node
from odradek.channel.sasl_client import SaslClient, SaslExchange, Step
from odradek.protocol import errors, whole
from odradek.protocol.declare import Request, Response
from odradek.protocol.errors import KafkaError, PeerProtocolError
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k18_api_versions import ApiVersionsRequest
from odradek.reactor.connection import Connection
from odradek.reactor.frames import LENGTH, LENGTH_BYTES, read_length
from odradek.reactor.ports import READABLE, WRITABLE, Socket
from odradek.reactor.selector import Selector
from odradek.reactor.send_queue import Part
from odradek.reactor.transport import PlainTransport, Transport

if TYPE_CHECKING:
    from odradek.reactor.tls import TlsContext

FRAME_BYTES_MAX = 2**31 - 1  # a client trusts its broker; memory is taken as bytes come, not as they are announced

# Correlation ids of the SASL exchange: no request has one of them, so that an exchange may one day take place between
# requests (re-authentication) and its answers be told from theirs.
RESERVED_CORRELATION_IDS = range(2**31 - 8, 2**31)

API_VERSIONS = 18
_SHORT = 2


class ChannelSecurity(NamedTuple):
    """How connections are protected, and how the client says who it is."""

    tls: "TlsContext | None" = None  # of reactor/adapters/tls.py, for a client
    sasl: Callable[[], SaslClient] | None = None  # makes one for every connection


PLAINTEXT = ChannelSecurity()


class Owner(Protocol):
    """Whom a connection tells what has happened."""

    def connected(self, connection: "ClientConnection") -> None: ...
    def received(self, connection: "ClientConnection", frame: bytes) -> None: ...
    def sent(self, connection: "ClientConnection") -> None: ...
    def closed(self, connection: "ClientConnection") -> None: ...


class ClientConnection(Connection):
    __slots__ = ("_correlation_id", "_exchange", "_owner", "_step", "authentication_error", "node")

    def __init__(
        self,
        owner: Owner,
        selector: Selector,
        node: Node,
        transport: Transport,
        exchange: SaslExchange | None = None,
    ) -> None:
        super().__init__(selector, transport, FRAME_BYTES_MAX)
        self._owner = owner
        self._exchange = exchange
        self._step: Step | None = None  # the request of the exchange that waits for its answer
        self._correlation_id = RESERVED_CORRELATION_IDS.start
        self.node = node
        self.authentication_error: KafkaError | None = None

    def send_request(self, parts: "list[Part]") -> None:
        self.send(parts)
        if not self.is_closed:
            self.touch()
            if not self.is_sending:
                self._owner.sent(self)

    @property
    def is_sending(self) -> bool:
        """A request has not gone out in full: of TLS, the last bytes may wait in the transport."""
        return self._out is not None

    # What the reactor calls

    def on_ready(self) -> None:
        if self._exchange is None:
            self._owner.connected(self)
        else:
            self._take_step(self._exchange.begin())

    def handle(self, view: memoryview, end: int) -> int:
        at = 0
        while not self.is_closed and end - at >= LENGTH_BYTES:
            behind = at + LENGTH_BYTES + self._checked(read_length(view, at)[0])
            if behind > end:
                break
            self._take(bytes(view[at + LENGTH_BYTES : behind]))
            at = behind
        return at

    def on_closed(self) -> None:
        self._owner.closed(self)

    def _take(self, frame: bytes) -> None:
        self.touch()
        try:
            if self._exchange is None:
                self._owner.received(self, frame)
            else:
                self._exchange_answered(self._exchange, frame)
        except PeerProtocolError as error:
            self.close(f"an answer that is none: {error}")

    def _prepare(self) -> None:
        try:
            super()._prepare()
        except OSError as error:
            if error.errno == EPROTO:
                self.authentication_error = SslAuthenticationFailed(f"The TLS handshake failed: {error.strerror}.")
            raise

    # Sending does not keep it from reading

    def _wait_for_room(self) -> None:
        self._watch(READABLE | WRITABLE)

    def _drained(self) -> None:
        self._out = None
        self._watch(READABLE)
        self._owner.sent(self)

    def _watch(self, interest: int) -> None:
        super()._watch(interest | WRITABLE if self._out is not None else interest)

    # The SASL exchange

    def _take_step(self, step: Step) -> None:
        self._step = step
        self._correlation_id += 1
        if self._correlation_id not in RESERVED_CORRELATION_IDS:
            self._correlation_id = RESERVED_CORRELATION_IDS.start
        self.send(request_frame(*step, self._correlation_id, None))

    def _exchange_answered(self, exchange: SaslExchange, frame: bytes) -> None:
        if self._step is None or correlation_id(frame) != self._correlation_id:
            self.close("an answer to something else, while it authenticates")
            return
        request, version = self._step
        try:
            step = exchange.answered(response_in(frame, request.api_key, version))
        except KafkaError as error:
            self._refused(error)
            return
        if step is not None:
            self._take_step(step)
            return
        self._exchange = self._step = None
        self._owner.connected(self)

    def _refused(self, error: KafkaError) -> None:
        self.authentication_error = error
        self.close(str(error))


def transport_to(node: Node, socket: Socket, security: ChannelSecurity) -> Transport:
    if security.tls is None:
        return PlainTransport(socket, is_connected=False)
    return security.tls.wrap(socket, host=node.host, is_connected=False)


def sasl_exchange(security: ChannelSecurity, software: ApiVersionsRequest) -> SaslExchange | None:
    return None if security.sasl is None else SaslExchange(security.sasl(), software)


def request_frame(request: Request, version: int, number: int, client_id: str | None) -> "list[Part]":
    """Length, header and body; records stay the buffers that they are."""
    header = RequestHeader(
        request_api_key=request.api_key, request_api_version=version, correlation_id=number, client_id=client_id
    )
    parts: list[Part] = [*whole.encode_request(header, request)]  # type: ignore[list-item]  # a file range is one
    return [LENGTH.pack(sum(map(_size, parts))), *parts]


def correlation_id(frame: bytes) -> int:
    """Every response header begins with it."""
    return int.from_bytes(frame[:LENGTH_BYTES], "big", signed=True)


def response_in(frame: bytes, api_key: int, version: int) -> Response:
    """PeerProtocolError if the bytes are none. What follows a whole response is ignored, as Kafka's clients do.

    A node that does not know the version of an ApiVersions request answers in version 0, with this one error.
    """
    if api_key == API_VERSIONS and _error_code(frame) == errors.UnsupportedVersion.code:
        version = 0
    return whole.decode_response(frame, api_key, version)[1]


def _error_code(frame: bytes) -> int:
    return int.from_bytes(frame[LENGTH_BYTES : LENGTH_BYTES + _SHORT], "big", signed=True)


def _size(part: Part) -> int:
    return len(part) if isinstance(part, (bytes, bytearray, memoryview)) else part.size
