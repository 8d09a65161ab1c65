"""The rate of something that is counted elsewhere."""

from collections.abc import Callable

WINDOW_MS = 1000


class Rate:
    """The rate per second of a number that only grows, between two looks that are some time apart."""

    __slots__ = ("_mono_ms", "_rate", "_seen", "_since_ms", "read_total")

    def __init__(self, mono_ms: Callable[[], int], read_total: Callable[[], int]) -> None:
        self._mono_ms = mono_ms
        self.read_total = read_total
        self._since_ms = mono_ms()
        self._seen = read_total()
        self._rate = 0.0

    def read(self) -> float:
        now_ms = self._mono_ms()
        if now_ms - self._since_ms >= WINDOW_MS:
            total = self.read_total()
            self._rate = (total - self._seen) * 1000 / (now_ms - self._since_ms)
            self._since_ms, self._seen = now_ms, total
        return self._rate
