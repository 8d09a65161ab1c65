"""Garbage collection of a server: never in the middle of a request, and never about what is there to stay.

Python's own full collections look at every object there is, which takes a fifth of a second with 10,000 partitions. So
they are turned off. Requests leave no cycles behind; what does (a connection that has ended, a task that was given up)
is found by the collections here: whenever the process has grown by some objects, and in quiet moments. What survives a
collection that took long is taken out of the next ones: those cost what has come since, whatever else there is. Some of
it may die later all the same, so in a quiet moment, seldom, everything is looked at once more.
"""

import gc

from odradek.reactor.loop import Loop

LOOK_EVERY_MS = 1000
QUIET_MS = 10_000
GROWTH_OBJECTS = 30_000  # since the last collection, those that are gone again not counted
GROWTH_OBJECTS_WHEN_QUIET = 2_000
LONG_MS = 10
THAW_EVERY_MS = 600_000  # in a quiet moment: it may take a tenth of a second
YOUNG_OBJECTS = 20_000  # Python looks at the newest itself, now and then: some milliseconds
NEVER = 1_000_000


def begin() -> None:
    """Before the server starts: its start makes little but what stays."""
    gc.set_threshold(YOUNG_OBJECTS, NEVER, NEVER)


def start_collector(loop: Loop) -> "Collector":
    """When it serves: what was made until now lives as long as the process."""
    if _growth() < GROWTH_OBJECTS:
        gc.collect()
    gc.freeze()
    collector = Collector(loop)
    collector.look_later()
    return collector


def _growth() -> int:
    """Objects since the last full collection, about."""
    young, old, _ = gc.get_count()
    return young + old * YOUNG_OBJECTS


class Collector:
    __slots__ = ("_idle_ms", "_loop", "_quiet_from_ms", "_thaw_from_ms")

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._quiet_from_ms = loop.ports.clock.mono_ms()
        self._idle_ms = loop.idle_ms
        self._thaw_from_ms = 0  # when what was frozen since the start may be looked at again; 0 if nothing was

    def look_later(self) -> None:
        self._loop.after(LOOK_EVERY_MS, self._look)

    def _look(self) -> None:
        growth = _growth()
        is_quiet = self._has_been_quiet()
        if is_quiet and 0 < self._thaw_from_ms <= self._loop.ports.clock.mono_ms():
            self._thaw()
        elif growth >= GROWTH_OBJECTS or (growth >= GROWTH_OBJECTS_WHEN_QUIET and is_quiet):
            self.collect()
        self.look_later()

    def _has_been_quiet(self) -> bool:
        """Mostly idle for a while."""
        now_ms = self._loop.ports.clock.mono_ms()
        span_ms = now_ms - self._quiet_from_ms
        if span_ms < QUIET_MS:
            return False
        idle_ms = self._loop.idle_ms - self._idle_ms
        self._quiet_from_ms, self._idle_ms = now_ms, self._loop.idle_ms
        return idle_ms > span_ms // 2

    def collect(self) -> None:
        """Python's own stores of small objects for the next use are emptied with it."""
        clock = self._loop.ports.clock
        before_ms = clock.mono_ms()
        gc.collect()
        if clock.mono_ms() - before_ms >= LONG_MS:
            gc.freeze()
            self._thaw_from_ms = self._thaw_from_ms or before_ms + THAW_EVERY_MS

    def _thaw(self) -> None:
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._thaw_from_ms = 0
