"""Lines of the server log on their way to a file: a bounded queue and a thread that writes.

The reactor never waits for the disk or the terminal behind a log. When lines come faster than they can be written, the
newest are dropped and counted, and the count is the next line.
"""

import os
import time
from collections import deque
from collections.abc import Iterable
from threading import Event, Thread

LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
LINES_MAX = 10_000
CLOSE_SECONDS_MAX = 2.0  # a reader that has stopped reading our pipe must not keep us from ending

Line = tuple[int, str, str, str]  # wall clock milliseconds, level, message, logger


class LogWriter:
    """`write` is the sink of a server log. It is called on one thread only."""

    __slots__ = ("_dropped", "_fds", "_has_lines", "_is_closing", "_levels", "_lines", "_thread")

    def __init__(self, fds: Iterable[int], lowest: str = "TRACE", lines_max: int = LINES_MAX) -> None:
        """Lines below the lowest level are left out. Whoever opened the descriptors closes them, after `close`."""
        self._fds = tuple(fds)
        self._levels = frozenset(LEVELS[LEVELS.index(lowest) :])
        self._lines: deque[Line] = deque(maxlen=lines_max)
        self._dropped = 0
        self._has_lines = Event()
        self._is_closing = False
        self._thread: Thread | None = None

    def write(self, wall_ms: int, level: str, message: str, logger: str) -> None:
        if level not in self._levels:
            return
        if len(self._lines) == self._lines.maxlen:
            self._dropped += 1
            return
        self._lines.append((wall_ms, level, message, logger))
        if self._thread is None:
            self._thread = Thread(target=self._work, name="log-writer", daemon=True)
            self._thread.start()
        self._has_lines.set()

    def close(self) -> None:
        """Writes what is queued, unless nobody takes it."""
        self._is_closing = True
        self._has_lines.set()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS_MAX)

    def _work(self) -> None:
        while not self._is_closing or self._lines:
            self._has_lines.wait()
            self._has_lines.clear()
            self._write_queued()

    def _write_queued(self) -> None:
        while self._lines:
            text = "".join(format_line(*self._lines.popleft()) for _ in range(min(100, len(self._lines))))
            dropped, self._dropped = self._dropped, 0
            if dropped:
                text += f"({dropped} lines were dropped here: they came faster than they could be written)\n"
            for fd in self._fds:
                _write_all(fd, text.encode("utf-8", "backslashreplace"))


def format_line(wall_ms: int, level: str, message: str, logger: str) -> str:
    """As the pattern of Kafka's log4j.properties has it: `[%d] %p %m (%c)%n`."""
    seconds, ms = divmod(wall_ms, 1000)
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
    first, newline, rest = message.partition("\n")
    return f"[{stamp},{ms:03d}] {level} {first} ({logger})\n" + (f"{rest}\n" if newline else "")


def _write_all(fd: int, data: bytes) -> None:
    try:
        while data:
            data = data[os.write(fd, data) :]
    except OSError:  # a full disk or a closed pipe: there is no other place to say so
        return
