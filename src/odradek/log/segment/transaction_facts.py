"""What the batches of a range say about transactions: which of those with records in it were aborted.

The transaction index says the same, and nothing in Kafka's format bears witness to it: a bit that flips in an entry
would show aborted records, or hide committed ones (T1). So an index that was found on disk is not believed. Whoever
reads committed records of its segment walks the batches first: from the range that is wanted to the markers of the
transactions that have records there, which is seldom far. What was learned is kept, and stands in for the index.
"""

from bisect import bisect_left
from collections.abc import Iterable
from struct import Struct
from typing import NamedTuple

from odradek.log.batches.batch_search import DamagedSegment
from odradek.log.index.transaction_index import AbortedTransaction
from odradek.protocol import errors
from odradek.records import control, layout
from odradek.records.batch import RecordBatch

_HEAD = Struct(">qi4xb4xhi16xq6xi")  # base offset, length, magic, attributes, last offset delta, producer, records
_OF_A_TRANSACTION = layout.TRANSACTIONAL_MASK | layout.CONTROL_MASK


class First(NamedTuple):
    """The first batch of a transaction, as far as the range tells."""

    offset: int
    position: int


class SeenAbort(NamedTuple):
    """An aborted transaction with records in the range; `is_exact` tells that its first one must be there.

    From `stable_position` on, the records of the range belong to no transaction that was open after the marker.
    """

    transaction: AbortedTransaction
    first_position: int
    stable_position: int
    is_exact: bool


def _last_offset(seen: SeenAbort) -> int:
    return seen.transaction.last_offset


class TransactionFacts:
    """What is known of the batches from `start` to `end`, where the first one begins at or past `wanted_end`."""

    __slots__ = (
        "_earlier",
        "_wanted_end",
        "aborted",
        "end",
        "first_markers",
        "first_offset",
        "is_known",
        "next_offset",
        "open",
        "start",
    )

    def __init__(self, start: int, wanted_end: int) -> None:
        self.start = start
        self.end: int | None = None
        self._wanted_end = wanted_end
        self.is_known = False  # whether the log has taken it in
        self.first_offset: int | None = None
        self.next_offset = 0
        self.open: dict[int, First] = {}  # by producer, in the order of the offsets; of the range only
        self.aborted: list[SeenAbort] = []  # in the order of the markers
        self._earlier: dict[int, tuple[int, int]] = {}  # by an abort marker whose records, if any, lie before the range
        self.first_markers: dict[int, tuple[int, bool]] = {}  # by producer: offset, whether it aborts

    @property
    def is_final(self) -> bool:
        """Nothing that lies behind can change what was told of the range."""
        return self.end is not None and not self.open

    def take(self, piece: memoryview, position: int) -> None:
        """Whole batches that have been checked, the first of them at `position`."""
        at = max(0, self.start - position)
        end = len(piece)
        unpack = _HEAD.unpack_from
        while at + layout.HEADER_SIZE <= end and not self.is_final:
            base_offset, length, magic, attributes, delta, producer_id, records = unpack(piece, at)
            if position + at >= self._wanted_end and self.end is None:
                self.close(position + at)
                continue
            if magic != layout.MAGIC_MAX:
                delta = 0
            elif attributes & layout.CONTROL_MASK:
                self._see_control(piece[at : at + length + layout.LOG_OVERHEAD], position + at)
            elif attributes & _OF_A_TRANSACTION and records and self.end is None:
                self.open.setdefault(producer_id, First(base_offset, position + at))
            if self.end is None:
                self.first_offset = base_offset if self.first_offset is None else self.first_offset
                self.next_offset = base_offset + delta + 1
            at += length + layout.LOG_OVERHEAD

    def close(self, position: int) -> None:
        """The range ends here. What follows is only asked how the transactions that are open in it have ended."""
        if self.end is None:
            self.end = position

    def _see_control(self, data: memoryview, position: int) -> None:
        batch = RecordBatch(data)
        try:
            record = next(batch.records(), None)
            kind = control.UNKNOWN if record is None else control.control_type(record.key)
        except errors.KafkaError as error:
            raise DamagedSegment(f"a control batch does not parse: {error.message}", position) from error
        if kind in (control.ABORT, control.COMMIT):
            self._see_marker(batch.producer_id, batch.base_offset, kind == control.ABORT, position + len(data))

    def _see_marker(self, producer_id: int, offset: int, is_abort: bool, behind: int) -> None:
        first = self.open.pop(producer_id, None)
        is_exact = producer_id in self.first_markers
        still_open = next(iter(self.open.values()), First(offset + 1, behind))
        if first is not None and is_abort:
            aborted = AbortedTransaction(producer_id, first.offset, offset, still_open.offset)
            self.aborted.append(SeenAbort(aborted, first.position, still_open.position, is_exact))
        if self.end is None:
            if first is None and is_abort and not is_exact:
                self._earlier[offset] = producer_id, still_open.position
            self.first_markers.setdefault(producer_id, (offset, is_abort))

    # What was learned.

    def aborted_from(self, offset: int, end_position: int) -> list[AbortedTransaction]:
        """Those that a reader from `offset` to `end_position`, within the range, has to know of."""
        found = []
        slot = bisect_left(self.aborted, offset, key=_last_offset)
        for seen in self.aborted[slot:]:
            if seen.first_position < end_position:
                found.append(seen.transaction)
            if seen.stable_position >= end_position:
                break
        return found

    def open_before(self, end_position: int) -> dict[int, First]:
        """The transactions that the segment leaves open, with records before `end_position`."""
        return {producer: first for producer, first in self.open.items() if first.position < end_position}

    def absorb(self, following: "TransactionFacts") -> None:
        """The facts of the range that begins where this one ends, both final or the second at the segment's end."""
        known = {seen.transaction.last_offset for seen in self.aborted}
        self.aborted += (seen for seen in following.aborted if seen.transaction.last_offset not in known)
        self.aborted.sort(key=_last_offset)
        for producer_id, marker in following.first_markers.items():
            self.first_markers.setdefault(producer_id, marker)
        self.open = following.open
        self.end, self.next_offset = following.end, following.next_offset
        if self.first_offset is None:
            self.first_offset = following.first_offset

    def contradict(self, listed: Iterable[AbortedTransaction]) -> bool:
        """Whether the index cannot be that of these batches. What began before the range, it alone knows."""
        if self.first_offset is None:
            return False
        entries = {
            each.last_offset: each for each in listed if self.first_offset <= each.last_offset < self.next_offset
        }
        for seen in self.aborted:
            if seen.transaction.last_offset < self.next_offset:
                entry = entries.pop(seen.transaction.last_offset, None)
                if entry is None or not self._is_as_seen(entry, seen):
                    return True
        return not all(self._is_earlier(entry) for entry in entries.values())

    def _is_earlier(self, entry: AbortedTransaction) -> bool:
        """Whether it may be of a transaction that began before the range, and whose marker is all that is left here."""
        producer_id, _ = self._earlier.get(entry.last_offset, (None, 0))
        return entry.producer_id == producer_id and entry.first_offset < (self.first_offset or 0)

    def complete_by(self, listed: Iterable[AbortedTransaction]) -> None:
        """Where transactions began before the range, only the index tells, and a wrong answer would harm nobody."""
        entries = {each.last_offset: each for each in listed}
        for slot, seen in enumerate(self.aborted):
            entry = entries.get(seen.transaction.last_offset)
            if entry is not None and self._is_as_seen(entry, seen):
                self.aborted[slot] = seen._replace(transaction=entry)
        for offset, (_, stable_position) in self._earlier.items():
            entry = entries.get(offset)
            if entry is not None and self._is_earlier(entry):
                self.aborted.append(SeenAbort(entry, self.start, stable_position, True))
        self.aborted.sort(key=_last_offset)

    def _is_as_seen(self, entry: AbortedTransaction, seen: SeenAbort) -> bool:
        expected = seen.transaction
        began_before = not seen.is_exact and self.first_offset is not None and entry.first_offset < self.first_offset
        return (
            entry.producer_id == expected.producer_id
            and (began_before or entry.first_offset == expected.first_offset)
            and entry.last_stable_offset <= expected.last_stable_offset
        )
