"""The loop: the one thread of a broker or a client, turn after turn.

A turn polls, calls the handlers of what is ready, takes in the jobs that have ended, then expires timers.
After each of these calls the queue of completions is drained: what a handler has satisfied goes on right
behind it, never inside it.

Two rules make a stall of our own harmless. A turn serves input for `INPUT_MS_MAX`, then goes on with jobs and
timers; what is left keeps its place for the next turn, and urgent sources (the control plane) are served
before it. And a timer sees the time at which the last poll *began* whose input has all been served: a
heartbeat that arrived while we were busy is read before the session that it keeps alive could expire.

A source whose last calls took long, or that has much input left, is served behind the others, and one that is new
behind those: for `LATE_US_MAX`, then the others are polled again, and one call a turn at the least. So three hundred
clients that flood us, or that have just come, delay one that asks now and then by a few of their slices, not by a round
of them all; and while many are waiting (`is_crowded`), who slices its work should make its slices short.
"""

from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from odradek.reactor.pending import Completions, Pending, T
from odradek.reactor.ports import READABLE, Job, Pollable, Ports
from odradek.reactor.task import Task
from odradek.reactor.timers import Timer, Timers

INPUT_MS_MAX = 2
LATE_US_MAX = 500
HEAVY_US = 250  # an honest request takes a tenth
HEAVY_CALLS = 2  # in a row; the second must have worked for so long, not waited for the machine
SUSPICION_MS = 1000  # after the last long call
CROWD = 16  # sources that are ready
CROWDED_EVENTS_MAX = 256  # of a poll in a crowd: to hear of thousands in every turn takes longer than to serve some
FULL_POLL_MS = 20  # even then, how often everything is asked for
FULL_POLL_SHARE = 16  # or less often: to take in what it told may take one part in so many of the time
FULL_POLL_MS_MAX = 200  # timers wait for it
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
        "_cpu_us",
        "_executor",
        "_full_poll_ms",
        "_full_poll_pause_ms",
        "_handlers",
        "_heavy",
        "_late",
        "_long_calls",
        "_new",
        "_newcomers",
        "_on_error",
        "_on_slow_turn",
        "_polled_ms",
        "_poller",
        "_ready",
        "_slowest",
        "_slowest_ms",
        "_suspected_ms",
        "_timers",
        "_urgent",
        "completions",
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
        self._newcomers: _Ready = {}  # of new sources
        self._heavy: set[int] = set()
        self._new: set[int] = set()
        self._long_calls: dict[int, int] = {}  # in a row
        self._suspected_ms = 0
        self._cpu_us = 0
        self._completions: Completions = deque()
        self.completions = self._completions  # for a kind of Pending of its own
        self._timers = Timers()
        self._on_error = on_error or _raise
        self._on_slow_turn = on_slow_turn
        self._polled_ms = 0
        self._full_poll_ms = 0
        self._full_poll_pause_ms = FULL_POLL_MS
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

    def register_new(self, source: Pollable, handler: Handler) -> None:
        """Behind the others until it is `known`. The handler is called once, then it is for it to watch the source."""
        fileno = source.fileno()
        self._handlers[fileno] = handler
        self._urgent.discard(fileno)
        self._new.add(fileno)
        self.again(source)

    def watch_once(self, source: Pollable, interest: int) -> None:
        """For a new one: of thousands that wait for their turn the poller must not tell in every turn."""
        self._poller.watch(source, interest, once=True)

    def known(self, source: Pollable, interest: int, handler: Handler) -> None:
        self._poller.watch(source, interest)
        fileno = source.fileno()
        self._handlers[fileno] = handler
        self._new.discard(fileno)

    def set_interest(self, source: Pollable, interest: int) -> None:
        self._poller.watch(source, interest)

    def again(self, source: Pollable, *, is_little: bool = False) -> None:
        """Serves the source once more, behind all that is ready: it has input left of which the poller knows nothing.

        Of who has little left it is the last: a client that was held up must not queue with those that flood us.
        It counts as input of the poll before, so that no timer sees a later time until it is served.
        """
        fileno = source.fileno()
        if fileno in self._new:
            self._newcomers.setdefault(fileno, (READABLE, self._polled_ms))
        elif fileno not in self._ready:
            ready = self._ready if is_little and fileno not in self._late else self._late
            ready.setdefault(fileno, (READABLE, self._polled_ms))

    @property
    def is_crowded(self) -> bool:
        return len(self._newcomers) + len(self._late) + len(self._ready) > CROWD

    @property
    def newcomers(self) -> int:
        """New sources that wait to be served."""
        return len(self._newcomers)

    def unregister(self, source: Pollable) -> None:
        """Before it is closed: its number may soon belong to another."""
        fileno = source.fileno()
        self._poller.unwatch(source)
        self._handlers.pop(fileno, None)
        self._ready.pop(fileno, None)
        self._late.pop(fileno, None)
        self._newcomers.pop(fileno, None)
        self._heavy.discard(fileno)
        self._long_calls.pop(fileno, None)
        self._new.discard(fileno)
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
        if self._completions or self._ready or self._late or self._newcomers:
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
        is_full = not self.is_crowded or polled_ms - self._full_poll_ms >= self._full_poll_pause_ms
        events = self._poller.poll(wait_ms, 0 if is_full else CROWDED_EVENTS_MAX)
        if is_full:
            self._full_poll_ms = polled_ms
        started_ms = self._clock.mono_ms()
        self.idle_ms += started_ms - polled_ms
        if self._completions:
            self._drain()
        self._take_in(events, polled_ms)
        serving_ms = self._crowd_taken_in(started_ms) if len(events) > CROWDED_EVENTS_MAX else started_ms
        self._serve(self._ready, (serving_ms + INPUT_MS_MAX) * 1000)
        if self._late:
            self._serve(self._late, self._clock.mono_us() + LATE_US_MAX)
        if self._newcomers:
            self._serve(self._newcomers, 0 if self._late else self._clock.mono_us() + LATE_US_MAX)
        if self._executor.drain():
            self._drain()
        heard_ms = self._full_poll_ms
        if self._ready or self._late or self._newcomers:
            lines = (self._ready, self._late, self._newcomers)
            heard_ms = min(heard_ms, *(_oldest(waiting, heard_ms) for waiting in lines))
        if self._timers.may_be_due(heard_ms):
            self._expire(heard_ms)
        self._end(started_ms)

    def close(self) -> None:
        """The executor is closed before: its threads wake this poller."""
        self._poller.close()

    # The parts of a turn

    def _crowd_taken_in(self, heard_ms: int) -> int:
        """Now, when the time for serving begins: to take in thousands took some, and to hear of them as much before."""
        now_ms = self._clock.mono_ms()
        self._full_poll_pause_ms = min(max(FULL_POLL_MS, FULL_POLL_SHARE * (now_ms - heard_ms)), FULL_POLL_MS_MAX)
        return now_ms

    def _take_in(self, events: list[tuple[int, int]], polled_ms: int) -> None:
        in_line, late, newcomers = self._ready, self._late, self._newcomers
        for fileno, readiness in events:
            waiting = in_line.get(fileno) or late.get(fileno) or newcomers.get(fileno)
            if waiting is not None and waiting[0] == readiness:
                continue  # in a crowd nearly all: a poll tells of who waits again and again
            if fileno not in self._handlers:
                continue  # an urgent handler has just unregistered it
            if fileno in self._urgent:
                self._call(self._handlers[fileno], readiness)
                self._drain()
            else:
                ready = late if fileno in self._heavy or fileno in late else in_line
                if fileno in self._new:
                    ready = newcomers
                waiting = ready.get(fileno)
                ready[fileno] = (readiness | waiting[0], waiting[1]) if waiting else (readiness, polled_ms)

    def _serve(self, ready: "_Ready", until_us: int) -> None:
        """At least one, so that neither kind waits for the other for ever."""
        if not ready:
            return
        mono_us = self._clock.mono_us
        before_us = mono_us()
        if self._long_calls:
            self._suspect()
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
            elif self._long_calls and self._long_calls.pop(fileno, 0) >= HEAVY_CALLS:
                self._heavy.discard(fileno)
            if self._completions:
                self._drain()
                now_us = mono_us()
            if now_us >= until_us:
                break
            before_us = now_us

    def _note_heavy(self, fileno: int, handler: Handler, took_ms: int) -> None:
        if fileno in self._handlers:
            self._count_long(fileno)
        if took_ms > self._slowest_ms:
            self._slowest_ms = took_ms
            self._slowest = handler

    def _count_long(self, fileno: int) -> None:
        calls = self._long_calls.get(fileno, 0)
        if calls:
            before_us, self._cpu_us = self._cpu_us, self._clock.cpu_us()
            if self._cpu_us - before_us < HEAVY_US:
                return
        self._suspected_ms = self._polled_ms
        self._long_calls[fileno] = calls + 1
        if calls + 1 >= HEAVY_CALLS:
            self._heavy.add(fileno)

    def _suspect(self) -> None:
        """What this thread has worked until now costs a system call: it is asked for only while it may matter."""
        if self._polled_ms - self._suspected_ms > SUSPICION_MS:
            self._long_calls.clear()
            self._heavy.clear()
        else:
            self._cpu_us = self._clock.cpu_us()

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
