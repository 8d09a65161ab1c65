"""Deadlines in monotonic milliseconds: one heap. A cancelled timer stays in it until it is due or too many have
gathered.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush

CANCELLED_MIN = 64  # fewer than that are not worth a rebuild


class Timer:
    __slots__ = ("_callback", "_timers", "deadline_ms")

    def __init__(self, timers: "Timers", deadline_ms: int, callback: Callable[[], object]) -> None:
        self._timers = timers
        self.deadline_ms = deadline_ms
        self._callback: Callable[[], object] | None = callback

    @property
    def is_live(self) -> bool:
        """Neither cancelled nor expired."""
        return self._callback is not None

    def cancel(self) -> None:
        if self._callback is not None:
            self._callback = None
            self._timers.one_cancelled()

    def expire(self) -> Callable[[], object] | None:
        callback, self._callback = self._callback, None
        return callback


class Timers:
    __slots__ = ("_cancelled", "_heap", "sequence")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Timer]] = []
        self._cancelled = 0
        self.sequence = 0  # timers with one deadline expire in the order they were set

    def __len__(self) -> int:
        return len(self._heap) - self._cancelled

    def at(self, deadline_ms: int, callback: Callable[[], object]) -> Timer:
        timer = Timer(self, deadline_ms, callback)
        self.sequence += 1
        heappush(self._heap, (deadline_ms, self.sequence, timer))
        return timer

    def wait_ms(self, now_ms: int) -> int | None:
        """How long it is until the next one is due; None if there is none."""
        heap = self._heap
        while heap:
            deadline_ms, _, timer = heap[0]
            if timer.is_live:
                return deadline_ms - now_ms if deadline_ms > now_ms else 0
            heappop(heap)
            self._cancelled -= 1
        return None

    def may_be_due(self, now_ms: int) -> bool:
        """False if `pop_due` would find nothing."""
        return bool(self._heap) and self._heap[0][0] <= now_ms

    def pop_due(self, now_ms: int, sequence_max: int) -> Callable[[], object] | None:
        """The callback of the next timer that is due and was not set after `sequence_max`.

        So a timer that sets itself again for now ends the round instead of making it endless.
        """
        heap = self._heap
        while heap and heap[0][0] <= now_ms and heap[0][1] <= sequence_max:
            callback = heappop(heap)[2].expire()
            if callback is not None:
                return callback
            self._cancelled -= 1
        return None

    def one_cancelled(self) -> None:
        self._cancelled += 1
        if self._cancelled > CANCELLED_MIN and self._cancelled * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].is_live]
            heapify(self._heap)
            self._cancelled = 0
