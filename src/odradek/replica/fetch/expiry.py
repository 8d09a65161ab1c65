"""When waits that need not end to the millisecond are over: those that end within one tick of each other end together.

A thousand idle consumers ask twice a second each. With a timer for each the loop would wake for every one of them, once
to tell it that there is nothing and once to hear that it asks again; on the same tick they are answered, and ask again,
together. The tick is at most 1/16 of the wait and at most `TICK_MS_MAX`, and nobody is answered too early.
"""

from collections.abc import Callable
from itertools import islice
from typing import Protocol

from odradek.reactor.loop import Loop
from odradek.reactor.timers import Timer

TICK_MS_MAX = 16
ROUND_SLICE = 64  # waits that are ended before others get their turn
EMPTY_ROUNDS_MAX = 256  # that are kept for who comes next: one busy reader would make and drop one for every fetch

_TICK_SHIFT = 4


class Expiring(Protocol):
    def expire(self) -> None:
        """Its time is over, and it has left its round."""
        ...


class Round:
    """Waits that end together."""

    __slots__ = ("deadline_ms", "timer", "waiting")

    def __init__(self, deadline_ms: int) -> None:
        self.deadline_ms = deadline_ms
        self.timer: Timer | None = None
        self.waiting: dict[Expiring, None] = {}


class Expiry:
    __slots__ = ("_loop", "_mono_ms", "_rounds")

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._mono_ms: Callable[[], int] = loop.ports.clock.mono_ms
        self._rounds: dict[int, Round] = {}  # by deadline

    def __len__(self) -> int:
        """Rounds that are to come."""
        return len(self._rounds)

    def join(self, wait_ms: int, waiting: Expiring) -> Round:
        """Calls `expire` when the time is over, unless it has left before."""
        now_ms = self._mono_ms()
        tick_ms = wait_ms >> _TICK_SHIFT
        tick_ms = TICK_MS_MAX if tick_ms >= TICK_MS_MAX else 1 << tick_ms.bit_length() >> 1 or 1
        deadline_ms = -(-(now_ms + wait_ms) // tick_ms) * tick_ms
        joined = self._rounds.get(deadline_ms)
        if joined is None:
            joined = self._begin(deadline_ms, now_ms)
        joined.waiting[waiting] = None
        return joined

    def leave(self, left: Round, waiting: Expiring) -> None:
        left.waiting.pop(waiting, None)
        if not left.waiting and len(self._rounds) > EMPTY_ROUNDS_MAX:
            self._drop(left)

    def _begin(self, deadline_ms: int, now_ms: int) -> Round:
        begun = self._rounds[deadline_ms] = Round(deadline_ms)
        begun.timer = self._loop.after(deadline_ms - now_ms, lambda: self._end(begun))
        return begun

    def _drop(self, left: Round) -> None:
        if self._rounds.get(left.deadline_ms) is left:
            del self._rounds[left.deadline_ms]
            if left.timer is not None:
                left.timer.cancel()

    def _end(self, ended: Round) -> None:
        del self._rounds[ended.deadline_ms]
        self._end_some(ended)

    def _end_some(self, ended: Round) -> None:
        try:
            for waiting in list(islice(ended.waiting, ROUND_SLICE)):
                ended.waiting.pop(waiting, None)
                waiting.expire()
        finally:  # what is wrong with one must not keep the others waiting for ever
            if ended.waiting:
                self._loop.soon(self._end_some, ended)
