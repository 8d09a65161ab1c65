"""From the committed records of the metadata log to images, and from images to whoever acts on them.

Records collect in a delta. At the end of a batch the delta becomes an image, and the publishers are handed both, in the
order in which they were added. Two things hold an image back:

- Until the log has been read up to the high watermark, nothing is published. A node that starts replays history: it
  must not make the logs of topics that were deleted long ago.
- Between the beginning and the end of a metadata transaction (KIP-868) its records are kept aside. They count all
  together when it ends, and never if it is aborted; the image's offset stays before its beginning.

Work is cut into slices: a batch or a snapshot that takes longer goes on in the next turn of the loop, and the Pending
that is returned tells when it is done. Nothing else may be handed in before.
"""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Protocol

from odradek.metadata.delta import MetadataDelta
from odradek.metadata.difference import difference
from odradek.metadata.image import EMPTY, MetadataImage
from odradek.metadata.replay_error import ReplayError
from odradek.metadata.transaction import TRANSACTION_RECORDS, MetadataTransaction
from odradek.protocol.declare import Message
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.slices import Slices

RECORDS_PER_LOOK = 64  # between two looks at the clock


class Batch(Protocol):
    """A committed batch of the log; without records if they are control records."""

    @property
    def base_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def append_ms(self) -> int: ...
    @property
    def records(self) -> Sequence[Message]: ...


class Snapshot(Protocol):
    """All records before `offset`, as one image has them."""

    @property
    def offset(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def batches(self) -> Iterable[Sequence[Message]]: ...
    @property
    def last_contained_log_timestamp(self) -> int: ...


class MetadataPublisher(Protocol):
    def publish(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """`delta.image` is what this publisher was handed before, or the empty image; `image` is what is so now."""
        ...


class MetadataLoader:
    """Follows the metadata log of a node. `image` is the last published one.

    `high_watermark` tells how far the log must be read before anything is published, None while that is not known.
    `on_fault` is told of a record that cannot be: the loader reads no further.
    """

    __slots__ = (
        "_append_ms",
        "_delta",
        "_epoch",
        "_high_watermark",
        "_loop",
        "_offset",
        "_on_fault",
        "_publishers",
        "_slices",
        "_transaction",
        "image",
        "is_caught_up",
        "is_faulty",
        "last_offset",
        "leader_epoch",
        "leader_id",
    )

    def __init__(
        self,
        loop: Loop,
        *,
        high_watermark: Callable[[], int | None] | None = None,
        on_fault: Callable[[ReplayError], object] | None = None,
    ) -> None:
        self._loop = loop
        self._high_watermark = high_watermark
        self._on_fault = on_fault or _raise
        self._publishers: list[MetadataPublisher] = []
        self._delta = MetadataDelta(EMPTY)
        self._transaction = MetadataTransaction()
        self._offset = self._epoch = self._append_ms = -1  # of the last record that counts
        self._slices = Slices(loop)
        self.image = EMPTY
        self.last_offset = -1  # of the last record that was read
        self.leader_id: int | None = None
        self.leader_epoch = 0
        self.is_caught_up = high_watermark is None
        self.is_faulty = False

    def add_publisher(self, publisher: MetadataPublisher) -> None:
        """One that comes late is handed the whole image at once, as a delta from nothing."""
        self._publishers.append(publisher)
        if self.image is not EMPTY:
            publisher.publish(delta_from_nothing(self.image), self.image)

    # What the quorum tells

    def handle_commit(self, batch: Batch) -> Pending[None] | None:
        return self._run(self._commit(batch))

    def handle_load_snapshot(self, snapshot: Snapshot) -> Pending[None] | None:
        return self._run(self._load(snapshot))

    def handle_leader_change(self, leader_id: int | None, epoch: int) -> None:
        self.leader_id, self.leader_epoch = leader_id, epoch

    def _run(self, work: Coroutine[object, None, None]) -> Pending[None] | None:
        if self.is_faulty:
            work.close()
            return None
        self._slices.restart()
        task = self._loop.spawn(self._guarded(work))
        return None if task.is_done else task

    async def _guarded(self, work: Coroutine[object, None, None]) -> None:
        try:
            await work
        except ReplayError as error:
            self.is_faulty = True
            self._on_fault(error)

    async def _commit(self, batch: Batch) -> None:
        for index, record in enumerate(batch.records):
            self._take(record, batch.base_offset + index, batch.epoch, batch.append_ms)
            if index % RECORDS_PER_LOOK == 0:
                await self._slices.pause_if_over()
        self._read_to(batch.last_offset, batch.epoch, batch.append_ms)
        await self._publish_if_caught_up()

    async def _load(self, snapshot: Snapshot) -> None:
        """What was read before is void: the snapshot says all, also what is no longer there."""
        fresh = MetadataDelta(EMPTY)
        self._transaction = MetadataTransaction()
        for records in snapshot.batches:
            for index, record in enumerate(records):
                _replay(fresh, record, snapshot.offset - 1)
                if index % RECORDS_PER_LOOK == 0:
                    await self._slices.pause_if_over()
        self._read_to(snapshot.offset - 1, snapshot.epoch, snapshot.last_contained_log_timestamp)
        self._delta = fresh if self.image is EMPTY else await self._difference(fresh)
        await self._publish_if_caught_up()

    async def _difference(self, fresh: MetadataDelta) -> MetadataDelta:
        target = fresh.apply(self._offset, self._epoch, self._append_ms)
        await self._slices.pause_if_over()
        return difference(self.image, target)

    # Records

    def _take(self, record: Message, offset: int, epoch: int, append_ms: int) -> None:
        if self._transaction.is_open or type(record) in TRANSACTION_RECORDS:
            for counted in self._transaction.take(record, offset):
                _replay(self._delta, counted, offset)
        else:
            _replay(self._delta, record, offset)
        if not self._transaction.is_open:
            self._offset, self._epoch, self._append_ms = offset, epoch, append_ms

    def _read_to(self, offset: int, epoch: int, append_ms: int) -> None:
        self.last_offset = offset
        if not self._transaction.is_open:
            self._offset, self._epoch, self._append_ms = offset, epoch, append_ms

    # Images

    async def _publish_if_caught_up(self) -> None:
        if not self.is_caught_up and not self._has_reached_high_watermark():
            return
        self.is_caught_up = True
        if self._offset == self.image.offset:
            return
        delta = self._delta
        self.image = await self._applied(delta)
        self._delta = MetadataDelta(self.image)
        await self._publish(delta)

    async def _publish(self, delta: MetadataDelta) -> None:
        """A publisher that fails must not keep the others from what is so now: its error comes last."""
        failed: Exception | None = None
        for publisher in self._publishers:
            try:
                publisher.publish(delta, self.image)
            except Exception as error:  # noqa: BLE001 - raised below
                failed = failed or error
            await self._slices.pause_if_over()
        if failed is not None:
            raise failed

    def _has_reached_high_watermark(self) -> bool:
        high_watermark = None if self._high_watermark is None else self._high_watermark()
        return high_watermark is not None and self.last_offset >= high_watermark - 1

    async def _applied(self, delta: MetadataDelta) -> MetadataImage:
        steps = delta.apply_in_steps(self._offset, self._epoch, self._append_ms)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                image: MetadataImage = end.value
                return image
            await self._slices.pause_if_over()


def delta_from_nothing(image: MetadataImage) -> MetadataDelta:
    """A delta that makes this image out of the empty one. It costs as much as the image is large."""
    return difference(EMPTY, image)


def _replay(delta: MetadataDelta, record: Message, offset: int) -> None:
    try:
        delta.replay(record)
    except ReplayError as error:
        raise ReplayError(f"offset {offset}: {type(record).__name__}: {error}") from None


def _raise(error: ReplayError) -> None:
    raise error
