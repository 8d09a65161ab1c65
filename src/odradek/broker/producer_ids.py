"""Producer ids: the broker hands them out one by one from a block that the controller has given it.

A block belongs to this incarnation of the broker alone: what is left of it when the broker stops is never used. The
next block is asked for when a tenth of the current one is left, so that nobody waits for it as a rule.
"""

from collections import deque
from collections.abc import Callable

from odradek.broker.inter_broker import InterBroker
from odradek.handlers.broker_parts import ACTIVE_CONTROLLER
from odradek.protocol import errors
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending

WAITING_MAX = 100_000  # producers that wait for a block; the next one is told to come again


class ProducerIds:
    __slots__ = (
        "_block",
        "_broker_epoch",
        "_inter_broker",
        "_is_asking",
        "_loop",
        "_low_mark",
        "_next_block",
        "_node_id",
        "_waiting",
    )

    def __init__(self, loop: Loop, inter_broker: InterBroker, node_id: int, broker_epoch: Callable[[], int]) -> None:
        self._loop = loop
        self._inter_broker = inter_broker
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._block = range(0)
        self._next_block = range(0)
        self._low_mark = 0  # ids left when the next block is asked for
        self._waiting: deque[Pending[int]] = deque()
        self._is_asking = False

    def next(self) -> Pending[int]:
        """An id that nobody has had before; fails with a retriable error when no block can be had now."""
        pending: Pending[int] = self._loop.pending()
        if len(self._waiting) >= WAITING_MAX:
            pending.fail(errors.CoordinatorLoadInProgress("Too many producers wait for an id: come again."))
            return pending
        self._waiting.append(pending)
        self._hand_out()
        return pending

    def _hand_out(self) -> None:
        while self._waiting and self._has_ids():
            self._waiting.popleft().resolve(self._block[0])
            self._block = self._block[1:]
        if len(self._block) <= self._low_mark and not self._next_block and not self._is_asking:
            self._is_asking = True
            self._loop.spawn(self._ask())

    def _has_ids(self) -> bool:
        if not self._block:
            self._block, self._next_block = self._next_block, range(0)
        return bool(self._block)

    async def _ask(self) -> None:
        try:
            block = await self._allocate()
        except errors.KafkaError as error:
            self._fail_waiting(error)
            return
        finally:
            self._is_asking = False
        self._low_mark = len(block) // 10
        self._next_block = block
        self._hand_out()

    async def _allocate(self) -> range:
        from odradek.protocol.messages.k67_allocate_producer_ids import AllocateProducerIdsRequest

        request = AllocateProducerIdsRequest(broker_id=self._node_id, broker_epoch=self._broker_epoch())
        response = await self._inter_broker.send(ACTIVE_CONTROLLER, request)
        errors.raise_for(response.error_code)
        start: int = response.producer_id_start
        return range(start, start + response.producer_id_len)

    def _fail_waiting(self, error: errors.KafkaError) -> None:
        """Producers that wait get a retriable error, whatever the controller said, as in Kafka."""
        waiting, self._waiting = self._waiting, deque()
        for pending in waiting:
            pending.fail(errors.CoordinatorLoadInProgress(f"No block of producer ids could be had: {error.message}"))
