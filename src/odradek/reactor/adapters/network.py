"""Sockets of this machine: non-blocking, without Nagle's delay."""

import os
import socket
from collections.abc import Sequence
from errno import EINPROGRESS
from typing import cast

from odradek.reactor.adapters.disk import SystemFile
from odradek.reactor.ports import Buffer, DiskFile, Poller

IOV_MAX = 1024  # the most buffers that one system call takes

# Of a peer that does not read, so much waits in the kernel, not all that a send buffer can grow to: who floods us with
# requests and reads nothing is stopped after some hundred small answers. For who is sent large ones it is more, so that
# a fetch of 1 MB goes out in one turn.
NOT_SENT_BYTES_MAX = 128 * 1024
WIDE_NOT_SENT_BYTES_MAX = 1280 * 1024


class SystemSocket:
    __slots__ = ("_failed_at_once", "_socket", "peer", "recv_into", "send_one")

    def __init__(self, connected: socket.socket, peer: tuple[str, int], failed_at_once: int = 0) -> None:
        self._socket = connected
        self.peer = peer
        self._failed_at_once = failed_at_once
        self.recv_into = connected.recv_into  # the system's own methods: nothing to add on the hot path
        self.send_one = connected.send
        connected.setblocking(False)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # a peer without power says no good-bye

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, parts: Sequence[Buffer]) -> int:
        return self._socket.sendmsg(parts[:IOV_MAX])

    def send_file(self, file: DiskFile, position: int, size: int) -> int:
        return os.sendfile(self._socket.fileno(), cast(SystemFile, file).fd, position, size)

    def widen(self) -> None:
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, WIDE_NOT_SENT_BYTES_MAX)

    def finish_connect(self) -> None:
        error = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) or self._failed_at_once
        if error:
            raise OSError(error, f"cannot connect to {self.peer[0]}:{self.peer[1]}: {os.strerror(error)}")

    def close(self) -> None:
        self._socket.close()


class SystemListener:
    __slots__ = ("_socket", "address")

    def __init__(self, listening: socket.socket) -> None:
        listening.setblocking(False)
        self._socket = listening
        self.address: tuple[str, int] = listening.getsockname()[:2]

    def fileno(self) -> int:
        return self._socket.fileno()

    def accept(self) -> SystemSocket:
        accepted, peer = self._socket.accept()
        return SystemSocket(accepted, peer[:2])

    def close(self) -> None:
        self._socket.close()


class SystemNetwork:
    __slots__ = ()

    def listen(
        self, host: str, port: int, backlog: int = 128, *, send_buffer_bytes: int = -1, receive_buffer_bytes: int = -1
    ) -> SystemListener:
        listening = socket.socket(_family(host), socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, NOT_SENT_BYTES_MAX)
            if send_buffer_bytes >= 0:  # an accepted socket has the options of the one that listens
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
            if receive_buffer_bytes >= 0:
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
            listening.bind((host or "0.0.0.0", port))
            listening.listen(backlog)
            return SystemListener(listening)
        except BaseException:
            listening.close()
            raise

    def connect(self, host: str, port: int) -> SystemSocket:
        connecting = self._stream_socket(host)
        connecting.setblocking(False)
        error = connecting.connect_ex((host, port))
        return SystemSocket(connecting, (host, port), 0 if error == EINPROGRESS else error)

    def resolve(self, host: str, port: int) -> list[tuple[str, int]]:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return list(dict.fromkeys((str(address[0]), port) for *_, address in found))

    def poller(self) -> Poller:
        from odradek.reactor.adapters.poller import SystemPoller  # not at the top: clients run where there is no epoll

        return SystemPoller()

    def _stream_socket(self, host: str) -> socket.socket:
        return socket.socket(_family(host), socket.SOCK_STREAM)


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
