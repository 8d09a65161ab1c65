"""How long to wait before something is tried again: twice as long each time, up to a limit, and by chance a bit more or
less, so that many clients that lost the same broker do not all come back at the same moment.
"""

from odradek.reactor.ports import Stream

JITTER = 0.2  # a fifth more or less
_DOUBLINGS_MAX = 32  # a client that tries for days makes no number of thousands of bits


class Backoff:
    __slots__ = ("_chance", "_first_ms", "_limit_ms")

    def __init__(self, first_ms: int = 100, limit_ms: int = 1000, chance: Stream | None = None) -> None:
        """The defaults are those of retry.backoff.ms and retry.backoff.max.ms. Without `chance` there is no jitter."""
        self._first_ms = first_ms
        self._limit_ms = max(limit_ms, first_ms)
        self._chance = chance

    def after(self, failures: int) -> int:
        """The wait after so many failures in a row; before the first failure it is the same as after it."""
        doublings = min(max(failures - 1, 0), _DOUBLINGS_MAX)
        wait_ms = min(self._first_ms << doublings, self._limit_ms)
        if self._chance is None or self._limit_ms == self._first_ms:
            return wait_ms
        return min(int(wait_ms * (1 - JITTER + 2 * JITTER * self._chance.fraction())), self._limit_ms)
