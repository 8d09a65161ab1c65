"""What a core waits for: one deadline per thing, moved often and reached seldom.

A session's deadline moves with every heartbeat. So moving one later costs a look-up only: the heap keeps the old entry,
and what comes up too early is put back. `next_ms` is therefore never late, and sometimes early.
"""

from collections.abc import Hashable
from heapq import heappop, heappush
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

# What the deadline of a group coordinator is for: the kind, the group, the member.
What = tuple[str, str, str]
SESSION, PENDING_MEMBER, JOIN, SYNC, RETENTION = "session", "pending member", "join", "sync", "retention"
RETENTION_CHECK: What = (RETENTION, "", "")


class Deadlines(Generic[K]):
    __slots__ = ("_at_ms", "_heap", "_queued_ms", "_sequence")

    def __init__(self) -> None:
        self._at_ms: dict[K, int] = {}
        self._queued_ms: dict[K, int] = {}  # which entry of the heap counts
        self._heap: list[tuple[int, int, K]] = []
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._at_ms)

    def get(self, what: K) -> int | None:
        return self._at_ms.get(what)

    def set(self, what: K, at_ms: int) -> None:
        self._at_ms[what] = at_ms
        queued_ms = self._queued_ms.get(what)
        if queued_ms is None or at_ms < queued_ms:
            self._push(what, at_ms)

    def clear(self, what: K) -> None:
        self._at_ms.pop(what, None)

    def next_ms(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now_ms: int) -> K | None:
        heap = self._heap
        while heap and heap[0][0] <= now_ms:
            queued_ms, _, what = heappop(heap)
            if self._queued_ms.get(what) != queued_ms:
                continue  # an earlier entry has taken its place
            del self._queued_ms[what]
            at_ms = self._at_ms.get(what)
            if at_ms is None:
                continue
            if at_ms <= now_ms:
                del self._at_ms[what]
                return what
            self._push(what, at_ms)
        return None

    def _push(self, what: K, at_ms: int) -> None:
        self._sequence += 1
        self._queued_ms[what] = at_ms
        heappush(self._heap, (at_ms, self._sequence, what))
