"""The machine's clocks, for what a program asks in its own threads."""

from time import monotonic, time_ns


def wall_ms() -> int:
    return time_ns() // 1_000_000


class Deadline:
    """How much of an allowed time is left."""

    __slots__ = ("_ends",)

    def __init__(self, timeout_ms: int) -> None:
        self._ends = monotonic() + timeout_ms / 1000

    def left(self) -> float:
        """Seconds, never below 0."""
        return max(0.0, self._ends - monotonic())

    def left_ms(self) -> int:
        return int(self.left() * 1000)
