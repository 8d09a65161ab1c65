"""What happened, line by line: a running hash of all of it and the last lines as text."""

from collections import deque
from hashlib import blake2b

LINES_KEPT = 10_000


class Trace:
    __slots__ = ("_hash", "count", "lines")

    def __init__(self, lines_kept: int = LINES_KEPT) -> None:
        self._hash = blake2b(digest_size=16)
        self.lines: deque[str] = deque(maxlen=lines_kept)
        self.count = 0

    def note(self, line: str) -> None:
        self._hash.update(line.encode())
        self._hash.update(b"\n")
        self.lines.append(line)
        self.count += 1

    def digest(self) -> str:
        return self._hash.hexdigest()
