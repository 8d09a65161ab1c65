"""Offsets by time: what ListOffsets asks for.

The ends of the log are told at once. A search by time reads batches, and is a job: the time index gives a place at or
before the record, the offset index turns it into a position, and the batches from there are looked at. The search takes
its segments from the log when it is planned; one that retention removes in the meantime is passed over.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from odradek.log import names
from odradek.log.batch_pieces import BatchPieces
from odradek.log.failure import LogDirFailure, storage_error
from odradek.log.leader_epochs import UNDEFINED_EPOCH, UNDEFINED_OFFSET
from odradek.log.offset_index import OffsetIndex
from odradek.log.sparse_index import CorruptIndex
from odradek.log.time_index import TimeIndex
from odradek.protocol import errors
from odradek.reactor.ports import Disk, Job
from odradek.records.batch import Batch, batches
from odradek.records.layout import LOG_APPEND_TIME, NO_TIMESTAMP

if TYPE_CHECKING:
    from odradek.log.log import Log
    from odradek.log.segment import Segment

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6


class FoundOffset(NamedTuple):
    """-1 stands for what there is not: a timestamp for the ends of the log, an offset for an empty one."""

    timestamp: int
    offset: int
    leader_epoch: int


NOTHING = FoundOffset(NO_TIMESTAMP, UNDEFINED_OFFSET, UNDEFINED_EPOCH)


class _Target(NamedTuple):
    """A segment to search. Of the active one the place is known already: its indexes are in memory."""

    stem: str
    suffix: str
    base_offset: int
    size: int
    position: int | None

    def path(self, kind: str) -> str:
        return self.stem + kind + self.suffix


def special_offset(log: "Log", timestamp: int) -> FoundOffset | None:
    if timestamp == LATEST:
        return FoundOffset(NO_TIMESTAMP, log.log_end_offset, log.epochs.latest_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return FoundOffset(NO_TIMESTAMP, log.log_start_offset, log.epochs.epoch_for(log.log_start_offset))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return NOTHING  # nothing is ever moved to another tier
    return None


def lookup_job(log: "Log", timestamp: int, *, as_in_3_3: bool = False) -> Job:
    """Plans the search at once; what is returned runs elsewhere."""
    disk, start = log.storage.disk, log.log_start_offset
    if timestamp == MAX_TIMESTAMP:
        latest = max(log.segments, key=lambda segment: segment.max_timestamp)
        target = _target(latest, NO_TIMESTAMP, latest.offset_of_max_timestamp)
        newest_epoch = log.epochs.latest_epoch if as_in_3_3 else None
        return _find_largest(disk, target, latest.max_timestamp, latest.offset_of_max_timestamp, newest_epoch)
    targets = [_target(segment, timestamp, start) for segment in log.segments if segment.max_timestamp >= timestamp]
    return _find(disk, targets, timestamp, start)


def _target(segment: "Segment", timestamp: int, start_offset: int) -> _Target:
    position = None
    if segment.is_active:
        position = _position(segment.offset_index(), segment.time_index(), timestamp, start_offset)
    return _Target(
        f"{segment.files.directory}/{names.file_name(segment.base_offset, '')}",
        segment.files.suffix,
        segment.base_offset,
        segment.size,
        position,
    )


def _position(offsets: OffsetIndex, times: TimeIndex, timestamp: int, start_offset: int) -> int:
    _, offset = times.lookup(timestamp)
    return offsets.lookup(max(offset, start_offset))[1]


def _find(disk: Disk, targets: list[_Target], timestamp: int, start_offset: int) -> Job:
    for target in targets:
        for batch in _batches(disk, target, timestamp, start_offset):
            if batch is None:
                yield 0
            elif batch.max_timestamp >= timestamp:
                for record in batch.records():
                    if record.timestamp >= timestamp and record.offset >= start_offset:
                        return FoundOffset(record.timestamp, record.offset, batch.partition_leader_epoch)
    return None


def _find_largest(disk: Disk, target: _Target, timestamp: int, offset: int, newest_epoch: int | None) -> Job:
    """A 3.3 tells the newest epoch, and the end of a batch whose records all have the time of their append."""
    if timestamp == NO_TIMESTAMP:
        return None
    for batch in _batches(disk, target, NO_TIMESTAMP, offset):
        if batch is None:
            yield 0
        elif batch.max_timestamp == timestamp:
            if newest_epoch is None:
                return FoundOffset(timestamp, _first_of_largest(batch), batch.partition_leader_epoch)
            is_dated_as_one = batch.timestamp_type == LOG_APPEND_TIME
            largest = batch.last_offset if is_dated_as_one else _first_of_largest(batch)
            return FoundOffset(timestamp, largest, newest_epoch)
    return None  # retention took it in the meantime


def _first_of_largest(batch: Batch) -> int:
    return next(
        (record.offset for record in batch.records() if record.timestamp == batch.max_timestamp), batch.last_offset
    )


def _batches(disk: Disk, target: _Target, timestamp: int, start_offset: int) -> Iterator[Batch | None]:
    """Each batch from the place that the indexes give; None between two reads."""
    position = target.position
    try:
        if position is None:
            position = _position_on_disk(disk, target, timestamp, start_offset)
        file = disk.open(target.path(names.LOG), writable=False)
    except FileNotFoundError:
        return
    except OSError as error:
        raise storage_error(error, "opening a segment", target.path(names.LOG)) from error
    try:
        pieces, used = BatchPieces(file, position, target.size), 0
        while not pieces.is_at_end:
            piece = pieces.next_piece()
            used = 0
            for batch in batches(piece):
                batch.ensure_valid()
                used += batch.size
                yield batch
            if not pieces.advance(piece, used):
                return
            yield None
    except errors.CorruptMessage as error:
        raise LogDirFailure(error.message, target.path(names.LOG), pieces.position + used) from error
    finally:
        file.close()


def _position_on_disk(disk: Disk, target: _Target, timestamp: int, start_offset: int) -> int:
    """An index that is missing or wrong only makes the search longer."""
    try:
        offsets = OffsetIndex.decode(disk.read(target.path(names.OFFSET_INDEX)), target.base_offset, target.size)
        times = TimeIndex.decode(disk.read(target.path(names.TIME_INDEX)), target.base_offset)
    except (CorruptIndex, FileNotFoundError):
        return 0
    return _position(offsets, times, timestamp, start_offset)
