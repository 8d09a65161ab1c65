"""A line on the terminal for whatever takes longer than two seconds."""

import sys
import time

SILENT_SECONDS = 2.0
REFRESH_SECONDS = 0.2


class Progress:
    """`advance` is cheap enough for every item of a loop; nothing is shown when stderr is not a terminal."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._count = 0
        self._shown = False
        self._next = time.monotonic() + SILENT_SECONDS
        self._on = sys.stderr.isatty()

    def advance(self) -> None:
        self._count += 1
        if self._on and self._count % 64 == 0 and time.monotonic() >= self._next:
            self._next = time.monotonic() + REFRESH_SECONDS
            self._shown = True
            print(f"\r{self._what}: {self._count}", end="", file=sys.stderr, flush=True)

    def done(self) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
