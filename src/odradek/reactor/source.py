"""What a loop watches: its handler, what it is ready for, and the line that it waits in.

A source whose calls take long is *heavy*: it waits in another line. One long call tells little, because the machine may
have let this thread wait; so it takes `HEAVY_CALLS` in a row, and the second must have worked for so long. One that
is short acquits.
"""

from collections import deque
from collections.abc import Callable

from odradek.reactor.ports import Clock

HEAVY_US = 250  # an honest request takes a tenth
HEAVY_CALLS = 2
SUSPICION_MS = 1000  # after the last long call

Handler = Callable[[int], object]  # takes READABLE | WRITABLE


class Source:
    __slots__ = ("handler", "line", "long_calls", "polled_ms", "readiness")

    def __init__(self, handler: Handler, line: "deque[Source] | None") -> None:
        self.handler = handler
        self.line = line  # where it waits when a poll tells of it; None for one that is called at once
        self.readiness = 0  # of one that waits
        self.polled_ms = 0  # when the poll began for whose input it waits
        self.long_calls = 0  # in a row


Line = deque[Source]


def gone(_: int) -> None:
    """The handler of a source that was unregistered while it waited."""


class Suspects:
    """Those whose last call took long; some of them are heavy and wait in `late` instead of `ready`."""

    __slots__ = ("_clock", "_cpu_us", "_late", "_ready", "_since_ms", "_sources")

    def __init__(self, clock: Clock, ready: Line, late: Line) -> None:
        self._clock = clock
        self._ready = ready
        self._late = late
        self._sources: set[Source] = set()
        self._since_ms = 0
        self._cpu_us = 0

    def __bool__(self) -> bool:
        return bool(self._sources)

    def look(self, polled_ms: int) -> None:
        """What this thread has worked until now costs a system call: it is asked for only while it may matter."""
        if polled_ms - self._since_ms > SUSPICION_MS:
            for source in list(self._sources):
                self.acquit(source)
        else:
            self._cpu_us = self._clock.cpu_us()

    def accuse(self, source: Source, polled_ms: int) -> None:
        """A call of it took long."""
        if source.handler is gone:
            return
        if source.long_calls:
            before_us, self._cpu_us = self._cpu_us, self._clock.cpu_us()
            if self._cpu_us - before_us < HEAVY_US:
                return
        self._since_ms = polled_ms
        self._sources.add(source)
        source.long_calls += 1
        if source.long_calls >= HEAVY_CALLS and source.line is self._ready:
            source.line = self._late

    def acquit(self, source: Source) -> None:
        self._sources.discard(source)
        source.long_calls = 0
        if source.line is self._late:
            source.line = self._ready

    def line_of(self, source: Source) -> Line:
        """Where one that is not new any more belongs."""
        return self._late if source.long_calls >= HEAVY_CALLS else self._ready
