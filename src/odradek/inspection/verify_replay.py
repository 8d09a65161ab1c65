"""The producers of a partition from a replay of its batches, to compare snapshots and transaction indexes with.

Written for the verifier alone, from Kafka's rules:

- a data batch of a producer sets the end of its last batch; with the transactional bit it opens a transaction at its
  base offset if none is open;
- a marker ends the transaction; its coordinator epoch and timestamp stay with the producer;
- a batch or marker with another producer epoch forgets the batches of the old one.

A replay knows the whole truth only if it begins at offset 0 or at a snapshot, and nothing was compacted away below.
"""

from odradek.inspection.file_forms import AbortedTransaction
from odradek.protocol.messages.producer_snapshot import ProducerEntry
from odradek.records import control
from odradek.records.batch import Batch

NONE = -1


class Producer:
    __slots__ = ("coordinator_epoch", "epoch", "last_offset", "last_sequence", "offset_delta", "timestamp", "txn_first")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.last_sequence = self.last_offset = NONE
        self.offset_delta = 0
        self.timestamp = NONE
        self.coordinator_epoch = NONE
        self.txn_first = NONE

    @classmethod
    def of(cls, entry: ProducerEntry) -> "Producer":
        producer = cls(entry.epoch)
        producer.last_sequence = entry.last_sequence
        producer.last_offset = entry.last_offset
        producer.offset_delta = entry.offset_delta
        producer.timestamp = entry.timestamp
        producer.coordinator_epoch = entry.coordinator_epoch
        producer.txn_first = entry.current_txn_first_offset
        return producer

    def differences(self, other: "Producer") -> list[str]:
        """`name here, there` of every field that differs."""
        return [
            f"{name} {getattr(self, name)}, not {getattr(other, name)}"
            for name in self.__slots__
            if getattr(self, name) != getattr(other, name)
        ]

    def _enter_epoch(self, epoch: int) -> None:
        if epoch != self.epoch:
            self.epoch = epoch
            self.last_sequence = self.last_offset = NONE
            self.offset_delta = 0

    def add_batch(self, batch: Batch, base_offset: int) -> None:
        self._enter_epoch(batch.producer_epoch)
        self.last_sequence = batch.last_sequence
        self.last_offset = batch.last_offset
        self.offset_delta = batch.last_offset - base_offset
        self.timestamp = batch.max_timestamp
        if batch.is_transactional and self.txn_first == NONE:
            self.txn_first = base_offset

    def add_marker(self, epoch: int, coordinator_epoch: int, timestamp: int) -> None:
        self._enter_epoch(epoch)
        self.coordinator_epoch = coordinator_epoch
        self.timestamp = timestamp
        self.txn_first = NONE


class Replay:
    """`producers` after the batches so far, `aborted` the transactions that abort markers ended since `take_aborted`.

    Not `is_whole`: it began in the middle. `is_broken`: batches were missed on the way, and it says nothing any more.
    `is_mended`: some were lost and a repair has filled their place, what was written of producers before knows of them.
    """

    __slots__ = ("aborted", "is_broken", "is_mended", "is_whole", "producers")

    def __init__(self) -> None:
        self.producers: dict[int, Producer] = {}
        self.aborted: list[AbortedTransaction] = []
        self.is_whole = True
        self.is_broken = False
        self.is_mended = False

    def seed(self, entries: list[ProducerEntry]) -> None:
        self.producers = {entry.producer_id: Producer.of(entry) for entry in entries}

    def take_aborted(self) -> list[AbortedTransaction]:
        taken, self.aborted = self.aborted, []
        return taken

    def add(self, batch: Batch, base_offset: int) -> None:
        if not batch.has_producer_id:
            return
        if batch.is_control:
            self._add_markers(batch)
            return
        producer = self.producers.setdefault(batch.producer_id, Producer(batch.producer_epoch))
        producer.add_batch(batch, base_offset)

    def _add_markers(self, batch: Batch) -> None:
        for record in batch.records():
            control_type = control.control_type(record.key)
            if control_type not in (control.ABORT, control.COMMIT):
                continue
            producer = self.producers.setdefault(batch.producer_id, Producer(batch.producer_epoch))
            if control_type == control.ABORT and producer.txn_first != NONE:
                self.aborted.append(self._aborted(batch.producer_id, producer.txn_first, record.offset))
            epoch = control.coordinator_epoch(record.value)
            producer.add_marker(batch.producer_epoch, epoch, record.timestamp)

    def _aborted(self, producer_id: int, first_offset: int, marker_offset: int) -> AbortedTransaction:
        others = [
            producer.txn_first
            for other_id, producer in self.producers.items()
            if other_id != producer_id and producer.txn_first != NONE
        ]
        last_stable_offset = min(others, default=marker_offset + 1)
        return AbortedTransaction(0, producer_id, first_offset, marker_offset, last_stable_offset)
