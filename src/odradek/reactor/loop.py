"""The loop: the one thread of a broker or a client, turn after turn.

A turn polls, calls the handlers of what is ready, takes in the jobs that have ended, then expires timers.
After each of these calls the queue of completions is drained: what a handler has satisfied goes on right
behind it, never inside it.

Two rules make a stall of our own harmless. A turn serves input for `INPUT_US_MAX`, then goes on with jobs and
timers; what is left keeps its place for the next turn, and urgent sources (the control plane) are served
before it. And a timer sees the time at which the last poll *began* whose input has all been served: a
heartbeat that arrived while we were busy is read before the session that it keeps alive could expire.

A source whose last calls took long (`source.py`), or that has much input left, is served behind the others, and one
that is new behind those: for `LATE_US_MAX`, then the others are polled again, and one call a turn at the least. So
three hundred clients that flood us, or that have just come, delay one that asks now and then by a few of their slices,
not by a round of them all; and in a turn with many that wait (`is_crowded`), who slices its work should make its slices
short.

While several are served, the small answers of `BURST` of them go out together (`burst`).

The clock is read once before a poll, once after it, and once after every call: each reading ends one thing and begins
the next.
"""

from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, overload

from odradek.broken_rule import present
from odradek.reactor.coroutine_task import Task
from odradek.reactor.pending import Completions, Pending, T
from odradek.reactor.ports import READABLE, JobOf, Pollable, Ports, R
from odradek.reactor.source import HEAVY_US, Handler, Line, Source, Suspects, gone
from odradek.reactor.timers import Timer, Timers

INPUT_US_MAX = 2000
LATE_US_MAX = 250
CROWD = 16  # sources that are ready
CROWDED_EVENTS_MAX = 256  # of a poll in a crowd: to hear of thousands in every turn takes longer than to serve some
FULL_POLL_MS = 20  # even then, how often everything is asked for
FULL_POLL_SHARE = 16  # or less often: to take in what it told may take one part in so many of the time
FULL_POLL_MS_MAX = 200  # timers wait for it
SLOW_TURN_US = 50_000
NOTABLE_US = 1000  # a call that is shorter is not what made a turn slow
BURST = 8  # connections whose answers go out together: most of the gain, and the first waits for few
COMPLETIONS_PER_LOOK = 64  # callbacks before it counts how long they took

OnError = Callable[[BaseException, object], None]  # takes what failed: a handler, a callback or a task
OnSlowTurn = Callable[[int, object], None]  # takes the turn's milliseconds and the slowest thing in it


class Postponed(Protocol):
    """A connection whose answer waits for the end of a burst."""

    def send_postponed(self) -> None: ...


class Loop:
    __slots__ = (
        "_clock",
        "_completions",
        "_executor",
        "_full_poll_ms",
        "_full_poll_pause_ms",
        "_late",
        "_newcomers",
        "_on_error",
        "_on_slow_turn",
        "_polled_ms",
        "_poller",
        "_ready",
        "_slowest",
        "_slowest_us",
        "_sources",
        "_suspects",
        "_timers",
        "burst",
        "completions",
        "idle_ms",
        "is_crowded",
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
        self._sources: dict[int, Source] = {}  # by fileno
        self._ready: Line = deque()
        self._late: Line = deque()  # of heavy sources
        self._newcomers: Line = deque()  # of new sources
        self._suspects = Suspects(self._clock, self._ready, self._late)
        self._completions: Completions = deque()
        self.completions = self._completions  # for a kind of Pending of its own
        self._timers = Timers()
        self._on_error = on_error or _raise
        self._on_slow_turn = on_slow_turn
        self._polled_ms = 0
        self._full_poll_ms = 0
        self._full_poll_pause_ms = FULL_POLL_MS
        self._slowest: object = None
        self._slowest_us = NOTABLE_US
        self.burst: list[Postponed] | None = None  # whose answers are postponed; None if nobody's are to be
        self.is_crowded = False  # many were waiting when this turn began to serve
        self.turns = 0
        self.slow_turns = 0
        self.idle_ms = 0

    # What a component asks for

    def register(self, source: Pollable, interest: int, handler: Handler, *, urgent: bool = False) -> None:
        """Calls `handler(readiness)` when the source is ready, or was a moment ago: expect BlockingIOError."""
        self._put(source.fileno(), Source(handler, None if urgent else self._ready))
        self._poller.watch(source, interest)

    def register_new(self, source: Pollable, handler: Handler) -> None:
        """Behind the others until it is `known`. The handler is called once, then it is for it to watch the source."""
        self._put(source.fileno(), Source(handler, self._newcomers))
        self.again(source)

    def watch_once(self, source: Pollable, interest: int) -> None:
        """For a new one: of thousands that wait for their turn the poller must not tell in every turn."""
        self._poller.watch(source, interest, once=True)

    def known(self, source: Pollable, interest: int, handler: Handler) -> None:
        self._poller.watch(source, interest)
        known = self._sources[source.fileno()]
        known.handler = handler
        known.line = self._suspects.line_of(known)

    def set_interest(self, source: Pollable, interest: int) -> None:
        self._poller.watch(source, interest)

    def again(self, source: Pollable, *, is_little: bool = False) -> None:
        """Serves the source once more, behind all that is ready: it has input left of which the poller knows nothing.

        Of who has little left it is the last: a client that was held up must not queue with those that flood us.
        It counts as input of the poll before, so that no timer sees a later time until it is served.
        """
        waiting = self._sources[source.fileno()]
        if waiting.readiness:
            return
        line = self._ready if is_little else self._late
        if waiting.line is self._newcomers:
            line = self._newcomers
        waiting.readiness = READABLE
        waiting.polled_ms = self._polled_ms
        line.append(waiting)

    @property
    def newcomers(self) -> int:
        """New sources that wait to be served."""
        return len(self._newcomers)

    def unregister(self, source: Pollable) -> None:
        """Before it is closed: its number may soon belong to another."""
        self._poller.unwatch(source)
        self._let_go(self._sources.pop(source.fileno(), None))

    def _put(self, fileno: int, source: Source) -> None:
        self._let_go(self._sources.get(fileno))
        self._sources[fileno] = source

    def _let_go(self, source: Source | None) -> None:
        if source is not None:
            self._suspects.acquit(source)
            source.handler = gone  # in a line it keeps its place: to find it there would take long

    def pending(self) -> Pending[T]:
        """A value that is not there yet; who asks for it says of which type it will be."""
        return Pending(self._completions)

    def spawn(self, coroutine: Coroutine[object, None, T]) -> Task[T]:
        """Runs a coroutine. If it fails and nobody waits for it, the loop's `on_error` is told."""
        return Task(self._completions, coroutine, self._unseen)

    def submit(self, job: JobOf[R]) -> Pending[R]:
        """Runs a job in the executor. Jobs that must not overlap go through a `JobQueue`."""
        pending: Pending[R] = self.pending()

        def done(value: R, error: BaseException | None) -> None:
            pending.resolve(value) if error is None else pending.fail(error)

        self._executor.submit(job, done)
        return pending

    @overload
    def soon(self, callback: Callable[[None], object]) -> None: ...
    @overload
    def soon(self, callback: Callable[[T], object], argument: T) -> None: ...
    def soon(self, callback: Callable[[Any], object], argument: object = None) -> None:  # Any: as in `Completions`
        """Calls back when no handler is on the stack."""
        self._completions.append((callback, argument))

    @overload
    def from_thread(self, callback: Callable[[None], object]) -> None: ...
    @overload
    def from_thread(self, callback: Callable[[T], object], argument: T) -> None: ...
    def from_thread(self, callback: Callable[[Any], object], argument: object = None) -> None:  # Any: likewise
        """As `soon`, for another thread: the one thing of a loop, with `wake`, that any thread may call."""
        self._completions.append((callback, argument))
        self._poller.wake()

    def after(self, delay_ms: int, callback: Callable[[], object]) -> Timer:
        return self._timers.at(self._clock.mono_ms() + delay_ms, callback)

    def sleep(self, delay_ms: int) -> Pending[None]:
        pending: Pending[None] = self.pending()
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
        if self._completions or self._ready or self._late or self._newcomers:
            return 0
        return self._timers.wait_ms(self._clock.mono_ms())

    def turn(self, timeout_ms: int | None = None) -> None:
        """One turn; sleeps for input at most `timeout_ms`, and never past a timer."""
        clock, ready = self._clock, self._ready
        polled_ms = self._polled_ms = clock.mono_ms()
        events_max = 0
        if self._completions or ready or self._late or self._newcomers:
            wait_ms: int | None = 0
            if self._is_crowd() and polled_ms - self._full_poll_ms < self._full_poll_pause_ms:
                events_max = CROWDED_EVENTS_MAX
        else:
            wait_ms = self._timers.wait_ms(polled_ms)
            if timeout_ms is not None and (wait_ms is None or wait_ms > timeout_ms):
                if timeout_ms < 0:
                    raise ValueError(f"a turn cannot sleep for {timeout_ms} ms")  # a poller would sleep for ever
                wait_ms = timeout_ms
        events = self._poller.poll(wait_ms, events_max)
        if not events_max:
            self._full_poll_ms = polled_ms
        now_us = started_us = clock.mono_us()
        self.idle_ms += started_us // 1000 - polled_ms
        if self._completions:
            now_us = self._drain(now_us)
        if events:
            now_us = self._take_in(events, now_us)
        self.is_crowded = len(ready) + len(self._late) + len(self._newcomers) > CROWD
        if ready:
            now_us = self._serve(ready, now_us, now_us + INPUT_US_MAX)
        if self._late or self._newcomers:
            now_us = self._serve_others(now_us)
        if self._executor.drain():
            now_us = self._drain(clock.mono_us())
        heard_ms = self._heard_ms() if ready or self._late or self._newcomers else self._full_poll_ms
        if self._timers.may_be_due(heard_ms):
            now_us = self._expire(heard_ms)
        self.turns += 1
        if self._slowest is not None or now_us - started_us > SLOW_TURN_US:
            self._end(now_us - started_us)

    def close(self) -> None:
        """The executor is closed before: its threads wake this poller."""
        self._poller.close()

    # The parts of a turn

    def _is_crowd(self) -> bool:
        return len(self._ready) + len(self._late) + len(self._newcomers) > CROWD

    def _take_in(self, events: list[tuple[int, int]], now_us: int) -> int:
        """Puts who is ready in line and calls who is urgent; the time after that."""
        sources, polled_ms = self._sources, self._polled_ms
        for fileno, readiness in events:
            source = sources.get(fileno)
            if source is None:
                continue  # an urgent handler has just unregistered it
            if source.readiness:
                source.readiness |= readiness  # in a crowd nearly all: a poll tells of who waits again and again
            elif source.line is not None:
                source.readiness = readiness
                source.polled_ms = polled_ms
                source.line.append(source)
            else:
                now_us = self._drain(self._call(source.handler, readiness, now_us))
        return self._crowd_taken_in(now_us) if len(events) > CROWDED_EVENTS_MAX else now_us

    def _crowd_taken_in(self, heard_us: int) -> int:
        """To take in thousands took some time, and to hear of them as much before."""
        now_us = self._clock.mono_us()
        pause_ms = FULL_POLL_SHARE * (now_us - heard_us) // 1000
        self._full_poll_pause_ms = min(max(FULL_POLL_MS, pause_ms), FULL_POLL_MS_MAX)
        return now_us

    def _serve(self, line: Line, before_us: int, until_us: int) -> int:
        """At least one, so that no line waits for another for ever; the time after the last."""
        mono_us = self._clock.mono_us
        suspects = self._suspects
        if suspects:
            suspects.look(self._polled_ms)
        burst = self.burst = [] if len(line) > 1 else None
        while line:
            source = line.popleft()
            handler = source.handler
            readiness, source.readiness = source.readiness, 0
            try:  # `_call`, spelled out: every request of a client comes through here
                handler(readiness)
            except Exception as error:  # noqa: BLE001 - one place decides what a failed handler means
                self._on_error(error, handler)
            now_us = mono_us()
            if now_us - before_us >= HEAVY_US:
                suspects.accuse(source, self._polled_ms)
                self._note(handler, now_us - before_us)
            elif source.long_calls:
                suspects.acquit(source)
            if self._completions:
                now_us = self._drain(now_us)
            if burst and (len(burst) >= BURST or not line or now_us >= until_us):
                self._send_burst(burst)
                now_us = mono_us()
            before_us = now_us
            if now_us >= until_us:
                break
        self.burst = None
        return before_us

    def _send_burst(self, burst: list[Postponed]) -> None:
        for connection in burst:
            try:
                connection.send_postponed()
            except Exception as error:  # noqa: BLE001 - as for a handler
                self._on_error(error, connection)
        burst.clear()

    def _serve_others(self, now_us: int) -> int:
        if self._late:
            now_us = self._serve(self._late, now_us, now_us + LATE_US_MAX)
        if self._newcomers:
            now_us = self._serve(self._newcomers, now_us, 0 if self._late else now_us + LATE_US_MAX)
        return now_us

    def _heard_ms(self) -> int:
        """When the poll began whose input has waited longest."""
        lines = (self._ready, self._late, self._newcomers)
        return min(self._full_poll_ms, *(line[0].polled_ms for line in lines if line))

    def _drain(self, now_us: int) -> int:
        """Runs queued completions; callbacks that queue callbacks for ever are cut off and go on in the next turn."""
        completions = self._completions
        until_us = now_us + INPUT_US_MAX
        while completions and now_us < until_us:
            for _ in range(min(COMPLETIONS_PER_LOOK, len(completions))):
                callback, argument = completions.popleft()
                now_us = self._call(callback, argument, now_us)
        return now_us

    def _expire(self, heard_ms: int) -> int:
        set_before = self._timers.sequence
        now_us = self._clock.mono_us()
        while (callback := self._timers.pop_due(heard_ms, set_before)) is not None:
            now_us = self._drain(self._call(_without_argument, callback, now_us))
        return now_us

    def _call(self, callback: Callable[[Any], object], argument: object, before_us: int) -> int:  # Any: likewise
        """Every callback of the loop goes through here: errors have one exit, and the slowest of a turn is known."""
        try:
            callback(argument)
        except Exception as error:  # noqa: BLE001 - one place decides what a failed handler means
            self._on_error(error, callback)
        now_us = self._clock.mono_us()
        if now_us - before_us > self._slowest_us:
            self._note(argument if callback is _without_argument else callback, now_us - before_us)
        return now_us

    def _note(self, called: object, took_us: int) -> None:
        if took_us > self._slowest_us:
            self._slowest_us = took_us
            self._slowest = called

    def _end(self, took_us: int) -> None:
        if took_us > SLOW_TURN_US:
            self.slow_turns += 1
            if self._on_slow_turn is not None:
                self._on_slow_turn(took_us // 1000, self._slowest)
        self._slowest = None
        self._slowest_us = NOTABLE_US

    def _unseen(self, task: Task[T]) -> None:
        self._on_error(present(task.error, "only a task that has failed goes unseen"), task)


def _without_argument(callback: Callable[[], object]) -> None:
    callback()


def _raise(error: BaseException, _: object) -> None:
    raise error
