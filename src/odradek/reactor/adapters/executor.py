"""Jobs on worker threads. A job is run to its end by one thread; its completion waits for the reactor's thread.

What the threads share with the reactor: a queue of runs going out, a deque of ended ones coming back (its append and
popleft are atomic), and one flag per run that only ever goes from False to True.
"""

from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread

from odradek.reactor.ports import Cancelled, Done, Job


class Run:
    """One job on its way through a thread."""

    __slots__ = ("done", "error", "is_cancelled", "job", "value")

    def __init__(self, job: Job, done: Done) -> None:
        self.job = job
        self.done = done
        self.is_cancelled = False
        self.value: object = None
        self.error: BaseException | None = None

    def cancel(self) -> None:
        self.is_cancelled = True

    def to_the_end(self) -> None:
        try:
            self._drive()
        except StopIteration as end:
            self.value = end.value
        except BaseException as error:  # noqa: BLE001 - whatever ended the job is handed to whoever asked for it
            self.error = error

    def _drive(self) -> None:
        if self.is_cancelled:
            self.job.close()
            raise Cancelled("before it began")
        while True:
            next(self.job)
            if self.is_cancelled:
                self.job.throw(Cancelled("at a yield"))
                self.job.close()
                raise Cancelled("though it wanted to go on")


class ThreadExecutor:
    __slots__ = ("_ended", "_runs", "_started", "_threads", "_threads_max", "_unfinished", "_waits", "_wake")

    def __init__(self, threads: int, *, waits_at_close: bool = True) -> None:
        """Without `waits_at_close` a job that blocks is left to end by itself, where nobody depends on its end."""
        self._threads_max = threads
        self._waits = waits_at_close
        self._threads: list[Thread] = []
        self._started = 0
        self._runs: SimpleQueue[Run | None] = SimpleQueue()
        self._ended: deque[Run] = deque()
        self._unfinished: set[Run] = set()  # only the reactor's thread looks at it
        self._wake: Callable[[], None] = _nobody_listens

    def notify(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def submit(self, job: Job, done: Done) -> Run:
        run = Run(job, done)
        self._unfinished.add(run)
        self._runs.put(run)
        if len(self._threads) < min(self._threads_max, len(self._unfinished)):
            self._start_thread()
        return run

    def drain(self) -> int:
        count = 0
        while self._ended:
            run = self._ended.popleft()
            self._unfinished.discard(run)
            count += 1
            run.done(run.value, run.error)
        return count

    def resize(self, workers: int) -> None:
        self._threads_max = workers
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        for _ in range(len(self._threads) - workers):
            self._runs.put(None)  # whichever comes to it leaves
        while len(self._threads) < min(workers, len(self._unfinished)):
            self._start_thread()

    def close(self) -> None:
        for run in self._unfinished:
            run.cancel()
        for _ in self._threads:
            self._runs.put(None)
        for thread in self._threads if self._waits else ():
            thread.join()
        self._threads.clear()
        self._wake = _nobody_listens
        self.drain()

    def _start_thread(self) -> None:
        thread = Thread(target=self._work, name=f"job-{self._started}", daemon=True)
        self._started += 1
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        while (run := self._runs.get()) is not None:
            run.to_the_end()
            self._ended.append(run)
            run = None  # a thread that waits for the next job keeps nothing of the last one
            self._wake()


def _nobody_listens() -> None:
    """Until a loop asks to be woken, jobs end silently and wait for `drain`."""
