"""The loop: the one thread of a broker or a client, turn after turn.

A turn polls, calls the handlers of what is ready, takes in the jobs that have ended, then expires timers.
After each of these calls the queue of completions is drained: what a handler has satisfied goes on right
behind it, never inside it.

Two rules make a stall of our own harmless. A turn serves input for `INPUT_MS_MAX`, then goes on with jobs and
timers; what is left keeps its place for the next turn, and urgent sources (the control plane) are served
before it. And a timer sees the time at which the last poll *began* whose input has all been served: a
heartbeat that arrived while we were busy is read before the session that it keeps alive could expire.
"""

from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from odradek.reactor.pending import Completions, Pending, T
from odradek.reactor.ports import READABLE, Job, Pollable, Ports
from odradek.reactor.task import Task
from odradek.reactor.timers import Timer, Timers

INPUT_MS_MAX = 2
SLOW_TURN_MS = 50
COMPLETIONS_PER_LOOK = 64  # callbacks between two looks at the clock

Handler = Callable[[int], object]  # takes READABLE | WRITABLE
OnError = Callable[[BaseException, Any], None]  # takes what failed: a handler, a callback or a task
OnSlowTurn = Callable[[int, Any], None]  # takes the turn's milliseconds and the slowest thing in it


class Loop:
    __slots__ = (
        "_clock",
        "_completions",
        "_executor",
        "_handlers",
        "_on_error",
        "_on_slow_turn",
        "_polled_ms",
        "_poller",
        "_ready",
        "_slowest",
        "_slowest_ms",
        "_timers",
        "_urgent",
        "idle_ms",
        "ports",
        "slow_turns",
        "turns",
    )

    def __init__(self, ports: Ports, on_error: OnError | None = None, on_slow_turn: OnSlowTurn | None = None) -> None:
        self.ports = ports
        self._clock = ports.clock
        self._executor = ports.executor
        self._poller = ports.network.poller()
        self._executor.notify(self._poller.wake)
        self._handlers: dict[int, Handler] = {}
        self._urgent: set[int] = set()
        self._ready: dict[int, tuple[int, int]] = {}  # fileno to readiness and when its poll began, oldest first
        self._completions: Completions = deque()
        self._timers = Timers()
        self._on_error = on_error or _raise
        self._on_slow_turn = on_slow_turn
        self._polled_ms = 0
        self._slowest: Any = None
        self._slowest_ms = 0
        self.turns = 0
        self.slow_turns = 0
        self.idle_ms = 0

    # What a component asks for

    def register(self, source: Pollable, interest: int, handler: Handler, *, urgent: bool = False) -> None:
        """Calls `handler(readiness)` when the source is ready, or was a moment ago: expect BlockingIOError."""
        fileno = source.fileno()
        self._handlers[fileno] = handler
        (self._urgent.add if urgent else self._urgent.discard)(fileno)
        self._poller.watch(source, interest)

    def set_interest(self, source: Pollable, interest: int) -> None:
        self._poller.watch(source, interest)

    def again(self, source: Pollable) -> None:
        """Serves the source once more, behind all that is ready: it has input left of which the poller knows nothing.

        It counts as input of the poll before, so that no timer sees a later time until it is served.
        """
        self._ready.setdefault(source.fileno(), (READABLE, self._polled_ms))

    def unregister(self, source: Pollable) -> None:
        """Before it is closed: its number may soon belong to another."""
        fileno = source.fileno()
        self._poller.unwatch(source)
        self._handlers.pop(fileno, None)
        self._ready.pop(fileno, None)
        self._urgent.discard(fileno)

    def pending(self) -> Pending[Any]:
        return Pending(self._completions)

    def spawn(self, coroutine: Coroutine[Any, None, T]) -> Task[T]:
        """Runs a coroutine. If it fails and nobody waits for it, the loop's `on_error` is told."""
        return Task(self._completions, coroutine, self._unseen)

    def submit(self, job: Job) -> Pending[Any]:
        """Runs a job in the executor. Jobs that must not overlap go through a `JobQueue`."""
        pending = self.pending()

        def done(value: Any, error: BaseException | None) -> None:
            pending.resolve(value) if error is None else pending.fail(error)

        self._executor.submit(job, done)
        return pending

    def soon(self, callback: Callable[[Any], object], argument: Any = None) -> None:
        self._completions.append((callback, argument))

    def after(self, delay_ms: int, callback: Callable[[], object]) -> Timer:
        return self._timers.at(self._clock.mono_ms() + delay_ms, callback)

    def sleep(self, delay_ms: int) -> Pending[None]:
        pending = self.pending()
        self.after(delay_ms, lambda: pending.resolve(None))
        return pending

    # Driving it

    def wake(self) -> None:
        """Ends the sleep of a turn, from another thread or from a signal's handler."""
        self._poller.wake()

    def fileno(self) -> int:
        """Readable when a turn has something to do, timers aside: for a poller or an event loop around this one."""
        return self._poller.fileno()

    def run_until(self, pending: Pending[T]) -> T:
        pending.is_observed = True
        while not pending.is_done:
            self.turn()
        return pending.value()

    def wait_ms(self) -> int | None:
        """How long a turn may sleep: 0 if work is queued, None if only input can bring some."""
        if self._completions or self._ready:
            return 0
        deadline_ms = self._timers.next_deadline_ms()
        return None if deadline_ms is None else max(0, deadline_ms - self._clock.mono_ms())

    def turn(self, timeout_ms: int | None = None) -> None:
        """One turn; sleeps for input at most `timeout_ms`, and never past a timer."""
        wait_ms = self.wait_ms()
        if timeout_ms is not None:
            wait_ms = timeout_ms if wait_ms is None else min(wait_ms, timeout_ms)
        polled_ms = self._polled_ms = self._clock.mono_ms()
        events = self._poller.poll(wait_ms)
        started_ms = self._clock.mono_ms()
        self.idle_ms += started_ms - polled_ms
        self._drain()
        self._take_in(events, polled_ms)
        self._serve(started_ms + INPUT_MS_MAX)
        if self._executor.drain():
            self._drain()
        oldest_unserved = next(iter(self._ready.values()), None)
        self._expire(oldest_unserved[1] if oldest_unserved else polled_ms)
        self._end(started_ms)

    def close(self) -> None:
        """The executor is closed before: its threads wake this poller."""
        self._poller.close()

    # The parts of a turn

    def _take_in(self, events: list[tuple[int, int]], polled_ms: int) -> None:
        ready = self._ready
        for fileno, readiness in events:
            if fileno not in self._handlers:
                continue  # an urgent handler has just unregistered it
            if fileno in self._urgent:
                self._call(self._handlers[fileno], readiness)
                self._drain()
            else:
                waiting = ready.get(fileno)
                ready[fileno] = (readiness | waiting[0], waiting[1]) if waiting else (readiness, polled_ms)

    def _serve(self, until_ms: int) -> None:
        ready = self._ready
        while ready:
            fileno = next(iter(ready))
            readiness, _ = ready.pop(fileno)
            now_ms = self._call(self._handlers[fileno], readiness)
            if self._completions:
                now_ms = self._drain()
            if now_ms >= until_ms:
                break

    def _drain(self) -> int:
        """Runs queued completions; callbacks that queue callbacks for ever are cut off and go on in the next turn."""
        if not self._completions:
            return 0
        now_ms = self._clock.mono_ms()
        until_ms = now_ms + INPUT_MS_MAX
        while self._completions:
            for _ in range(min(COMPLETIONS_PER_LOOK, len(self._completions))):
                callback, argument = self._completions.popleft()
                now_ms = self._call(callback, argument)
            if now_ms >= until_ms:
                break
        return now_ms

    def _expire(self, now_ms: int) -> None:
        set_before = self._timers.sequence
        while (callback := self._timers.pop_due(now_ms, set_before)) is not None:
            self._call(_without_argument, callback)
            self._drain()

    def _call(self, callback: Callable[[Any], object], argument: Any) -> int:
        """Every callback of the loop goes through here: errors have one exit, and the slowest of a turn is known."""
        before_ms = self._clock.mono_ms()
        try:
            callback(argument)
        except Exception as error:  # noqa: BLE001 - one place decides what a failed handler means
            self._on_error(error, callback)
        now_ms = self._clock.mono_ms()
        if now_ms - before_ms > self._slowest_ms:
            self._slowest_ms = now_ms - before_ms
            self._slowest = argument if callback is _without_argument else callback
        return now_ms

    def _end(self, started_ms: int) -> None:
        self.turns += 1
        took_ms = self._clock.mono_ms() - started_ms
        if took_ms > SLOW_TURN_MS:
            self.slow_turns += 1
            if self._on_slow_turn is not None:
                self._on_slow_turn(took_ms, self._slowest)
        self._slowest = None
        self._slowest_ms = 0

    def _unseen(self, task: Task[Any]) -> None:
        assert task.error is not None
        self._on_error(task.error, task)


def _without_argument(callback: Callable[[], object]) -> None:
    callback()


def _raise(error: BaseException, _: Any) -> None:
    raise error
