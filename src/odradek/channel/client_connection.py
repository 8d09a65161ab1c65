"""A connection to one node: requests out, frames in, and before that whatever proves who the two are.

    socket connected -> TLS handshake -> SASL exchange -> owner.connected()      each only where it is configured

It goes on reading while a request has not gone out in full: the peer may be unable to take it because we do not take
its answers, and then each would wait for the other for ever.

A broker may end a session some time after its login (KIP-368). Shortly before, the next request waits for one more SASL
exchange on the open connection; answers to requests that went out earlier are told from those of the exchange by their
correlation ids, and handed on as they come.

A small frame is copied out of the buffer that all connections share before it is decoded: who asked gets the answer in
a later callback, when that buffer holds something else. A large one is received into memory of its own, which stays
with its answer: the records of a fetch are handed out from where they have come.
"""

from collections.abc import Callable
from errno import EPROTO
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from odradek.broken_rule import present
from odradek.channel.errors import SslAuthenticationFailed
from odradek.channel.node import Node
from odradek.channel.sasl_client import SaslClient, SaslExchange, Step, Wait
from odradek.protocol import apis, errors, whole
from odradek.protocol.apis import API_VERSIONS
from odradek.protocol.declare import Request, Response
from odradek.protocol.errors import KafkaError, PeerProtocolError
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k18_api_versions import ApiVersionsRequest
from odradek.protocol.parts import Buffer
from odradek.reactor.connection import Connection
from odradek.reactor.file_range import FileRange
from odradek.reactor.frames import LENGTH, LENGTH_BYTES, OwnedFrame, PartialFrame, read_length
from odradek.reactor.pending import Pending
from odradek.reactor.ports import READABLE, WRITABLE, Socket, Stream
from odradek.reactor.selector import Selector
from odradek.reactor.send_queue import Part
from odradek.reactor.transport import HandshakeCutOff, PlainTransport, Transport

if TYPE_CHECKING:
    from odradek.reactor.tls import TlsContext

FRAME_BYTES_MAX = 2**31 - 1  # a client trusts its broker
OWNED_BYTES_MAX = 64 * 1024 * 1024  # that are taken because they were announced; of more, only as they come

# Correlation ids of the SASL exchange: no request has one of them, so that an exchange may take place between requests
# and its answers be told from theirs.
RESERVED_CORRELATION_IDS = range(2**31 - 8, 2**31)

# When to authenticate again, as parts of a session's lifetime: early enough for a slow network and clocks that differ,
# and spread, so that clients which came together do not all do it together. Kafka's own numbers.
REAUTHENTICATION_MIN, REAUTHENTICATION_SPREAD = 0.85, 0.10

TLS_ALERT = b"\x15\x03"  # how one begins; read as the length of an answer it would be 336 MB and more

_SHORT = 2


class ChannelSecurity(NamedTuple):
    """How connections are protected, and how the client says who it is."""

    tls: "TlsContext | None" = None  # of reactor/adapters/tls.py, for a client
    sasl: Callable[[], SaslClient] | None = None  # makes one for every login


PLAINTEXT = ChannelSecurity()


class Owner(Protocol):
    """Whom a connection tells what has happened."""

    def connected(self, connection: "ClientConnection") -> None: ...
    def received(self, connection: "ClientConnection", frame: Buffer) -> None: ...
    def sent(self, connection: "ClientConnection", *, has_waited: bool) -> None: ...
    def closed(self, connection: "ClientConnection") -> None: ...


class ClientConnection(Connection):
    __slots__ = (
        "_again_ms",
        "_chance",
        "_correlation_id",
        "_exchange",
        "_is_authenticating",
        "_owner",
        "_step",
        "_waiting",
        "authentication_error",
        "node",
        "was_cut_off_in_handshake",
    )

    def __init__(
        self,
        owner: Owner,
        selector: Selector,
        node: Node,
        transport: Transport,
        exchange: SaslExchange | None,
        chance: Stream,
    ) -> None:
        super().__init__(selector, transport, FRAME_BYTES_MAX)
        self._owner = owner
        self._exchange = exchange
        self._chance = chance
        self._is_authenticating = exchange is not None
        self._again_ms: int | None = None  # when the next request waits for another exchange
        self._waiting: list[Part] | None = None  # that request
        self._step: Step | None = None  # the request of the exchange that waits for its answer
        self._correlation_id = RESERVED_CORRELATION_IDS.start
        self._recv_into = self._receive_first
        self.node = node
        self.authentication_error: KafkaError | None = None
        self.was_cut_off_in_handshake = False

    def send_request(self, parts: "list[Part]") -> None:
        if self._again_ms is not None and self.selector.mono_ms() >= self._again_ms:
            self._authenticate_again(parts)
        else:
            self._send_now(parts, has_waited=False)

    def _send_now(self, parts: "list[Part]", *, has_waited: bool) -> None:
        self.send(parts)
        if not self.is_closed:
            self.selector.touch(self)
            if not self.is_sending:
                self._owner.sent(self, has_waited=has_waited)

    @property
    def is_sending(self) -> bool:
        """A request has not gone out in full: of TLS, the last bytes may wait in the transport."""
        return self._out is not None or self._waiting is not None

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
            self.selector.memory.lent.was_not_needed()
        return at

    def on_closed(self) -> None:
        self._owner.closed(self)

    def _begin(self, beginning: memoryview, total: int) -> None:
        """A large answer is received into memory of its own, and its records stay there until they are handed out."""
        if total > OWNED_BYTES_MAX:
            super()._begin(beginning, total)
            return
        memory = self.selector.memory
        memory.reserve(total)
        self._partial = OwnedFrame(memory, total, beginning)

    def _complete(self, partial: PartialFrame) -> None:
        if not isinstance(partial, OwnedFrame):
            super()._complete(partial)
            return
        self._partial = None
        partial.release()
        self._take(partial.whole()[LENGTH_BYTES:])

    def _take(self, frame: Buffer) -> None:
        self.selector.touch(self)
        try:
            if self._exchange is None or not self._is_of_exchange(frame):
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
                self._tls_failed(f"the TLS handshake failed: {error.strerror}")
            self.was_cut_off_in_handshake = isinstance(error, HandshakeCutOff)
            raise

    def _receive_first(self, buffer: memoryview) -> int:
        """Whether a certificate was good enough a server tells behind the handshake; and who was not meant to be spoken
        to without TLS may answer with an alert of TLS.
        """
        try:
            received = self.transport.recv_into(buffer)
        except OSError as error:
            if error.errno == EPROTO:
                self._tls_failed(f"the broker refused the connection: {error.strerror}")
            raise
        if bytes(buffer[:received]).startswith(TLS_ALERT):
            self._tls_failed("it answers with TLS: set security.protocol to SSL or SASL_SSL")
            raise OSError(EPROTO, "it answers with TLS")
        self._recv_into = self.transport.recv_into
        return received

    def _tls_failed(self, reason: str) -> None:
        self.authentication_error = SslAuthenticationFailed(f"{self.node}: {reason}.")

    def speaks_no_tls(self) -> None:
        """It has hung up within the handshake so often that it is no accident."""
        self._tls_failed("it closes the connection within the TLS handshake: does it speak TLS (security.protocol)?")

    # Sending does not keep it from reading

    def _wait_for_room(self) -> None:
        self._watch(READABLE | WRITABLE)

    def _drained(self) -> None:
        self._out = None
        self._watch(READABLE)
        if not self._is_authenticating:  # else what has gone out is no request of the owner's
            self._owner.sent(self, has_waited=True)

    def _watch(self, interest: int) -> None:
        super()._watch(interest | WRITABLE if self._out is not None else interest)

    # The SASL exchange

    def _take_step(self, step: Step) -> None:
        self._step = step
        self._correlation_id += 1
        if self._correlation_id not in RESERVED_CORRELATION_IDS:
            self._correlation_id = RESERVED_CORRELATION_IDS.start
        self.send(request_frame(*step, self._correlation_id, None))

    def _exchange_answered(self, exchange: SaslExchange, frame: Buffer) -> None:
        if self._step is None or correlation_id(frame) != self._correlation_id:
            self.close("an answer to something else, while it authenticates")
            return
        request, version = self._step
        try:
            step = exchange.answered(response_in(frame, request.api_key, version))
        except KafkaError as error:
            self._refused(error)
            return
        if step is None:
            self._authenticated(exchange)
        elif isinstance(step, Wait):
            self._step = None
            self.selector.loop.submit(step.job).when_done(self._token_made)
        else:
            self._take_step(step)

    def _token_made(self, done: "Pending[bytes]") -> None:
        """Whoever could not make a token cannot log in; one whose server was out of reach may try again."""
        if self.is_closed:
            return
        exchange = present(self._exchange, "who waits for a token logs in")
        try:
            self._take_step(exchange.made(done.value()))
        except KafkaError as error:
            self._refused(error)
        except OSError as error:
            self.close(f"no token to log in with: {error.strerror or error}")
        except Exception as error:  # noqa: BLE001 - a program's own function may fail in any way
            refusal = errors.SaslAuthenticationFailed(f"No token to log in with: {type(error).__qualname__}: {error}")
            refusal.__cause__ = error
            self._refused(refusal)

    def _authenticated(self, exchange: SaslExchange) -> None:
        self._step = None
        self._is_authenticating = False
        if exchange.session_lifetime_ms > 0:
            part = REAUTHENTICATION_MIN + REAUTHENTICATION_SPREAD * self._chance.fraction()
            self._again_ms = self.selector.mono_ms() + int(exchange.session_lifetime_ms * part)
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            self._owner.connected(self)
        else:
            self._send_now(waiting, has_waited=True)  # however short the session is, one request goes through

    def _authenticate_again(self, parts: "list[Part]") -> None:
        """Before this request, and in its place: it goes out when the server is convinced once more."""
        exchange = present(self._exchange, "only who has logged in has a session that ends")
        self._waiting = parts
        self._again_ms = None
        self._is_authenticating = True
        self._take_step(exchange.begin_again())

    def _is_of_exchange(self, frame: Buffer) -> bool:
        """The first exchange is alone on its connection: whatever comes is its answer, or wrong."""
        return self._is_authenticating and (self._waiting is None or correlation_id(frame) in RESERVED_CORRELATION_IDS)

    def _refused(self, error: KafkaError) -> None:
        self.authentication_error = error
        self.close(str(error))


def transport_to(node: Node, socket: Socket, security: ChannelSecurity) -> Transport:
    if security.tls is None:
        return PlainTransport(socket, is_connected=False)
    return security.tls.wrap(socket, host=node.host, is_connected=False)


def sasl_exchange(security: ChannelSecurity, software: ApiVersionsRequest) -> SaslExchange | None:
    return None if security.sasl is None else SaslExchange(security.sasl, software)


def request_frame(request: Request, version: int, number: int, client_id: str | None) -> "list[Part]":
    """Length, header and body; records stay the buffers that they are."""
    before, behind = _around_number(request.api_key, version, client_id)
    parts: list[Any] = request.encode(version)  # Any: that none is a file range shows when its length is asked for
    size = len(before) + LENGTH_BYTES + len(behind) + _total(parts)
    return [b"".join((LENGTH.pack(size), before, LENGTH.pack(number), behind)), *parts]


@lru_cache(maxsize=256)
def _around_number(api_key: int, version: int, client_id: str | None) -> tuple[bytes, bytes]:
    """What stands before and behind the correlation id in the header of every such request."""
    header = RequestHeader(request_api_key=api_key, request_api_version=version, correlation_id=0, client_id=client_id)
    encoded = header.to_bytes(apis.by_key(api_key).request_header_version(version))
    return encoded[:LENGTH_BYTES], encoded[2 * LENGTH_BYTES :]


def correlation_id(frame: Buffer) -> int:
    """Every response header begins with it."""
    return int.from_bytes(frame[:LENGTH_BYTES], "big", signed=True)


def response_in(frame: Buffer, api_key: int, version: int) -> Response:
    """PeerProtocolError if the bytes are none. What follows a whole response is ignored, as Kafka's clients do.

    A node that does not know the version of an ApiVersions request answers in version 0, with this one error.
    """
    if api_key == API_VERSIONS and _error_code(frame) == errors.UnsupportedVersion.code:
        version = 0
    return whole.decode_response(frame, api_key, version)[1]


def _error_code(frame: Buffer) -> int:
    return int.from_bytes(frame[LENGTH_BYTES : LENGTH_BYTES + _SHORT], "big", signed=True)


def _total(parts: list[Any]) -> int:
    try:
        return sum(map(len, parts))
    except TypeError:  # a file range has no length
        return sum(part.size if isinstance(part, FileRange) else len(part) for part in parts)
