"""One producer as a partition remembers it: its epoch, its last five batches, its open transaction."""

from typing import NamedTuple

from odradek.records.layout import NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_TIMESTAMP

BATCHES_KEPT = 5  # as many as a producer may have in flight: any of them may come again
NO_OFFSET = -1
NO_COORDINATOR_EPOCH = -1
SEQUENCE_MAX = 0x7FFF_FFFF


class BatchMetadata(NamedTuple):
    """What is kept of an appended batch, to know it again (P1) and to answer it with its old offset (P3)."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        """Sequences wrap from 2^31 - 1 to 0."""
        return (self.last_sequence - self.offset_delta) & SEQUENCE_MAX

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class ProducerEntry:
    __slots__ = ("batches", "coordinator_epoch", "current_txn_first_offset", "epoch", "last_timestamp", "producer_id")

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.epoch = NO_PRODUCER_EPOCH
        self.batches: list[BatchMetadata] = []
        self.coordinator_epoch = NO_COORDINATOR_EPOCH
        self.last_timestamp = NO_TIMESTAMP
        self.current_txn_first_offset = NO_OFFSET

    def __repr__(self) -> str:
        return (
            f"ProducerEntry({self.producer_id}, epoch={self.epoch}, batches={self.batches}, "
            f"txn={self.current_txn_first_offset})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProducerEntry) and self.facts() == other.facts()

    __hash__ = None  # type: ignore[assignment]

    def facts(self) -> tuple[object, ...]:
        return (
            self.producer_id,
            self.epoch,
            tuple(self.batches),
            self.coordinator_epoch,
            self.last_timestamp,
            self.current_txn_first_offset,
        )

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_data_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else NO_OFFSET

    @property
    def has_open_transaction(self) -> bool:
        return self.current_txn_first_offset != NO_OFFSET

    def duplicate_of(self, epoch: int, first_sequence: int, last_sequence: int) -> BatchMetadata | None:
        if epoch != self.epoch:
            return None
        for batch in self.batches:
            if batch.last_sequence == last_sequence and batch.first_sequence == first_sequence:
                return batch
        return None

    def bump_epoch(self, epoch: int) -> None:
        """A new epoch begins with a new count of sequences."""
        if epoch != self.epoch:
            self.batches.clear()
            self.epoch = epoch

    def add_batch(self, epoch: int, batch: BatchMetadata) -> None:
        self.bump_epoch(epoch)
        self.batches.append(batch)
        if len(self.batches) > BATCHES_KEPT:
            del self.batches[0]
        self.last_timestamp = batch.timestamp
