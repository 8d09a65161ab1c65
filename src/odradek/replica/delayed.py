"""What waits for a partition: writes for their replicas, deletions for the followers, each with a deadline.

Whoever makes a `DelayedPartition` has just found that it must wait. It is tried whenever its partition says that its
high watermark, its log start or its leader has changed (`Partition.wake`); never by looking again and again. The answer
is delivered through the queue of completions, so that nothing goes on inside the append that has satisfied it. Fetches
wait in a way of their own (`fetch/delayed.py`).
"""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from odradek.protocol import errors
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Completions, Pending
from odradek.replica.partition import Partition

R = TypeVar("R")

# The result of one partition, None while it is not there, or the error that it ends with.
Try = Callable[[], R | None]


class Purgatory:
    """Counts what waits, for the metrics."""

    __slots__ = ("size",)

    def __init__(self) -> None:
        self.size = 0


class Waiting(Pending[R]):
    """What a reader's connection waits for. When the reader is gone it gives up, and `ended` is called."""

    __slots__ = ("_ended",)

    def __init__(self, completions: Completions, ended: Callable[[], None]) -> None:
        super().__init__(completions)
        self._ended: Callable[[], None] | None = ended

    def cancel(self) -> bool:
        ended = self._ended
        is_first = super().cancel()
        if is_first and ended is not None:
            ended()
        return is_first

    def _finish(self, value: R | None, error: BaseException | None) -> bool:
        self._ended = None  # whoever waits and what it waits for must not keep each other
        return super()._finish(value, error)


class DelayedPartition(Generic[R]):
    """One partition of an operation that waits: `pending` has its result, its error, or RequestTimedOut."""

    __slots__ = ("_loop", "_partition", "_purgatory", "_timer", "_try", "pending")

    def __init__(
        self, loop: Loop, purgatory: Purgatory, partition: Partition, timeout_ms: int, attempt: Try[R]
    ) -> None:
        self._partition = partition
        self._purgatory = purgatory
        self._try = attempt
        self._loop = loop
        self.pending: Pending[R] = loop.pending()
        self._timer = loop.after(max(0, timeout_ms), self._expire)
        purgatory.size += 1
        partition.add_waiter(self)

    def check(self) -> bool:
        """True if it is done and need not be asked again."""
        if self.pending.is_done:
            return True
        try:
            result = self._try()
        except errors.KafkaError as error:
            self._end()
            self.pending.fail(error)
            return True
        if result is None:
            return False
        self._end()
        self.pending.resolve(result)
        return True

    def _expire(self) -> None:
        self._partition.remove_waiter(self)
        self._end()
        self.pending.fail(errors.RequestTimedOut())

    def _end(self) -> None:
        self._timer.cancel()
        self._purgatory.size -= 1


async def all_of(
    waits: Sequence[tuple[Pending[R], Callable[[R | None, errors.KafkaError | None], None]]],
) -> None:
    """Waits for each, and tells the function beside it the value or the error."""
    for pending, tell in waits:
        try:
            value = await pending
        except errors.KafkaError as error:
            tell(None, error)
        else:
            tell(value, None)
