"""TLS as a transport: an SSLObject between two memory buffers, on whatever socket there is, a simulated one too.

Ciphertext is received into one scratch buffer that all connections of a context share. At most `OUTGOING_BYTES_MAX` of
it wait for the socket: before more is encrypted, what is there has to go. Bytes that are no TLS, and a peer that ends
the stream without saying so, are an OSError like any other broken connection.

Only a node with a TLS listener imports this module: `ssl` costs some milliseconds.
"""

import ssl
from collections.abc import Sequence
from contextlib import suppress
from errno import ECONNABORTED, EPROTO
from typing import NoReturn, cast

from odradek.reactor.ports import Buffer, DiskFile, Socket
from odradek.reactor.transport import HandshakeCutOff

CIPHER_SCRATCH_BYTES = 64 * 1024
ENCRYPT_BYTES_MAX = 64 * 1024  # in one call
OUTGOING_BYTES_MAX = 256 * 1024
# To who speaks no TLS, OpenSSL says nothing. This tells that TLS is spoken here: a fatal alert, unexpected message.
NO_TLS_ALERT = b"\x15\x03\x01\x00\x02\x02\x0a"


class TlsContext:
    """What the connections of one listener, or of one client, share. The SSLContext comes from an adapter."""

    __slots__ = ("cipher_scratch", "is_server", "ssl_context")

    def __init__(self, ssl_context: ssl.SSLContext, *, is_server: bool) -> None:
        self.ssl_context = ssl_context
        self.is_server = is_server
        self.cipher_scratch = memoryview(bytearray(CIPHER_SCRATCH_BYTES))

    def wrap(self, socket: Socket, *, host: str | None = None, is_connected: bool = True) -> "TlsTransport":
        """`host` is whom a client expects to meet."""
        return TlsTransport(self, socket, host, is_connected)


class TlsTransport:
    __slots__ = (
        "_cipher_scratch",
        "_incoming",
        "_is_connected",
        "_may_have_more",
        "_object",
        "_outgoing",
        "_socket",
        "_unsent",
        "fileno",
        "is_buffered",
        "is_ready",
    )

    def __init__(self, context: TlsContext, socket: Socket, host: str | None, is_connected: bool) -> None:
        self._socket = socket
        self.fileno = socket.fileno
        self.is_ready = False
        self.is_buffered = True
        self._is_connected = is_connected
        self._cipher_scratch = context.cipher_scratch
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._unsent: memoryview | None = None
        self._may_have_more = False
        self._object = context.ssl_context.wrap_bio(
            self._incoming, self._outgoing, server_side=context.is_server, server_hostname=host
        )

    @property
    def peer(self) -> tuple[str, int]:
        return self._socket.peer

    def prepare(self) -> bool:
        if not self._is_connected:
            self._socket.finish_connect()
            self._is_connected = True
        while not self.is_ready:
            try:
                self._object.do_handshake()
                self.is_ready = True
                self._may_have_more = self._incoming.pending > 0
            except ssl.SSLWantReadError:
                self._hear_the_peer()
            except ssl.SSLError as error:
                if not self._outgoing.pending:
                    self._outgoing.write(NO_TLS_ALERT)
                self.flush()  # the alert tells the peer what was wrong
                _broken(error)
        return True

    def _hear_the_peer(self) -> None:
        """A peer that speaks no TLS hangs up here, one way or the other."""
        try:
            self.flush()
            is_open = self._take_in() > 0
        except (ConnectionResetError, BrokenPipeError) as error:
            raise HandshakeCutOff(error.errno, f"{error.strerror}, within the TLS handshake") from None
        if not is_open:
            raise HandshakeCutOff(ECONNABORTED, "closed within the TLS handshake") from None

    def recv_into(self, buffer: memoryview) -> int:
        self._may_have_more = False
        got = self._decrypt(buffer)
        if not got:
            if not self._take_in():
                return 0
            got = self._decrypt(buffer)
        if not got:
            if self._has_ended():
                return 0
            raise BlockingIOError
        self._may_have_more = got == len(buffer)
        return got

    def send(self, parts: Sequence[Buffer]) -> int:
        sent = 0
        for part in parts:
            view = memoryview(part)
            while len(view):
                if not self._has_room():
                    return self._taken(sent)
                taken = self._encrypt(view[:ENCRYPT_BYTES_MAX])
                sent += taken
                view = view[taken:]
        self.flush()
        return sent

    def send_one(self, part: Buffer) -> int:
        return self.send((part,))

    def widen(self) -> None:
        self._socket.widen()

    def send_file(self, file: DiskFile, position: int, size: int) -> int:
        """There is no sendfile through a cipher. Whoever queued the range has seen that it is in the page cache."""
        if not self._has_room():
            raise BlockingIOError
        size = min(size, ENCRYPT_BYTES_MAX)
        data = file.pread_nowait(size, position)
        if data is None:
            data = file.pread(size, position)
        return self.send_one(data) if data else 0

    def has_input(self) -> bool:
        return self._may_have_more

    def flush(self) -> bool:
        while True:
            if self._unsent is None:
                if not self._outgoing.pending:
                    return True
                self._unsent = memoryview(self._outgoing.read())
            try:
                sent = self._socket.send_one(self._unsent)
            except BlockingIOError:
                return False
            self._unsent = self._unsent[sent:] if sent < len(self._unsent) else None

    def subject(self) -> tuple[tuple[tuple[str, str], ...], ...] | None:
        certificate = self._object.getpeercert()
        return certificate.get("subject") if certificate else None  # type: ignore[return-value]

    def close(self) -> None:
        try:
            if self.is_ready:
                self._say_goodbye()
        finally:
            self._socket.close()

    # How it goes

    def _say_goodbye(self) -> None:
        """Tells the peer that the stream ends here, if it still listens; nobody waits for its answer."""
        with suppress(OSError):  # every SSLError is one of them
            self._object.unwrap()
        with suppress(OSError):
            self.flush()

    def _take_in(self) -> int:
        """Ciphertext from the socket; how much. BlockingIOError if there is none."""
        received = self._socket.recv_into(self._cipher_scratch)
        if received:
            self._incoming.write(self._cipher_scratch[:received])
        else:
            self._incoming.write_eof()
        return received

    def _decrypt(self, buffer: memoryview) -> int:
        """Fills the buffer from what has come; 0 if that is not a whole record yet."""
        filled = 0
        try:
            while filled < len(buffer):
                # into a buffer it returns a count, whatever its annotation says
                got = cast(int, self._object.read(len(buffer) - filled, buffer[filled:]))
                if not got:
                    break
                filled += got
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError, ssl.SSLEOFError):
            pass
        except ssl.SSLError as error:
            if not filled:
                self.flush()
                _broken(error)
        return filled

    def _has_ended(self) -> bool:
        """The peer has said that nothing more comes."""
        try:
            return not self._object.read(1)
        except ssl.SSLWantReadError:
            return False
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return True
        except ssl.SSLError as error:
            _broken(error)

    def _has_room(self) -> bool:
        if self._outgoing.pending + (len(self._unsent) if self._unsent is not None else 0) < OUTGOING_BYTES_MAX:
            return True
        return self.flush()

    def _taken(self, sent: int) -> int:
        if not sent:
            raise BlockingIOError
        return sent

    def _encrypt(self, view: memoryview) -> int:
        try:
            return self._object.write(view)
        except ssl.SSLError as error:
            _broken(error)


def _broken(error: ssl.SSLError) -> NoReturn:
    raise OSError(EPROTO, f"TLS: {error.reason or error}") from None
