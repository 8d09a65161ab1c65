"""Which transactional batches compaction may drop, and which markers.

The log is read in order. A batch of an aborted transaction is dropped at once; its marker may only go when none of the
transaction's batches was met any more: a reader that still meets one needs the marker to know its end. The entry in the
transaction index lives as long as the marker is needed. A commit marker is likewise free to go once its transaction has
no batch left. Markers that are free still wait for their delete horizon, as tombstones do.
"""

from collections.abc import Iterable

from odradek.log.index.transaction_index import AbortedTransaction
from odradek.records.batch import RecordBatch
from odradek.records.control import ABORT, COMMIT, control_type


class CleanedTransactions:
    __slots__ = ("_index_entries", "_ongoing_aborted", "_ongoing_committed", "_upcoming", "_with_batches")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        """`aborted` is every aborted transaction that touches the section, in any order.

        It may name others too: a section may begin behind the marker of one, which then never comes by.
        """
        self._upcoming = sorted(aborted, key=lambda each: each.first_offset, reverse=True)  # the next one is the last
        self._ongoing_aborted: dict[int, AbortedTransaction] = {}
        self._with_batches: set[int] = set()  # producers in `_ongoing_aborted` of which a batch was met
        self._ongoing_committed: set[int] = set()
        self._index_entries: list[AbortedTransaction] = []

    def on_batch(self, producer_id: int, last_offset: int) -> bool:
        """Whether this transactional batch was aborted, and its records can go."""
        self._begin_up_to(last_offset)
        transaction = self._ongoing_aborted.get(producer_id)
        if transaction is not None and last_offset <= transaction.last_offset:
            self._with_batches.add(producer_id)
            return True
        self._ongoing_committed.add(producer_id)
        return False

    def on_control_batch(self, batch: RecordBatch) -> bool:
        """Whether nothing needs this control batch any more."""
        self._begin_up_to(batch.last_offset)
        record = next(batch.records(), None)
        if record is None:
            return True  # it lost its marker in an earlier round
        kind = control_type(record.key)
        if kind == ABORT:
            return self._end_aborted(batch.producer_id)
        if kind == COMMIT:
            return self._end_committed(batch.producer_id)
        return False

    def take_index_entries(self) -> list[AbortedTransaction]:
        """What belongs into the transaction index of the segment that was written since the last call."""
        taken, self._index_entries = self._index_entries, []
        return taken

    def _begin_up_to(self, offset: int) -> None:
        while self._upcoming and self._upcoming[-1].first_offset <= offset:
            transaction = self._upcoming.pop()
            if self._ongoing_aborted.get(transaction.producer_id) != transaction:  # several indexes may list it
                self._ongoing_aborted[transaction.producer_id] = transaction
                self._with_batches.discard(transaction.producer_id)

    def _end_aborted(self, producer_id: int) -> bool:
        transaction = self._ongoing_aborted.pop(producer_id, None)
        if transaction is None or producer_id not in self._with_batches:
            return True
        self._with_batches.discard(producer_id)
        self._index_entries.append(transaction)
        return False

    def _end_committed(self, producer_id: int) -> bool:
        if producer_id not in self._ongoing_committed:
            return True
        self._ongoing_committed.discard(producer_id)
        return False
