"""Memory that a server has let go of goes back to the system.

After a large release the C library keeps the pages: a process that once had much to do would look for ever as if it
still had. Giving them back takes milliseconds, so it is a job, and is done only when much has come since the last time.
"""

from collections.abc import Callable

from odradek.reactor.adapters import memory
from odradek.reactor.loop import Loop
from odradek.reactor.ports import Job

LOOK_EVERY_MS = 1000
GROWTH_BYTES_MIN = 4 * 1024 * 1024  # since memory was last given back: less is not worth the trouble
GROWING_BYTES = 1024 * 1024  # between two looks: then it is in use, and there is nothing to give back yet


class Trimming:
    __slots__ = ("_floor_bytes", "_give_back", "_loop", "_resident_bytes", "_seen_bytes")

    def __init__(
        self,
        loop: Loop,
        resident_bytes: Callable[[], int] = memory.resident_bytes,
        give_back: Callable[[], None] = memory.give_back,
    ) -> None:
        self._loop = loop
        self._resident_bytes = resident_bytes
        self._give_back = give_back
        self._floor_bytes = self._seen_bytes = resident_bytes()

    def look_later(self) -> None:
        self._loop.after(LOOK_EVERY_MS, self._look)

    def _look(self) -> None:
        resident_bytes = self._resident_bytes()
        is_growing = resident_bytes > self._seen_bytes + GROWING_BYTES
        self._seen_bytes = resident_bytes
        self._floor_bytes = min(self._floor_bytes, resident_bytes)
        if is_growing or resident_bytes < self._floor_bytes + GROWTH_BYTES_MIN:
            self.look_later()
        else:
            self._loop.submit(self._job()).when_done(self._done)

    def _job(self) -> Job:
        self._give_back()
        yield 0

    def _done(self, _: object) -> None:
        """What is left is in use: the next time is when it has grown by as much again."""
        self._floor_bytes = self._seen_bytes = self._resident_bytes()
        self.look_later()
