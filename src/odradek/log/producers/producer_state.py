"""What a partition knows of its idempotent and transactional producers.

The state is a function of the log: replaying every batch up to an offset gives it (P5). A snapshot file spares the
replay from the start. The leader checks a batch against it before the append and replays the batch after; everybody
else only replays.

Transactions are open from their first record to their marker. One that has ended stays *unreplicated* until the high
watermark has passed its marker: only then may a consumer that reads committed records go beyond its first offset. So
the first unstable offset is the smallest first offset of both kinds (L6).
"""

from typing import NamedTuple

from odradek.log.index.transaction_index import AbortedTransaction
from odradek.log.producers.producer_entry import NO_OFFSET, SEQUENCE_MAX, BatchMetadata, ProducerEntry
from odradek.log.producers.transaction_verification import VerificationGuard, Verifications
from odradek.protocol import errors
from odradek.records import control
from odradek.records.batch import RecordBatch
from odradek.records.layout import NO_PRODUCER_EPOCH

PRODUCER_ID_EXPIRATION_MS = 86_400_000  # unless a config says otherwise


class CompletedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class ProducerState:
    __slots__ = ("_entries", "_ongoing", "_unreplicated", "map_end_offset", "topic_partition", "verifications")

    def __init__(self, topic_partition: str) -> None:
        self.topic_partition = topic_partition
        self._entries: dict[int, ProducerEntry] = {}
        self._ongoing: dict[int, int] = {}  # producer id by first offset, in the order of the offsets
        self._unreplicated: dict[int, int] = {}  # the marker's offset by first offset
        self.map_end_offset = 0  # up to where the log has been replayed
        self.verifications = Verifications()  # of the leader, and in no log

    def __len__(self) -> int:
        return len(self._entries)

    def __bool__(self) -> bool:
        return True

    @property
    def entries(self) -> list[ProducerEntry]:
        return list(self._entries.values())

    def entry(self, producer_id: int) -> ProducerEntry | None:
        return self._entries.get(producer_id)

    @property
    def first_unstable_offset(self) -> int | None:
        ongoing = next(iter(self._ongoing), None)
        if not self._unreplicated:
            return ongoing
        unreplicated = min(self._unreplicated)
        return unreplicated if ongoing is None else min(ongoing, unreplicated)

    @property
    def has_unreplicated(self) -> bool:
        """Whether a transaction has ended whose marker the high watermark has not passed."""
        return bool(self._unreplicated)

    # Before an append on the leader.

    def duplicate_of(self, batch: RecordBatch) -> BatchMetadata | None:
        entry = self._entries.get(batch.producer_id)
        if entry is None:
            return None
        return entry.duplicate_of(batch.producer_epoch, batch.base_sequence, batch.last_sequence)

    def check_data(self, batch: RecordBatch, *, is_from_client: bool) -> None:
        """Raises what makes the batch unfit to follow what its producer wrote before."""
        entry = self._entries.get(batch.producer_id)
        if entry is None:
            return  # expired, or never seen: any sequence may begin
        self._check_epoch(entry, batch.producer_epoch)
        if is_from_client:
            self._check_sequence(entry, batch)
        if entry.has_open_transaction and not batch.is_transactional:
            raise errors.InvalidTxnState(
                f"Producer {batch.producer_id} has an open transaction in {self.topic_partition}: "
                "a batch of it must be transactional."
            )

    def check_marker(self, batch: RecordBatch, coordinator_epoch: int) -> None:
        entry = self._entries.get(batch.producer_id)
        if entry is None:
            return
        self._check_epoch(entry, batch.producer_epoch)
        if coordinator_epoch < entry.coordinator_epoch:
            raise errors.TransactionCoordinatorFenced(
                f"A marker for producer {batch.producer_id} in {self.topic_partition} comes from coordinator epoch "
                f"{coordinator_epoch}, the last one came from {entry.coordinator_epoch}."
            )

    def check_marker_epoch(self, producer_id: int, epoch: int, transaction_version: int) -> None:
        """A marker of version 2 has a later epoch than what it ends, so that a late one cannot end the next (T6).

        With the epoch of the last marker, and nothing open, it is that marker come again.
        """
        entry = self._entries.get(producer_id)
        if transaction_version < 2 or entry is None or epoch > entry.epoch:
            return
        if epoch < entry.epoch or entry.has_open_transaction:
            raise errors.InvalidProducerEpoch(
                f"A marker with epoch {epoch} of producer {producer_id} is late in {self.topic_partition}: "
                f"epoch {entry.epoch} has begun."
            )

    def has_open_transaction(self, producer_id: int, epoch: int) -> bool:
        entry = self._entries.get(producer_id)
        return entry is not None and entry.has_open_transaction and entry.epoch == epoch

    def check_in_transaction(
        self, producer_id: int, epoch: int, sequence: int, guard: VerificationGuard | None
    ) -> None:
        """Whether a batch may be appended that its coordinator has let in a while ago, or needed not be asked about."""
        if self.has_open_transaction(producer_id, epoch):
            return
        entry = self._entries.get(producer_id)
        self.verifications.check(producer_id, sequence, guard, is_first=entry is None or entry.epoch < epoch)

    def _check_epoch(self, entry: ProducerEntry, epoch: int) -> None:
        if epoch < entry.epoch:
            raise errors.InvalidProducerEpoch(
                f"Epoch {epoch} of producer {entry.producer_id} is old in {self.topic_partition}, "
                f"the last one seen is {entry.epoch}."
            )

    def _check_sequence(self, entry: ProducerEntry, batch: RecordBatch) -> None:
        first = batch.base_sequence
        if batch.producer_epoch != entry.epoch:
            if first != 0 and entry.epoch != NO_PRODUCER_EPOCH:
                raise errors.OutOfOrderSequenceNumber(
                    f"A new epoch begins with sequence 0: producer {entry.producer_id} in {self.topic_partition} "
                    f"sent epoch {batch.producer_epoch}, sequence {first}."
                )
            return
        last = entry.last_sequence
        if first != (last + 1) & SEQUENCE_MAX:  # without a batch in this epoch, last is -1 and 0 must come
            raise errors.OutOfOrderSequenceNumber(
                f"Producer {entry.producer_id} in {self.topic_partition} sent sequence {first}, "
                f"the last one appended is {last}."
            )

    # After an append, and when a log is read again.

    def replay(self, batch: RecordBatch) -> CompletedTransaction | None:
        """Takes in a batch that is in the log; the transaction that it ends, if it does."""
        if batch.producer_id < 0:
            return None
        entry = self._entries.get(batch.producer_id)
        if entry is None:
            entry = self._entries[batch.producer_id] = ProducerEntry(batch.producer_id)
        if batch.is_control:
            return self._replay_marker(entry, batch)
        self._replay_data(entry, batch)
        return None

    def _replay_data(self, entry: ProducerEntry, batch: RecordBatch) -> None:
        last_offset = batch.last_offset
        entry.add_batch(
            batch.producer_epoch,
            BatchMetadata(batch.last_sequence, last_offset, batch.last_offset_delta, batch.max_timestamp),
        )
        if batch.is_transactional and not entry.has_open_transaction:
            entry.current_txn_first_offset = batch.base_offset
            self._ongoing[batch.base_offset] = entry.producer_id
            self.verifications.end(entry.producer_id)

    def _replay_marker(self, entry: ProducerEntry, batch: RecordBatch) -> CompletedTransaction | None:
        record = next(batch.records(), None)
        if record is None:
            return None  # compaction has emptied it: what it ended is long decided
        kind = control.control_type(record.key)
        if kind not in (control.ABORT, control.COMMIT):
            return None
        completed = None
        if entry.has_open_transaction:
            completed = CompletedTransaction(
                entry.producer_id, entry.current_txn_first_offset, batch.base_offset, kind == control.ABORT
            )
        self.verifications.end(entry.producer_id)
        entry.bump_epoch(batch.producer_epoch)
        entry.current_txn_first_offset = NO_OFFSET
        entry.coordinator_epoch = control.coordinator_epoch(record.value)
        entry.last_timestamp = record.timestamp
        return completed

    def complete(self, completed: CompletedTransaction) -> AbortedTransaction | None:
        """Closes the transaction; the entry of the transaction index, if it was aborted."""
        self._ongoing.pop(completed.first_offset, None)
        self._unreplicated[completed.first_offset] = completed.last_offset
        if not completed.is_aborted:
            return None
        last_stable_offset = next(iter(self._ongoing), completed.last_offset + 1)
        return AbortedTransaction(
            completed.producer_id, completed.first_offset, completed.last_offset, last_stable_offset
        )

    def high_watermark_moved(self, high_watermark: int) -> None:
        if not self._unreplicated:
            return
        for first_offset, last_offset in list(self._unreplicated.items()):
            if last_offset < high_watermark:
                del self._unreplicated[first_offset]

    def log_start_moved(self, log_start_offset: int) -> None:
        self.high_watermark_moved(log_start_offset)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)

    def load(self, entries: list[ProducerEntry], map_end_offset: int) -> None:
        """Takes in a snapshot."""
        self.clear(map_end_offset)
        for entry in entries:
            self._entries[entry.producer_id] = entry
        opened = sorted(
            (entry.current_txn_first_offset, entry.producer_id) for entry in entries if entry.has_open_transaction
        )
        self._ongoing.update(opened)

    def clear(self, map_end_offset: int) -> None:
        self._entries.clear()
        self.verifications.clear()
        self._ongoing.clear()
        self._unreplicated.clear()
        self.map_end_offset = map_end_offset

    def remove_expired(self, now_ms: int, expiration_ms: int) -> int:
        """Forgets producers that have been silent for too long, but none with an open transaction."""
        expired = [entry.producer_id for entry in self._entries.values() if is_expired(entry, now_ms, expiration_ms)]
        for producer_id in expired:
            del self._entries[producer_id]
        return len(expired)


def is_expired(entry: ProducerEntry, now_ms: int, expiration_ms: int) -> bool:
    return not entry.has_open_transaction and now_ms - entry.last_timestamp >= expiration_ms
