"""What the server log says while a server starts, where it goes to the terminal.

A start that fails ends with one line that says why; what the log has said on the way there would repeat it in other
words. So the lines wait until it is known how the start ends: written when the server serves, dropped when it cannot.
A start that takes its time shows them as well: somebody may be waiting for it, and they may be why.
"""

from collections import deque
from collections.abc import Callable

Sink = Callable[[int, str, str, str], None]

WAIT_MS_MAX = 3000
LINES_MAX = 1000
_SHOWN = ("ERROR", "FATAL")


class StartLog:
    """`write` is the sink of a server log."""

    __slots__ = ("_held", "_sink")

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._held: deque[tuple[int, str, str, str]] | None = deque(maxlen=LINES_MAX)

    def write(self, wall_ms: int, level: str, message: str, logger: str) -> None:
        if self._held is None:
            self._sink(wall_ms, level, message, logger)
        elif level in _SHOWN:
            self._held.append((wall_ms, level, message, logger))

    def let_go(self) -> None:
        """From now on lines are written at once, and first those that have waited."""
        held, self._held = self._held, None
        for line in held or ():
            self._sink(*line)
