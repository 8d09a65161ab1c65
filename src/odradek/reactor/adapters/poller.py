"""epoll, and a short look before a sleep.

To sleep and to be woken costs a virtual machine more than a small request does. A client that asks again as soon as it
has its answer comes back within a moment, so while such clients do, the poller looks again and again for that moment
before it sleeps. More than one moment in sixteen in vain, and it sleeps at once as before: with clients that come now
and then it spends nothing.
"""

import os
import select
from collections.abc import Callable
from time import monotonic_ns

from odradek.broken_rule import require
from odradek.reactor.ports import READABLE, WRITABLE, Pollable

MOMENT_NS = 60_000
SHORT_NS = 120_000  # a sleep that a moment of looking would have spared us, with the time that it takes to be woken
LOOKING_SCORE = 16  # short sleeps, before it looks
SCORE_MAX = 64
IN_VAIN = 16  # of what a moment of looking saves, a moment in vain costs so much

require(select.EPOLLIN == READABLE, "what epoll tells of input can be passed on as it is")
_ODD = 8  # readable and writable are bits below it
_FAILED = select.EPOLLERR | select.EPOLLHUP
_TO_EPOLL = {READABLE: select.EPOLLIN, WRITABLE: select.EPOLLOUT, READABLE | WRITABLE: select.EPOLLIN | select.EPOLLOUT}
_FROM_EPOLL = tuple(
    (READABLE if mask & select.EPOLLIN else 0) | (WRITABLE if mask & select.EPOLLOUT else 0) for mask in range(8)
)

Events = list[tuple[int, int]]
Poll = Callable[[float | None, int], Events]  # epoll's: at most so many seconds, None for ever, and so many events


class Sleeper:
    """Waits for events; looks for a moment first where that has been worth it."""

    __slots__ = ("_mono_ns", "_poll", "_score")

    def __init__(self, poll: Poll, mono_ns: Callable[[], int] = monotonic_ns) -> None:
        self._poll = poll
        self._mono_ns = mono_ns
        self._score = 0

    def wait(self, timeout: float | None, events_max: int) -> Events:
        poll, mono_ns = self._poll, self._mono_ns
        began_ns = now_ns = mono_ns()
        if self._score >= LOOKING_SCORE:
            until_ns = began_ns + MOMENT_NS
            while now_ns < until_ns:
                events = poll(0, events_max)
                if events:
                    self._score = min(self._score + 1, SCORE_MAX)
                    return events
                now_ns = mono_ns()
        events = poll(timeout, events_max)
        if events and mono_ns() - began_ns < SHORT_NS:
            self._score += 1
        else:
            self._score = max(self._score - IN_VAIN, 0)
        return events


class _WakeFd:
    """An eventfd that is closed when nobody has it in hand any more. Another thread may be about to write to it while
    the poller is closed: closed right there, its number could be that of another file by then.
    """

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def __del__(self) -> None:
        os.close(self.number)


class SystemPoller:
    __slots__ = ("_epoll", "_interests", "_wait", "_wake_fd", "_wake_number")

    def __init__(self, *, looks: bool = True) -> None:
        """Without `looks` it sleeps at once, as a thread beside others should: each look gives the interpreter away."""
        self._epoll = select.epoll()
        self._wait: Poll = Sleeper(self._epoll.poll).wait if looks else self._epoll.poll
        self._interests: dict[int, int] = {}
        self._wake_fd: _WakeFd | None = _WakeFd()
        self._wake_number = self._wake_fd.number
        self._epoll.register(self._wake_number, select.EPOLLIN)

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

    def poll(self, timeout_ms: int | None, events_max: int = 0) -> Events:
        events_max = events_max or len(self._interests) + 1
        if timeout_ms == 0:
            events = self._epoll.poll(0, events_max)
        else:
            events = self._wait(None if timeout_ms is None else timeout_ms / 1000, events_max)
        for fileno, mask in events:
            if mask != READABLE or fileno == self._wake_number:
                break
        else:
            return events  # nearly always: they say it as we do
        return [
            (fileno, _FROM_EPOLL[mask]) if mask < _ODD else self._readiness(fileno, mask)
            for fileno, mask in events
            if fileno != self._wake_number or self._woken()
        ]

    def _readiness(self, fileno: int, mask: int) -> tuple[int, int]:
        return fileno, self._interests[fileno] if mask & _FAILED else _FROM_EPOLL[mask & 7]

    def _woken(self) -> bool:
        os.eventfd_read(self._wake_number)
        return False

    def wake(self) -> None:
        wake_fd = self._wake_fd
        if wake_fd is not None:  # a job may end after the poller was closed
            os.eventfd_write(wake_fd.number, 1)

    def close(self) -> None:
        self._epoll.close()
        self._wake_fd = None
