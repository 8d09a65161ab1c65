"""What changes which logs there are is done one at a time per partition, in the order in which it was asked for.

Whoever comes puts up a gate for those who come later, and waits for the last gate that is there. So nobody overtakes
one who waits, not even in the moment in which a gate opens.
"""

from collections.abc import Callable, Coroutine, Sequence
from typing import TypeVar

from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending

T = TypeVar("T")


class Gates:
    __slots__ = ("_last", "_loop")

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._last: dict[TopicPartition, Pending[None]] = {}

    def __contains__(self, topic_partition: TopicPartition) -> bool:
        """Whether something is under way there."""
        return topic_partition in self._last

    async def through(self, partitions: Sequence[TopicPartition], work: Callable[[], Coroutine[object, None, T]]) -> T:
        """Does the work after everything that was asked of these partitions before, and before all that is later."""
        gate, before = self._put_up(partitions)
        try:
            for each in before:
                await each
            return await work()
        finally:
            self._open(partitions, gate, before)

    async def until_idle(self) -> None:
        """Waits until nothing is under way at any partition."""
        while self._last:
            await next(iter(self._last.values()))

    def _put_up(self, partitions: Sequence[TopicPartition]) -> tuple[Pending[None], list[Pending[None]]]:
        gate: Pending[None] = self._loop.pending()
        before: dict[Pending[None], None] = {}
        for topic_partition in partitions:
            last = self._last.get(topic_partition)
            if last is not None:
                before[last] = None
            self._last[topic_partition] = gate
        return gate, list(before)

    def _open(self, partitions: Sequence[TopicPartition], gate: Pending[None], before: list[Pending[None]]) -> None:
        for each in before:
            if not each.is_done:  # given up before its turn: the others still have to wait for those before it
                each.when_done(lambda _: self._open(partitions, gate, before))
                return
        for topic_partition in partitions:
            if self._last.get(topic_partition) is gate:
                del self._last[topic_partition]
        gate.resolve(None)
