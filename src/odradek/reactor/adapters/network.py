"""Sockets of this machine: non-blocking, without Nagle's delay, watched by epoll."""

import os
import select
import socket
from collections.abc import Sequence
from errno import EINPROGRESS
from typing import cast

from odradek.reactor.adapters.disk import SystemFile
from odradek.reactor.ports import READABLE, WRITABLE, Buffer, DiskFile, Pollable

IOV_MAX = 1024  # the most buffers that one system call takes

# Of a peer that does not read, so much waits in the kernel, not all that a send buffer can grow to: who floods us with
# requests and reads nothing is stopped after some hundred small answers. For who is sent large ones it is more, so that
# a fetch of 1 MB goes out in one turn.
NOT_SENT_BYTES_MAX = 128 * 1024
WIDE_NOT_SENT_BYTES_MAX = 1280 * 1024
assert select.EPOLLIN == READABLE, "what epoll tells of input can be passed on as it is"
_ODD = 8  # readable and writable are bits below it
_FAILED = select.EPOLLERR | select.EPOLLHUP
_TO_EPOLL = {READABLE: select.EPOLLIN, WRITABLE: select.EPOLLOUT, READABLE | WRITABLE: select.EPOLLIN | select.EPOLLOUT}
_FROM_EPOLL = tuple(
    (READABLE if mask & select.EPOLLIN else 0) | (WRITABLE if mask & select.EPOLLOUT else 0) for mask in range(8)
)


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


class SystemPoller:
    __slots__ = ("_epoll", "_interests", "_wake_fd")

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._interests: dict[int, int] = {}
        self._wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._epoll.register(self._wake_fd, select.EPOLLIN)

    def fileno(self) -> int:
        return self._epoll.fileno()

    def watch(self, source: Pollable, interest: int, *, once: bool = False) -> None:
        if not interest:
            self.unwatch(source)
            return
        fileno = source.fileno()
        mask = _TO_EPOLL[interest] | select.EPOLLONESHOT if once else _TO_EPOLL[interest]
        if fileno in self._interests:
            self._epoll.modify(fileno, mask)
        else:
            self._epoll.register(fileno, mask)
        self._interests[fileno] = interest

    def unwatch(self, source: Pollable) -> None:
        fileno = source.fileno()
        if self._interests.pop(fileno, None) is not None:
            self._epoll.unregister(fileno)

    def poll(self, timeout_ms: int | None, events_max: int = 0) -> list[tuple[int, int]]:
        timeout = None if timeout_ms is None else timeout_ms / 1000
        events = self._epoll.poll(timeout, events_max or len(self._interests) + 1)
        for fileno, mask in events:
            if mask != READABLE or fileno == self._wake_fd:
                break
        else:
            return events  # nearly always: they say it as we do
        return [
            (fileno, _FROM_EPOLL[mask]) if mask < _ODD else self._readiness(fileno, mask)
            for fileno, mask in events
            if fileno != self._wake_fd or self._woken()
        ]

    def _readiness(self, fileno: int, mask: int) -> tuple[int, int]:
        return fileno, self._interests[fileno] if mask & _FAILED else _FROM_EPOLL[mask & 7]

    def _woken(self) -> bool:
        os.eventfd_read(self._wake_fd)
        return False

    def wake(self) -> None:
        fd = self._wake_fd
        if fd >= 0:  # a job may end after the poller was closed
            os.eventfd_write(fd, 1)

    def close(self) -> None:
        self._epoll.close()
        fd, self._wake_fd = self._wake_fd, -1
        if fd >= 0:
            os.close(fd)


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
        connecting = socket.socket(_family(host), socket.SOCK_STREAM)
        connecting.setblocking(False)
        error = connecting.connect_ex((host, port))
        return SystemSocket(connecting, (host, port), 0 if error == EINPROGRESS else error)

    def resolve(self, host: str, port: int) -> list[tuple[str, int]]:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return list(dict.fromkeys((str(address[0]), port) for *_, address in found))

    def poller(self) -> SystemPoller:
        return SystemPoller()


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
