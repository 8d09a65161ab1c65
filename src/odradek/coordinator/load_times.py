"""How long partitions of a coordinator took to load that did so at about the same time."""

from collections.abc import Callable

from odradek.reactor.loop import Loop
from odradek.reactor.timers import Timer

TOGETHER_MS = 500  # between one that has loaded and the next, if they are told of together


class LoadingTogether:
    """Partitions that load one soon after the other, as all do at a start: one line tells of them."""

    __slots__ = ("_began_ms", "_ended_ms", "_loading", "_loop", "_partitions", "_records", "_tell", "_timer")

    def __init__(self, loop: Loop, tell: Callable[[str], None]) -> None:
        self._loop = loop
        self._tell = tell
        self._timer: Timer | None = None
        self._loading = 0
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._began_ms = self._ended_ms = self._loop.ports.clock.mono_ms()
        self._partitions = self._records = 0

    def begin(self) -> None:
        if not self._loading and not self._partitions:
            self._begin_anew()
        self._loading += 1

    def ended(self, records: int | None) -> None:
        """`records` is None for one that could not be loaded, or is not needed any more."""
        self._loading -= 1
        if records is not None:
            self._partitions += 1
            self._records += records
            self._ended_ms = self._loop.ports.clock.mono_ms()
        if self._timer is None and not self._loading:
            self._timer = self._loop.after(TOGETHER_MS, self._told)

    def _told(self) -> None:
        self._timer = None
        if self._loading or not self._partitions:
            return
        partitions = "1 partition" if self._partitions == 1 else f"{self._partitions} partitions"
        self._tell(f"{self._records} records in {self._ended_ms - self._began_ms} ms from {partitions}")
        self._begin_anew()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._told()
