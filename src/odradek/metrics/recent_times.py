"""How long something took, of the last minute: Kafka's average and maximum of its samples."""

from collections import deque
from collections.abc import Callable

WINDOW_MS = 60_000


class RecentTimes:
    __slots__ = ("_mono_ms", "_recent")

    def __init__(self, mono_ms: Callable[[], int]) -> None:
        self._mono_ms = mono_ms
        self._recent: deque[tuple[int, int]] = deque()  # when, and how long it took

    def add(self, took_ms: int) -> None:
        self._forget()
        self._recent.append((self._mono_ms(), took_ms))

    def average_ms(self) -> float | None:
        """None if there was nothing lately."""
        self._forget()
        return sum(took_ms for _, took_ms in self._recent) / len(self._recent) if self._recent else None

    def max_ms(self) -> int | None:
        self._forget()
        return max((took_ms for _, took_ms in self._recent), default=None)

    def take_over(self, other: "RecentTimes") -> None:
        self._recent = deque(sorted([*self._recent, *other._recent]))

    def _forget(self) -> None:
        since_ms = self._mono_ms() - WINDOW_MS
        while self._recent and self._recent[0][0] < since_ms:
            self._recent.popleft()
