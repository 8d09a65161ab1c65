"""Errors that a simulated disk is told to make: the nth operation of a kind, once, a few times or for ever."""

KINDS = frozenset(
    ("create", "open", "read", "write", "truncate", "fsync", "mkdir", "rename", "unlink", "rmdir", "fsync_dir", "list")
)


class Fault:
    __slots__ = ("_count", "_until", "errno", "kind", "nth", "path")

    def __init__(self, kind: str, errno: int, nth: int, times: int | None, path: str) -> None:
        if kind not in KINDS:
            raise ValueError(f"no disk operation is called {kind!r}; there are {', '.join(sorted(KINDS))}")
        self.kind = kind
        self.errno = errno
        self.nth = nth
        self.path = path
        self._count = 0
        self._until = None if times is None else nth + times

    def strikes(self, kind: str, path: str) -> bool:
        """Counts the operations that it could strike, from now on."""
        if kind != self.kind or self.path not in path:
            return False
        self._count += 1
        return self._count >= self.nth and (self._until is None or self._count < self._until)
