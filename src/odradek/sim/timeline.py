"""One seed, one heap of events, one time: everything that happens in a simulation happens here, one after the other."""

from collections.abc import Callable
from heapq import heappop, heappush

from odradek.sim.rng import SimRng
from odradek.sim.trace import Trace


class Event:
    __slots__ = ("at_us", "callback")

    def __init__(self, at_us: int, callback: Callable[[], object]) -> None:
        self.at_us = at_us
        self.callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        self.callback = None


class Timeline:
    __slots__ = ("_heap", "_is_running", "_sequence", "now_us", "rng", "trace")

    def __init__(self, seed: int) -> None:
        self.rng = SimRng(seed)
        self.trace = Trace()
        self.now_us = 0
        self._heap: list[tuple[int, int, Event]] = []
        self._sequence = 0
        self._is_running = False

    def at(self, at_us: int, callback: Callable[[], object]) -> Event:
        event = Event(max(at_us, self.now_us), callback)
        self._sequence += 1
        heappush(self._heap, (event.at_us, self._sequence, event))
        return event

    def after(self, delay_us: int, callback: Callable[[], object]) -> Event:
        return self.at(self.now_us + delay_us, callback)

    def note(self, line: str) -> None:
        self.trace.note(f"{self.now_us} {line}")

    def step(self, limit_us: int | None = None) -> bool:
        """Lets the next event happen; False if there is none, or none before `limit_us`."""
        while self._heap and (limit_us is None or self._heap[0][0] <= limit_us):
            at_us, _, event = heappop(self._heap)
            if event.callback is not None:
                self.now_us = at_us
                self._happen(event.callback)
                return True
        return False

    def run_for(self, milliseconds: int) -> None:
        limit_us = self.now_us + milliseconds * 1000
        while self.step(limit_us):
            pass
        self.now_us = limit_us

    def run_until(self, condition: Callable[[], object], limit_ms: int | None = 600_000) -> bool:
        """Until the condition holds; False if it does not within the limit, or if nothing will ever happen again."""
        limit_us = None if limit_ms is None else self.now_us + limit_ms * 1000
        while not condition():
            if not self.step(limit_us):
                if limit_us is not None:
                    self.now_us = limit_us
                return bool(condition())
        return True

    def _happen(self, callback: Callable[[], object]) -> None:
        if self._is_running:
            raise RuntimeError("an event may not wait for other events: poll with a timeout of 0 inside the simulation")
        self._is_running = True
        try:
            callback()
        finally:
            self._is_running = False
