"""Memory that a server has let go of goes back to the system.

After a large release the C library keeps the pages: a process that once had much to do would look for ever as if it
still had. Giving them back takes milliseconds, so it is a job, and is done only when much has come since the last time.

A garbage collection comes before it: Python keeps thousands of small objects for the next use (a flood of connections
fills these stores), and each may be the last one in a megabyte that could go back.

What was in use when it was asked for may be free a moment later, without that anything tells of it: so it is asked for
once more, and less and less often if that was in vain.
"""

import gc
from collections.abc import Callable

from odradek.reactor.adapters import memory
from odradek.reactor.loop import Loop
from odradek.reactor.ports import JobOf

LOOK_EVERY_MS = 1000
GROWTH_BYTES_MIN = 4 * 1024 * 1024  # since memory was last given back: less is not worth the trouble
GROWING_BYTES = 1024 * 1024  # between two looks: then it is in use, and there is nothing to give back yet
AGAIN_MS = 8_000
AGAIN_MS_MAX = 600_000


class Trimming:
    __slots__ = (
        "_again_at_ms",
        "_again_ms",
        "_asked_bytes",
        "_collect",
        "_floor_bytes",
        "_give_back",
        "_least_bytes",
        "_loop",
        "_mono_ms",
        "_resident_bytes",
        "_seen_bytes",
    )

    def __init__(
        self,
        loop: Loop,
        resident_bytes: Callable[[], int] = memory.resident_bytes,
        give_back: Callable[[], None] = memory.give_back,
        collect: Callable[[], object] = gc.collect,
    ) -> None:
        self._loop = loop
        self._mono_ms: Callable[[], int] = loop.ports.clock.mono_ms
        self._resident_bytes = resident_bytes
        self._give_back = give_back
        self._collect = collect
        self._seen_bytes = resident_bytes()
        self._floor_bytes = self._seen_bytes  # when memory was last given back, or less
        self._least_bytes = self._seen_bytes  # ever
        self._asked_bytes = 0  # when it was last asked for
        self._again_ms = AGAIN_MS
        self._again_at_ms = 0

    def look_later(self) -> None:
        self._loop.after(LOOK_EVERY_MS, self._look)

    def _look(self) -> None:
        resident_bytes = self._resident_bytes()
        is_growing = resident_bytes > self._seen_bytes + GROWING_BYTES
        self._seen_bytes = resident_bytes
        self._floor_bytes = min(self._floor_bytes, resident_bytes)
        self._least_bytes = min(self._least_bytes, resident_bytes)
        if not is_growing and self._is_worth_it(resident_bytes):
            self._asked_bytes = resident_bytes
            self._collect()
            self._loop.submit(self._job()).when_done(self._done)
        else:
            self.look_later()

    def _is_worth_it(self, resident_bytes: int) -> bool:
        if resident_bytes >= self._floor_bytes + GROWTH_BYTES_MIN:
            self._again_ms = AGAIN_MS
            return True
        return resident_bytes >= self._least_bytes + GROWTH_BYTES_MIN and self._mono_ms() >= self._again_at_ms

    def _job(self) -> JobOf[None]:
        self._give_back()
        yield 0

    def _done(self, _: object) -> None:
        """What is left is in use: the next time is when it has grown by as much again, or after a while."""
        self._floor_bytes = self._seen_bytes = self._resident_bytes()
        self._least_bytes = min(self._least_bytes, self._floor_bytes)
        self._again_at_ms = self._mono_ms() + self._again_ms
        if self._asked_bytes - self._floor_bytes < GROWING_BYTES:
            self._again_ms = min(2 * self._again_ms, AGAIN_MS_MAX)
        self.look_later()
