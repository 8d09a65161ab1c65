"""What carries a connection's bytes: a plain socket, or TLS on top of one (`tls.py`).

An operation that would block raises BlockingIOError, as a socket's does. A transport may hold bytes of its own in both
directions: decrypted ones that nobody has read yet, and encrypted ones that the socket did not take.
"""

from collections.abc import Sequence
from typing import Protocol

from odradek.reactor.ports import Buffer, DiskFile, Socket


class HandshakeCutOff(ConnectionError):  # noqa: N818 - it tells what the peer did
    """The peer has hung up within the TLS handshake: as who speaks no TLS does."""


class Transport(Protocol):
    is_ready: bool  # payload may be moved: connected, and for TLS shaken hands
    is_buffered: bool  # it may hold bytes of its own: else there is nothing to ask `has_input` and `flush`

    @property
    def peer(self) -> tuple[str, int]: ...
    def fileno(self) -> int: ...
    def recv_into(self, buffer: memoryview) -> int:
        """How many bytes came; 0 when the peer will send no more."""
        ...

    def send(self, parts: Sequence[Buffer]) -> int: ...
    def send_one(self, part: Buffer) -> int: ...
    def send_file(self, file: DiskFile, position: int, size: int) -> int:
        """How many bytes went out; 0 if the file ends before `position`."""
        ...

    def widen(self) -> None:
        """Large answers are to come: see the socket's."""
        ...

    def prepare(self) -> bool:
        """Goes on with what comes before the payload; True once `is_ready`."""
        ...

    def has_input(self) -> bool:
        """There may be bytes to read of which a poller knows nothing."""
        ...

    def flush(self) -> bool:
        """Hands the socket what it did not take before; True when nothing is left."""
        ...

    def subject(self) -> tuple[tuple[tuple[str, str], ...], ...] | None:
        """The distinguished name in the certificate that the peer has shown, if it has."""
        ...

    def close(self) -> None: ...


class PlainTransport:
    """The socket itself. Methods of the hot path are taken over as they are; each takes memory for every connection."""

    __slots__ = ("_socket", "is_buffered", "is_ready", "recv_into", "send_one")

    def __init__(self, socket: Socket, *, is_connected: bool = True) -> None:
        self._socket = socket
        self.is_ready = is_connected
        self.is_buffered = False
        self.recv_into = socket.recv_into
        self.send_one = socket.send_one

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, parts: Sequence[Buffer]) -> int:
        return self._socket.send(parts)

    def send_file(self, file: DiskFile, position: int, size: int) -> int:
        return self._socket.send_file(file, position, size)

    def widen(self) -> None:
        self._socket.widen()

    @property
    def peer(self) -> tuple[str, int]:
        return self._socket.peer

    def prepare(self) -> bool:
        self._socket.finish_connect()
        self.is_ready = True
        return True

    def has_input(self) -> bool:
        return False

    def flush(self) -> bool:
        return True

    def subject(self) -> None:
        return None

    def close(self) -> None:
        self._socket.close()
