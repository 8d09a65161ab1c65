"""Jobs in order: those of one key (one log, one directory) never overlap, and a rate can be kept.

A throttled job is run in slices. Each slice has an allowance of bytes; when the job has moved that much, the
slice ends, the reactor waits until the rate allows more, and the next slice goes on with the same generator.
So no thread sleeps, and the rate is shared by every job that goes through the same `Throttle`.
"""

from collections import deque
from typing import Any

from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Cancelled, Job, JobHandle, JobOf, R
from odradek.reactor.timers import Timer

BURST_MS = 100  # what an idle throttle saves up


class Throttle:
    """A budget of bytes per second. A slice may overdraw it by one step of its job; the next one waits the longer."""

    __slots__ = ("_balance", "_refilled_ms", "bytes_per_second")

    def __init__(self, bytes_per_second: int) -> None:
        if bytes_per_second <= 0:
            raise ValueError(f"a throttle needs a positive rate, not {bytes_per_second} bytes per second")
        self.bytes_per_second = bytes_per_second
        self._balance = 0  # in thousandths of a byte: bytes per second times milliseconds
        self._refilled_ms: int | None = None

    def allowance_bytes(self, now_ms: int) -> int:
        """What may be moved now; 0 means wait."""
        self._refill(now_ms)
        return max(0, -(-self._balance // 1000))

    def wait_ms(self, now_ms: int) -> int:
        self._refill(now_ms)
        return 0 if self._balance > 0 else -self._balance // self.bytes_per_second + 1

    def spend(self, moved_bytes: int) -> None:
        self._balance -= moved_bytes * 1000

    def _refill(self, now_ms: int) -> None:
        burst = self.bytes_per_second * BURST_MS
        if self._refilled_ms is None:
            self._balance += burst
        else:
            self._balance = min(burst, self._balance + self.bytes_per_second * (now_ms - self._refilled_ms))
        self._refilled_ms = now_ms


class _Queued:
    """A job from its submission to its end. A queue has jobs of many kinds: only who waits knows what one returns."""

    __slots__ = ("allowance_bytes", "handle", "is_cancelled", "job", "moved_bytes", "pending", "throttle", "timer")

    def __init__(self, job: Job, pending: Pending[Any], throttle: Throttle | None) -> None:
        self.job = job
        self.pending = pending
        self.throttle = throttle
        self.handle: JobHandle | None = None  # while it is in the executor
        self.timer: Timer | None = None  # while it waits for the throttle
        self.is_cancelled = False
        self.allowance_bytes = 0  # of the slice that runs, and what that has moved
        self.moved_bytes = 0


_UNFINISHED = object()  # what a slice returns when its allowance is used up before the job has ended


class JobQueue:
    __slots__ = ("_loop", "_queues")

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._queues: dict[object, deque[_Queued]] = {}  # the first of each is the one that runs

    def submit(self, key: object, job: JobOf[R], throttle: Throttle | None = None) -> Pending[R]:
        """Runs the job after all that were submitted before with this key."""
        pending: Pending[R] = self._loop.pending()
        queued = _Queued(job, pending, throttle)
        queue = self._queues.setdefault(key, deque())
        queue.append(queued)
        if len(queue) == 1:
            self._begin(key, queued)
        return pending

    def cancel(self, key: object) -> None:
        """Those that wait never begin, the one that runs ends at its next yield. Later ones wait for that end."""
        queue = self._queues.get(key)
        if not queue:
            return
        running = queue.popleft()
        for waiting in queue:
            waiting.job.close()
            waiting.pending.cancel()
        queue.clear()
        queue.append(running)
        self._cancel_running(key, running)

    def is_busy(self, key: object) -> bool:
        return key in self._queues

    def _cancel_running(self, key: object, running: _Queued) -> None:
        running.is_cancelled = True
        if running.timer is not None:
            running.timer.cancel()
            running.timer = None
            self._run(key, running, _slice(running))  # in the executor: the job's cleaning up may block
        elif running.throttle is None and running.handle is not None:
            running.handle.cancel()  # a slice looks at the flag: cancelled as a whole, it would not tell its job

    def _begin(self, key: object, queued: _Queued) -> None:
        if queued.throttle is None:
            self._run(key, queued, queued.job)
        else:
            self._run_slice_when_allowed(key, queued, queued.throttle)

    def _run_slice_when_allowed(self, key: object, queued: _Queued, throttle: Throttle) -> None:
        now_ms = self._loop.ports.clock.mono_ms()
        allowance_bytes = throttle.allowance_bytes(now_ms)
        if not allowance_bytes and not queued.is_cancelled:
            wait_ms = throttle.wait_ms(now_ms)
            queued.timer = self._loop.after(wait_ms, lambda: self._run_slice_when_allowed(key, queued, throttle))
            return
        # Taken now, and corrected at the end of the slice: another job of this throttle must not get the same bytes.
        throttle.spend(allowance_bytes)
        queued.timer = None
        queued.allowance_bytes = allowance_bytes
        queued.moved_bytes = 0
        self._run(key, queued, _slice(queued))

    def _run(self, key: object, queued: _Queued, job: Job) -> None:
        def done(value: object, error: BaseException | None) -> None:
            self._ended(key, queued, value, error)

        queued.handle = self._loop.ports.executor.submit(job, done)

    def _ended(self, key: object, queued: _Queued, value: object, error: BaseException | None) -> None:
        queued.handle = None
        if queued.throttle is not None:
            queued.throttle.spend(queued.moved_bytes - queued.allowance_bytes)
            queued.allowance_bytes = queued.moved_bytes = 0
            if value is _UNFINISHED:
                self._run_slice_when_allowed(key, queued, queued.throttle)
                return
        if error is None:
            queued.pending.resolve(value)
        else:
            queued.pending.fail(error)
        self._next(key)

    def _next(self, key: object) -> None:
        queue = self._queues[key]
        queue.popleft()
        if queue:
            self._begin(key, queue[0])
        else:
            del self._queues[key]


def _slice(queued: _Queued) -> Job:
    """Runs the job until it ends or has moved its allowance. Runs in the executor, as the job would."""
    job = queued.job
    while not queued.is_cancelled:
        try:
            moved_bytes = next(job)
        except StopIteration as end:
            return end.value
        queued.moved_bytes += moved_bytes
        try:
            yield moved_bytes
        except Cancelled as cancelled:
            return _thrown_into(job, cancelled)
        if queued.moved_bytes >= queued.allowance_bytes:
            return _UNFINISHED
    return _thrown_into(job, Cancelled("between two slices"))


def _thrown_into(job: Job, cancelled: Cancelled) -> object:
    """What the job still returns; it usually lets `cancelled` through."""
    try:
        job.throw(cancelled)
    except StopIteration as end:
        return end.value
    job.close()
    raise cancelled
