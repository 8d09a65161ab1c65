"""A poller for systems without epoll, with what Python has for all of them: clients run on those, too."""

import socket
from contextlib import suppress
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector

from odradek.reactor.ports import READABLE, WRITABLE, Pollable

_TO_EVENTS = {READABLE: EVENT_READ, WRITABLE: EVENT_WRITE, READABLE | WRITABLE: EVENT_READ | EVENT_WRITE}
_FROM_EVENTS = {events: readiness for readiness, events in _TO_EVENTS.items()}
_WAKE_BYTES_MAX = 4096  # that are taken in at a time: each is one call of `wake`


class PortablePoller:
    __slots__ = ("_once", "_selector", "_waker", "_woken")

    def __init__(self) -> None:
        self._selector = DefaultSelector()
        self._once: set[int] = set()
        self._woken, self._waker = socket.socketpair()
        for end in (self._woken, self._waker):
            end.setblocking(False)
        self._selector.register(self._woken, EVENT_READ)

    def fileno(self) -> int:
        return self._selector.fileno()  # epoll's and kqueue's have one

    def watch(self, source: Pollable, interest: int, *, once: bool = False) -> None:
        self.unwatch(source)
        if interest:
            self._selector.register(source.fileno(), _TO_EVENTS[interest])
            if once:
                self._once.add(source.fileno())

    def unwatch(self, source: Pollable) -> None:
        fileno = source.fileno()
        self._once.discard(fileno)
        if fileno in self._selector.get_map():
            self._selector.unregister(fileno)

    def poll(self, timeout_ms: int | None, events_max: int = 0) -> list[tuple[int, int]]:
        found = self._selector.select(None if timeout_ms is None else timeout_ms / 1000)
        ready = [(key.fd, _FROM_EVENTS[events]) for key, events in found if not self._is_wake(key.fd)]
        ready = ready[:events_max] if events_max else ready
        for fileno, _ in ready:
            if fileno in self._once:
                self._once.discard(fileno)
                self._selector.unregister(fileno)
        return ready

    def wake(self) -> None:
        with suppress(OSError):  # it is full, so that a poll will end; or closed, and nobody polls
            self._waker.send(b"\0")

    def close(self) -> None:
        self._selector.close()
        self._woken.close()
        self._waker.close()

    def _is_wake(self, fileno: int) -> bool:
        if fileno != self._woken.fileno():
            return False
        with suppress(BlockingIOError):
            self._woken.recv(_WAKE_BYTES_MAX)
        return True
