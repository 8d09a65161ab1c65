"""Jobs in simulated time: each step, from one yield to the next, happens in one go; steps of different jobs
interleave.

How long a step takes is drawn, plus what its disk calls took; so the order of steps is the seed's. A crash
drops the jobs where they stand.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress

from odradek.reactor.ports import Cancelled, Done, Job
from odradek.sim.crash import SimCrash
from odradek.sim.machine import Machine
from odradek.sim.rng import SimStream

STEP_US = (5, 2000)  # a step takes from, to
WORKERS = 4


class SimRun:
    __slots__ = ("done", "error", "has_begun", "is_cancelled", "job", "number", "value")

    def __init__(self, number: int, job: Job, done: Done) -> None:
        self.number = number
        self.job = job
        self.done = done
        self.has_begun = False
        self.is_cancelled = False
        self.value: object = None
        self.error: BaseException | None = None

    def cancel(self) -> None:
        self.is_cancelled = True

    def step(self) -> bool:
        """From one yield to the next; True if that was the last step."""
        try:
            if not self.is_cancelled:
                self.has_begun = True
                next(self.job)
                return False
            self._give_up()
        except StopIteration as end:
            self.value = end.value
        except Exception as error:  # noqa: BLE001 - whatever ended the job is handed to whoever asked for it
            self.error = error
        return True

    def _give_up(self) -> None:
        if self.has_begun:
            self.job.throw(Cancelled("at a yield"))
        self.job.close()
        raise Cancelled("before it began" if not self.has_begun else "though it wanted to go on")


class SimExecutor:
    __slots__ = ("_ended", "_node", "_number", "_running", "_stream", "_waiting", "_wake", "step_us", "workers")

    def __init__(self, node: Machine, stream: SimStream) -> None:
        self._node = node
        self._stream = stream
        self._number = 0
        self._running: list[SimRun] = []
        self._waiting: deque[SimRun] = deque()
        self._ended: deque[SimRun] = deque()
        self._wake: Callable[[], None] = lambda: None
        self.step_us = STEP_US
        self.workers = WORKERS

    def notify(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def submit(self, job: Job, done: Done) -> SimRun:
        self._number += 1
        run = SimRun(self._number, job, done)
        self._waiting.append(run)
        self._begin_some()
        return run

    def drain(self) -> int:
        count = 0
        while self._ended:
            run = self._ended.popleft()
            count += 1
            run.done(run.value, run.error)
        return count

    def resize(self, workers: int) -> None:
        self.workers = workers
        self._begin_some()

    def close(self) -> None:
        for run in [*self._running, *self._waiting]:
            run.cancel()
            while not run.step():
                pass
            self._ended.append(run)
        self._running.clear()
        self._waiting.clear()
        self.drain()

    def abandon(self) -> None:
        """The node has crashed: nothing of this goes on. What a job does in a `finally` meets a disk that is down."""
        for run in [*self._running, *self._waiting]:
            with suppress(SimCrash):
                run.job.close()
        self._running.clear()
        self._waiting.clear()
        self._ended.clear()
        self._wake = lambda: None

    def _begin_some(self) -> None:
        while self._waiting and len(self._running) < self.workers:
            run = self._waiting.popleft()
            self._running.append(run)
            self._step_later(run, 0)

    def _step_later(self, run: SimRun, busy_us: int) -> None:
        self._node.after(busy_us + self._stream.between(*self.step_us), lambda: self._step(run))

    def _step(self, run: SimRun) -> None:
        if run not in self._running:
            return  # closed meanwhile
        has_ended = run.step()
        self._node.world.note(f"{self._node.name} job {run.number} {'ends' if has_ended else 'yields'}")
        busy_us = self._node.take_busy_us()
        if not has_ended:
            self._step_later(run, busy_us)
            return
        self._running.remove(run)
        self._node.after(busy_us, lambda: self._end(run))

    def _end(self, run: SimRun) -> None:
        self._ended.append(run)
        self._wake()
        self._begin_some()
