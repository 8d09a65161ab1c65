"""Appending: as the leader, which checks and assigns, and as a follower, which takes what the leader decided.

Nothing of the log's state changes before the bytes are in the file; after that nothing can fail. So an append that
raises has changed nothing, but for the buffer, which may carry offsets that were never given out.
"""

from typing import TYPE_CHECKING

from odradek.broken_rule import BrokenRuleError
from odradek.log import roll
from odradek.log.failpoint import ARMED, failpoint
from odradek.log.failure import DiskFull, UnexpectedAppendOffset
from odradek.log.index.offset_index import RELATIVE_OFFSET_MAX
from odradek.log.producers.producer_entry import BatchMetadata
from odradek.protocol import errors
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Buffer
from odradek.records import control
from odradek.records.assign import assign, place, place_plain
from odradek.records.batch import Batch, RecordBatch, batches
from odradek.records.checked import CheckedRecords, PlainRecords
from odradek.records.layout import NO_TIMESTAMP

if TYPE_CHECKING:
    from odradek.log.log import Log
    from odradek.log.segment.segment import Segment

# Who writes: a client's batches are checked for their sequence; a coordinator's markers and offsets are its own affair.
CLIENT, COORDINATOR = 0, 1


class AppendInfo:
    """`log_append_time` is -1 unless the topic stamps records with the time of their append. `flushed` is None, unless
    flush.messages asks for a flush first: then the leader who begins it says here when it has ended."""

    __slots__ = ("first_offset", "flushed", "is_duplicate", "last_offset", "log_append_time", "log_start_offset")

    def __init__(self, first_offset: int, last_offset: int, log_append_time: int, log_start_offset: int) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.log_append_time = log_append_time
        self.log_start_offset = log_start_offset
        self.is_duplicate = False
        self.flushed: Pending[None] | None = None

    def __repr__(self) -> str:
        return f"AppendInfo({self.first_offset}-{self.last_offset}, is_duplicate={self.is_duplicate})"


def append_checked(log: "Log", checked: CheckedRecords, leader_epoch: int, now_ms: int, origin: int) -> AppendInfo:
    """Gives offsets to records that `records.check` has passed with `rules`, perhaps in a job, and appends them.

    Nearly every append finds a log that takes it and a segment with room. Whatever else may be the case is in the one
    long condition, and `_segment_for` sees to all of it: it refuses if the log takes no appends, opens the file,
    refuses what is larger than a segment (such a batch finds no room either), and rolls if that is due. The condition
    is `roll.is_due` part by part, but for the age: a segment that is empty or whose records have no time goes the long
    way each time. So it may lead there in vain, but it never leads past it.

    A batch with a producer is refused earlier, by `_check_producer`: a log that takes no appends does not answer with
    the offsets of a duplicate either.
    """
    base_offset = log.log_end_offset
    produced: RecordBatch | None = None  # a batch that the books of its producer are kept of
    data: Buffer
    if type(checked) is PlainRecords and checked.producer_id < 0:
        last_offset = place_plain(checked, base_offset, leader_epoch)
        data = checked.buffer
    else:
        batch = checked.batches[0]
        if batch.producer_id >= 0:
            if not isinstance(batch, RecordBatch):
                raise BrokenRuleError("only batches of magic 2 have a producer")
            produced = batch
            duplicate = _check_producer(log, batch, origin)
            if duplicate is not None:
                return _known(log, duplicate)
        data, last_offset = _placed(checked, batch, base_offset, leader_epoch, now_ms)
    size = len(data)
    segment = log.active
    if (
        log.refusal is not None
        or segment.file is None
        or segment.size + size > log.roll_bytes
        or segment.first_timestamp < 0
        or checked.max_timestamp - segment.first_timestamp > log.config.segment_ms - segment.jitter_ms
        or segment.indexes.is_full
        or last_offset - segment.base_offset > RELATIVE_OFFSET_MAX
    ):
        segment = _segment_for(log, size, now_ms, last_offset, checked.max_timestamp)
    if ARMED:
        failpoint("log.append.before_write")
    segment.append(data, base_offset, last_offset, checked.max_timestamp, log.index_interval_bytes)
    if ARMED:
        failpoint("log.append.after_write")
    log.log_end_offset = next_offset = last_offset + 1
    epochs = log.epochs.epochs
    if not epochs or leader_epoch != epochs[-1]:
        log.epochs.assign(leader_epoch, base_offset)
    if produced is not None:
        _replay(log, segment, RecordBatch(data) if checked.needs_rebuild else produced)
    log.producers.map_end_offset = next_offset
    if segment.indexes.is_write_due:
        _write_indexes(segment)
    if ARMED:
        failpoint("log.append.after_state")
    log_append_time = now_ms if log.is_append_time else NO_TIMESTAMP
    return AppendInfo(base_offset, last_offset, log_append_time, log.log_start_offset)


def _placed(
    checked: CheckedRecords, batch: Batch, base_offset: int, leader_epoch: int, now_ms: int
) -> tuple[Buffer, int]:
    """The bytes to append, and their last offset."""
    if not checked.needs_rebuild and isinstance(batch, RecordBatch):
        return batch.buffer, place(batch, checked, base_offset, leader_epoch)
    placed = assign(checked, base_offset, leader_epoch, now_ms)
    return placed.data, placed.last_offset


def _segment_for(log: "Log", size: int, now_ms: int, last_offset: int, max_timestamp: int) -> "Segment":
    ensure_writable(log)
    if size > log.roll_bytes:
        raise errors.RecordListTooLarge(
            f"A batch of {size} bytes for {log.topic_partition} does not fit a segment of {log.roll_bytes} bytes."
        )
    return roll.maybe_roll(log, size, now_ms, last_offset, max_timestamp)


def ensure_writable(log: "Log") -> None:
    if log.refusal is not None:
        raise errors.KafkaStorageError(f"{log.topic_partition} takes no appends: {log.refusal}.")


def _check_producer(log: "Log", batch: RecordBatch, origin: int) -> BatchMetadata | None:
    ensure_writable(log)
    if batch.is_control:
        record = next(batch.records())
        if control.control_type(record.key) in (control.ABORT, control.COMMIT):
            log.producers.check_marker(batch, control.coordinator_epoch(record.value))
        return None
    if origin == CLIENT:
        duplicate = log.producers.duplicate_of(batch)
        if duplicate is not None:
            return duplicate
    log.producers.check_data(batch, is_from_client=origin == CLIENT)
    return None


def _known(log: "Log", duplicate: BatchMetadata) -> AppendInfo:
    """A batch that came again is answered with the offsets it got the first time (P3)."""
    info = AppendInfo(duplicate.first_offset, duplicate.last_offset, duplicate.timestamp, log.log_start_offset)
    info.is_duplicate = True
    return info


def _replay(log: "Log", segment: "Segment", batch: RecordBatch) -> None:
    completed = log.producers.replay(batch)
    if completed is not None:
        aborted = log.producers.complete(completed)
        if aborted is not None:
            segment.indexes.add_aborted(aborted)
    log.find_first_unstable_offset()


def _write_indexes(segment: "Segment") -> None:
    try:
        segment.indexes.write_pending()
    except DiskFull:
        return  # the entries stay in memory, and the records are in


def append_as_follower(log: "Log", records: Buffer, now_ms: int) -> AppendInfo:
    ensure_writable(log)
    found = list(batches(records))
    _check_order(log, found)
    if not found:
        return AppendInfo(log.log_end_offset, log.log_end_offset - 1, NO_TIMESTAMP, log.log_start_offset)
    view = memoryview(records)
    start = end = 0
    run: list[Batch] = []
    for batch in found:
        if run and _needs_roll(log, end - start + batch.size, batch, now_ms):
            _append_run(log, view[start:end], run, now_ms)
            start, run = end, []
        run.append(batch)
        end += batch.size
    _append_run(log, view[start:end], run, now_ms)
    return AppendInfo(_first_offset(found[0]), found[-1].last_offset, NO_TIMESTAMP, log.log_start_offset)


def _first_offset(batch: Batch) -> int:
    """The first offset of a batch; the last one of a compressed message of magic 0 or 1, of which no other is known
    without unpacking it."""
    return batch.base_offset if isinstance(batch, RecordBatch) else batch.last_offset


def _check_order(log: "Log", found: list[Batch]) -> None:
    """The leader's offsets may have gaps, where it has compacted, but they never go back (L1)."""
    next_offset = log.log_end_offset
    for batch in found:
        batch.ensure_valid()
        first_offset = _first_offset(batch)
        if first_offset < next_offset or batch.last_offset < first_offset:
            raise UnexpectedAppendOffset(log.topic_partition, first_offset, next_offset)
        next_offset = batch.last_offset + 1


def _needs_roll(log: "Log", size: int, batch: Batch, now_ms: int) -> bool:
    return roll.is_due(log, log.active, size, batch.last_offset, batch.max_timestamp, now_ms)


def _append_run(log: "Log", data: memoryview, run: list[Batch], now_ms: int) -> None:
    """One write; the books are kept batch by batch, so that the indexes are those of a leader."""
    first_offset = _first_offset(run[0])
    last = run[-1]
    segment = roll.maybe_roll(
        log, len(data), now_ms, last.last_offset, max(batch.max_timestamp for batch in run), first_offset
    )
    failpoint("log.append.before_write")  # without the look at ARMED: a run comes once a fetch, and is many batches
    segment.write(data)
    failpoint("log.append.after_write")
    for batch in run:
        segment.note(batch.size, batch.last_offset, batch.max_timestamp, log.index_interval_bytes)
        if isinstance(batch, RecordBatch):
            if batch.partition_leader_epoch != log.epochs.latest_epoch:
                log.epochs.learn(batch.partition_leader_epoch, batch.base_offset)
            if batch.producer_id >= 0:
                _replay(log, segment, batch)
    log.log_end_offset = last.last_offset + 1
    log.producers.map_end_offset = log.log_end_offset
    if segment.indexes.is_write_due:
        _write_indexes(segment)
    failpoint("log.append.after_state")
