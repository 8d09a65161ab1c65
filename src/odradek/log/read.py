"""Reading: which bytes of which file answer a fetch.

A reader gets batches as they lie in the file, beginning with the one that holds its offset: the client drops the
records before, and the last batch if that is cut off where `max_bytes` end. It gets nothing at or past its limit: the
log's end for a follower, the high watermark for a consumer, the last stable offset for one that reads committed
records, with the list of the aborted transactions among them (T1).
"""

from typing import TYPE_CHECKING

from odradek.log.failure import NotInCache
from odradek.log.index.transaction_index import AbortedTransaction
from odradek.log.segment import unchecked
from odradek.log.segment.transaction_facts import TransactionFacts
from odradek.log.soundness import committed, soundness
from odradek.protocol import errors
from odradek.reactor.file_range import FileRange
from odradek.reactor.ports import JobOf

if TYPE_CHECKING:
    from odradek.log.log import Log
    from odradek.log.segment.segment import Segment

LOG_END, HIGH_WATERMARK, TXN_COMMITTED = 0, 1, 2

READ_AHEAD_BYTES = 1 << 20


class FetchedRecords:
    """`records` is None if there are none to read yet; else the receiver releases the range."""

    __slots__ = ("aborted_transactions", "first_is_incomplete", "offset", "position", "records", "segment_base_offset")

    def __init__(self, offset: int, segment_base_offset: int = -1, position: int = -1) -> None:
        self.offset = offset
        self.segment_base_offset = segment_base_offset
        self.position = position
        self.records: FileRange | None = None
        self.first_is_incomplete = False
        self.aborted_transactions: list[AbortedTransaction] | None = None

    def __repr__(self) -> str:
        return f"FetchedRecords({self.offset}, {self.records})"


def read(log: "Log", offset: int, max_bytes: int, isolation: int, min_one_message: bool) -> FetchedRecords:
    limit = _limit(log, isolation)
    if offset < log.log_start_offset or offset > log.log_end_offset:
        raise errors.OffsetOutOfRange(
            f"Offset {offset} of {log.topic_partition} is not in {log.log_start_offset} to {log.log_end_offset}."
        )
    segment = log.segments.floor(offset)
    while segment is not None and offset < limit and segment.base_offset < limit:
        if segment.unchecked:
            found = soundness.locate(log, segment, offset, wanted_bytes=max_bytes)
        else:
            found = segment.locate(offset)
        if found is not None:
            return _fetched(log, segment, offset, found, max_bytes, isolation, min_one_message, limit)
        # Compaction has emptied the end of this segment: the next batch is in a later one.
        segment = log.segments.higher(segment.base_offset)
    fetched = FetchedRecords(offset)
    if isolation == TXN_COMMITTED:
        fetched.aborted_transactions = []
    return fetched


def _limit(log: "Log", isolation: int) -> int:
    if isolation == LOG_END:
        return log.log_end_offset
    return log.high_watermark if isolation == HIGH_WATERMARK else log.last_stable_offset


def _fetched(
    log: "Log",
    segment: "Segment",
    offset: int,
    found: tuple[int, int, int],
    max_bytes: int,
    isolation: int,
    min_one_message: bool,
    limit: int,
) -> FetchedRecords:
    position, first_size, _ = found
    fetched = FetchedRecords(offset, segment.base_offset, position)
    if min_one_message and max_bytes < first_size:
        max_bytes = first_size
    size = min(max_bytes, _end_position(log, segment, isolation, limit) - position)
    fetched.first_is_incomplete = max_bytes < first_size
    facts = None
    if isolation == TXN_COMMITTED and size > 0 and segment.indexes.doubted is not None:
        facts = _facts(log, segment, position, first_size, size)
        if facts is not None and facts.end is not None:
            size = min(size, facts.end - position)
    if segment.unchecked and size > 0 and unchecked.first_in(segment.unchecked, position, position + size) is not None:
        needed_end = position + first_size
        end = soundness.ensure_sound(log, segment, position, needed_end, max(needed_end, position + size))
        size = min(size, end - position)
    if size > 0:
        fetched.records = _range(segment, position, size)
    if isolation == TXN_COMMITTED:
        if facts is None:
            fetched.aborted_transactions = committed.aborted_by_index(log, segment, offset, position + size)
        else:
            fetched.aborted_transactions = committed.aborted_among(log, segment, facts, offset, position + size)
    return fetched


def _facts(log: "Log", segment: "Segment", position: int, first_size: int, size: int) -> TransactionFacts | None:
    """What the batches tell about transactions, where the index is not to be believed."""
    doubted = segment.indexes.doubted
    if doubted is None or position >= doubted.end:
        return None
    needed_end = position + first_size
    end = max(needed_end, position + min(size, soundness.CHECK_AHEAD_BYTES_MAX))
    return committed.facts_at(log, segment, doubted, position, needed_end, end)


def _end_position(log: "Log", segment: "Segment", isolation: int, limit: int) -> int:
    if limit == log.log_end_offset:
        return segment.size
    base_offset, position = log.high_watermark_place() if isolation == HIGH_WATERMARK else log.stable_place()
    return position if base_offset == segment.base_offset else segment.size


def _range(segment: "Segment", position: int, size: int) -> FileRange:
    if segment.file is not None:
        return FileRange(segment.file, position, size)
    file = segment.open_file()
    try:
        return FileRange(file, position, size)
    finally:
        file.release()


def place_of(log: "Log", offset: int) -> tuple[int, int]:
    """(base offset of the segment, position) of the batch that holds `offset`, or where it would begin."""
    if offset == log.log_end_offset:
        return log.active.base_offset, log.active.size
    segment = log.segments.floor(offset)
    if segment is None:
        return log.segments.first.base_offset, 0
    found = soundness.locate(log, segment, offset) if segment.unchecked else segment.locate(offset)
    return segment.base_offset, segment.size if found is None else found[0]


def read_ahead(cold: NotInCache) -> JobOf[soundness.RangeCheck | None]:
    """Brings a range into the page cache; the caller acquires its file before and releases it after.

    What has to be checked is checked on the way, and returned: `Log.note_checked` must follow.
    """
    if isinstance(cold, soundness.NotChecked):
        return (yield from soundness.check_job(cold.file.disk_file, cold.check))
    position, end = cold.position, cold.position + cold.size
    while position < end:
        data = cold.file.disk_file.pread(min(READ_AHEAD_BYTES, end - position), position)
        if not data:
            return None
        position += len(data)
        yield len(data)
    return None
