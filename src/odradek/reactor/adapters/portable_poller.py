"""A poller for systems without epoll, with what Python has for all of them: clients run on those, too."""

import socket
from contextlib import suppress
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector

from odradek.reactor.ports import READABLE, WRITABLE, Pollable

_TO_EVENTS = {READABLE: EVENT_READ, WRITABLE: EVENT_WRITE, READABLE | WRITABLE: EVENT_READ | EVENT_WRITE}
_FROM_EVENTS = {events: readiness for readiness, events in _TO_EVENTS.items()}
_WAKE_BYTES_MAX = 4096  # that are taken in at a time: each is one call of `wake`


class _Waker:
    """The end that `wake` writes to. It is closed when nobody has it in hand any more: another thread may be about to
    write while the poller is closed, and its number could be that of another file by then.
    """

    __slots__ = ("end",)

    def __init__(self, end: socket.socket) -> None:
        self.end = end

    def __del__(self) -> None:
        self.end.close()


class PortablePoller:
    __slots__ = ("_last_told", "_once", "_polls", "_selector", "_waker", "_woken")

    def __init__(self) -> None:
        self._selector = DefaultSelector()
        self._once: set[int] = set()
        self._polls = 0
        self._last_told: dict[int, int] = {}  # by fileno: in which poll it was picked from more than were asked for
        self._woken, waker = socket.socketpair()
        for end in (self._woken, waker):
            end.setblocking(False)
        self._waker: _Waker | None = _Waker(waker)
        self._selector.register(self._woken, EVENT_READ)

    def fileno(self) -> int:
        return self._selector.fileno()  # epoll's and kqueue's have one

    def watch(self, source: Pollable, interest: int, *, once: bool = False) -> None:
        fileno = source.fileno()
        self._forget(fileno)
        if interest:
            self._selector.register(fileno, _TO_EVENTS[interest])
            if once:
                self._once.add(fileno)

    def unwatch(self, source: Pollable) -> None:
        self._forget(source.fileno())
        self._last_told.pop(source.fileno(), None)

    def poll(self, timeout_ms: int | None, events_max: int = 0) -> list[tuple[int, int]]:
        found = self._selector.select(None if timeout_ms is None else timeout_ms / 1000)
        ready = [(key.fd, _FROM_EVENTS[events]) for key, events in found if not self._is_wake(key.fd)]
        if events_max and len(ready) > events_max:
            ready = self._in_turn(ready, events_max)
        for fileno, _ in ready:
            if fileno in self._once:
                self._forget(fileno)
        return ready

    def wake(self) -> None:
        waker = self._waker
        if waker is not None:
            with suppress(OSError):  # it is full, so that a poll will end; or the other end is closed, and nobody polls
                waker.end.send(b"\0")

    def close(self) -> None:
        self._selector.close()
        self._waker = None
        self._woken.close()

    def _in_turn(self, ready: list[tuple[int, int]], events_max: int) -> list[tuple[int, int]]:
        """Those first that were not told of for longest: a selector tells of the same ones first every time."""
        last_told = self._last_told
        self._polls += 1
        picked = sorted(ready, key=lambda event: last_told.get(event[0], 0))[:events_max]
        last_told.update((fileno, self._polls) for fileno, _ in picked)
        return picked

    def _forget(self, fileno: int) -> None:
        self._once.discard(fileno)
        if fileno in self._selector.get_map():
            self._selector.unregister(fileno)

    def _is_wake(self, fileno: int) -> bool:
        if fileno != self._woken.fileno():
            return False
        with suppress(BlockingIOError):
            self._woken.recv(_WAKE_BYTES_MAX)
        return True
