"""The loop: the one thread of a broker or a client, turn after turn.

A turn polls, calls the handlers of what is ready, takes in the jobs that have ended, then expires timers.
After each of these calls the queue of completions is drained: what a handler has satisfied goes on right
behind it, never inside it.

Two rules make a stall of our own harmless. A turn serves input for `INPUT_MS_MAX`, then goes on with jobs and
timers; what is left keeps its place for the next turn, and urgent sources (the control plane) are served
before it. And a timer sees the time at which the last poll *began* whose input has all been served: a
heartbeat that arrived while we were busy is read before the session that it keeps alive could expire.

A source whose last call took long, or that had input left after it, is served behind the others, one call a turn at
the least. So three hundred clients that flood us delay one that asks now and then by a few of their slices, not by a
round of them all; and while many are waiting (`is_crowded`), who slices its work should make its slices short.
"""

from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from odradek.reactor.pending import Completions, Pending, T
from odradek.reactor.ports import READABLE, Job, Pollable, Ports
from odradek.reactor.task import Task
from odradek.reactor.timers import Timer, Timers

INPUT_MS_MAX = 2
HEAVY_US = 250  # an honest request takes a tenth
CROWD = 16  # sources that are ready
CROWDED_EVENTS_MAX = 256  # of a poll in a crowd: to hear of thousands in every turn takes longer than to serve some
FULL_POLL_MS = 20  # even then, how often everything is asked for
SLOW_TURN_MS = 50
COMPLETIONS_PER_LOOK = 64  # callbacks between two looks at the clock

Handler = Callable[[int], object]  # takes READABLE | WRITABLE
OnError = Callable[[BaseException, Any], None]  # takes what failed: a handler, a callback or a task
OnSlowTurn = Callable[[int, Any], None]  # takes the turn's milliseconds and the slowest thing in it


_Ready = dict[int, tuple[int, int]]  # fileno to readiness and when its poll began, oldest first


class Loop:
    __slots__ = (
        "_clock",
        "_completions",
        "_executor",
        "_full_poll_ms",
        "_handlers",
        "_heavy",
        "_late",
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
        self._ready: _Ready = {}
        self._late: _Ready = {}  # of heavy sources
        self._heavy: set[int] = set()
        self._completions: Completions = deque()
        self._timers = Timers()
        self._on_error = on_error or _raise
        self._on_slow_turn = on_slow_turn
        self._polled_ms = 0
        self._full_poll_ms = 0
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
        fileno = source.fileno()
        if fileno not in self._ready:
            self._late.setdefault(fileno, (READABLE, self._polled_ms))

    @property
    def is_crowded(self) -> bool:
        return len(self._late) + len(self._ready) > CROWD

    def unregister(self, source: Pollable) -> None:
        """Before it is closed: its number may soon belong to another."""
        fileno = source.fileno()
        self._poller.unwatch(source)
        self._handlers.pop(fileno, None)
        self._ready.pop(fileno, None)
        self._late.pop(fileno, None)
        self._heavy.discard(fileno)
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
        return self._wait_ms(self._clock.mono_ms())

    def _wait_ms(self, now_ms: int) -> int | None:
        if self._completions or self._ready or self._late:
            return 0
        deadline_ms = self._timers.next_deadline_ms()
        if deadline_ms is None:
            return None
        return deadline_ms - now_ms if deadline_ms > now_ms else 0

    def turn(self, timeout_ms: int | None = None) -> None:
        """One turn; sleeps for input at most `timeout_ms`, and never past a timer."""
        polled_ms = self._polled_ms = self._clock.mono_ms()
        wait_ms = self._wait_ms(polled_ms)
        if timeout_ms is not None:
            wait_ms = timeout_ms if wait_ms is None else min(wait_ms, timeout_ms)
        is_full = not self.is_crowded or polled_ms - self._full_poll_ms >= FULL_POLL_MS
        events = self._poller.poll(wait_ms, 0 if is_full else CROWDED_EVENTS_MAX)
        if is_full:
            self._full_poll_ms = polled_ms
        started_ms = self._clock.mono_ms()
        self.idle_ms += started_ms - polled_ms
        if self._completions:
            self._drain()
        self._take_in(events, polled_ms)
        until_ms = started_ms + INPUT_MS_MAX
        self._serve(self._ready, until_ms)
        if self._late:
            self._serve(self._late, until_ms)
        if self._executor.drain():
            self._drain()
        heard_ms = self._full_poll_ms
        if self._ready or self._late:
            heard_ms = min(_oldest(self._ready, heard_ms), _oldest(self._late, heard_ms), heard_ms)
        if self._timers.may_be_due(heard_ms):
            self._expire(heard_ms)
        self._end(started_ms)

    def close(self) -> None:
        """The executor is closed before: its threads wake this poller."""
        self._poller.close()

    # The parts of a turn

    def _take_in(self, events: list[tuple[int, int]], polled_ms: int) -> None:
        for fileno, readiness in events:
            if fileno not in self._handlers:
                continue  # an urgent handler has just unregistered it
            if fileno in self._urgent:
                self._call(self._handlers[fileno], readiness)
                self._drain()
            else:
                ready = self._late if fileno in self._heavy or fileno in self._late else self._ready
                waiting = ready.get(fileno)
                ready[fileno] = (readiness | waiting[0], waiting[1]) if waiting else (readiness, polled_ms)

    def _serve(self, ready: "_Ready", until_ms: int) -> None:
        """At least one, so that neither kind waits for the other for ever."""
        if not ready:
            return
        mono_us = self._clock.mono_us
        before_us = mono_us()
        until_us = until_ms * 1000
        while ready:
            fileno = next(iter(ready))
            handler = self._handlers[fileno]
            try:  # `_call`, spelled out: every request of a client comes through here
                handler(ready.pop(fileno)[0])
            except Exception as error:  # noqa: BLE001 - one place decides what a failed handler means
                self._on_error(error, handler)
            now_us = mono_us()
            if now_us - before_us >= HEAVY_US:
                self._note_heavy(fileno, handler, (now_us - before_us) // 1000)
            elif self._heavy:
                self._heavy.discard(fileno)
            if self._completions:
                self._drain()
                now_us = mono_us()
            if now_us >= until_us:
                break
            before_us = now_us

    def _note_heavy(self, fileno: int, handler: Handler, took_ms: int) -> None:
        if fileno in self._handlers:
            self._heavy.add(fileno)
        if took_ms > self._slowest_ms:
            self._slowest_ms = took_ms
            self._slowest = handler

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


def _oldest(ready: _Ready, otherwise_ms: int) -> int:
    """When the poll began whose input has waited longest."""
    oldest = next(iter(ready.values()), None)
    return oldest[1] if oldest is not None else otherwise_ms
