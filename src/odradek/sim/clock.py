"""A node's clocks: the world's time, off by what the node's own hardware and its operator do to them.

The monotonic clock begins anywhere and may run fast or slow, but never back. The wall clock runs beside it
and can be set.
"""

from collections.abc import Callable

MILLION = 1_000_000
EPOCH_MS = 1_700_000_000_000  # what the wall clock of a world shows at its beginning


class SimClock:
    __slots__ = ("_base_us", "_drift_ppm", "_since_us", "_wall_offset_ms", "_world_us")

    def __init__(self, world_us: Callable[[], int], base_us: int = 0, skew_ms: int = 0) -> None:
        self._world_us = world_us
        self._since_us = world_us()
        self._base_us = base_us  # the monotonic clock at `_since_us`
        self._drift_ppm = 0
        self._wall_offset_ms = EPOCH_MS + skew_ms + (self._since_us - base_us) // 1000

    def mono_ms(self) -> int:
        return self.mono_us() // 1000

    def mono_us(self) -> int:
        elapsed_us = self._world_us() - self._since_us
        return self._base_us + elapsed_us * (MILLION + self._drift_ppm) // MILLION

    def cpu_us(self) -> int:
        return self.mono_us()

    def wall_ms(self) -> int:
        return self.mono_ms() + self._wall_offset_ms

    def jump(self, milliseconds: int) -> None:
        """Sets the wall clock forward or back. Nothing that waits may notice."""
        self._wall_offset_ms += milliseconds

    def drift(self, parts_per_million: int) -> None:
        """From now on both clocks run fast by so much, or slow."""
        if parts_per_million <= -MILLION:
            raise ValueError("a clock cannot stand still or run back")
        self._base_us, self._since_us = self.mono_us(), self._world_us()
        self._drift_ppm = parts_per_million

    def world_us_at(self, mono_ms: int) -> int:
        """When, in the world's time, the monotonic clock will show this or more."""
        ahead_us = mono_ms * 1000 - self._base_us
        return self._since_us - (-ahead_us * MILLION // (MILLION + self._drift_ppm))
