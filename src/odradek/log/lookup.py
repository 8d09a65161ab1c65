"""Offsets by time: what ListOffsets asks for.

The ends of the log are told at once. A search by time reads batches, and is a job: the time index gives a place at or
before the record, the offset index turns it into a position, and the batches from there are looked at; `time_search`
tells a right place from a wrong one. The search takes its segments from the log when it is planned; one that retention
removes in the meantime is passed over.
"""

from typing import TYPE_CHECKING, NamedTuple

from odradek.log.index.sparse_index import CorruptIndex
from odradek.log.leader_epochs import UNDEFINED_EPOCH, UNDEFINED_OFFSET
from odradek.log.soundness import time_search
from odradek.log.soundness.time_search import LargestTimestamp, Place, TimeTarget
from odradek.reactor.ports import Disk, JobOf
from odradek.records.batch import Batch
from odradek.records.layout import LOG_APPEND_TIME, NO_TIMESTAMP

if TYPE_CHECKING:
    from odradek.log.log import Log

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


def special_offset(log: "Log", timestamp: int) -> FoundOffset | None:
    if timestamp == LATEST:
        return FoundOffset(NO_TIMESTAMP, log.log_end_offset, log.epochs.latest_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return FoundOffset(NO_TIMESTAMP, log.log_start_offset, log.epochs.epoch_for(log.log_start_offset))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return NOTHING  # nothing is ever moved to another tier
    return None


def lookup_job(
    log: "Log", timestamp: int, *, tells_own_epoch: bool = True, told: list[LargestTimestamp] | None = None
) -> JobOf[FoundOffset | None]:
    """Plans the search at once; what is returned runs elsewhere.

    What it learns about doubted segments enters `told`, for `note_times`.
    """
    disk, start = log.storage.disk, log.log_start_offset
    told = [] if told is None else told
    if timestamp == MAX_TIMESTAMP:
        targets = time_search.targets(log, NO_TIMESTAMP, 0)
        return _find_largest(disk, targets, None if tells_own_epoch else log.epochs.latest_epoch, told)
    return _find(disk, time_search.targets(log, timestamp, start), timestamp, start, told)


def note_times(log: "Log", generation: int, told: list[LargestTimestamp]) -> None:
    """Applies what jobs have learned, unless the log has changed its past since."""
    for each in told if generation == log.generation else ():
        segment = log.segments.get(each.base_offset)
        if segment is None:
            continue
        if each.is_index_wrong:
            segment.indexes.distrust()
        if segment.has_doubted_times and (not each.is_index_wrong or not segment.is_active):
            segment.max_timestamp, segment.offset_of_max_timestamp = each.timestamp, each.offset
            segment.has_doubted_times = False


def _find(
    disk: Disk, targets: list[TimeTarget], timestamp: int, start_offset: int, told: list[LargestTimestamp]
) -> JobOf[FoundOffset | None]:
    for target in targets:
        largest = yield from _proved(disk, target, told)
        if largest is None or largest.timestamp < timestamp:
            continue
        try:
            place = target.start if largest.is_index_wrong else target.place
            if place is None:
                place = time_search.place_on_disk(disk, target, timestamp, start_offset)
            found = yield from _find_in(disk, target, place, timestamp, start_offset)
        except CorruptIndex:
            told.append(largest._replace(is_index_wrong=True))
            found = yield from _find_in(disk, target, target.start, timestamp, start_offset)
        if found is not None:
            return found
    return None


def _proved(disk: Disk, target: TimeTarget, told: list[LargestTimestamp]) -> JobOf[LargestTimestamp | None]:
    if not target.is_doubted:
        return LargestTimestamp(target.base_offset, target.max_timestamp, target.offset_of_max_timestamp, False)
    largest = yield from time_search.largest_timestamp_job(disk, target)
    if largest is not None:
        told.append(largest)
    return largest


def _find_in(
    disk: Disk, target: TimeTarget, place: Place, timestamp: int, start_offset: int
) -> JobOf[FoundOffset | None]:
    for batch in time_search.batches_from(disk, target, place):
        if batch is None:
            yield 0
        elif batch.max_timestamp >= timestamp:
            for record in batch.records():
                if record.timestamp >= timestamp and record.offset >= start_offset:
                    return FoundOffset(record.timestamp, record.offset, batch.partition_leader_epoch)
    return None


def _find_largest(
    disk: Disk, targets: list[TimeTarget], newest_epoch: int | None, told: list[LargestTimestamp]
) -> JobOf[FoundOffset | None]:
    latest: tuple[LargestTimestamp, TimeTarget] | None = None
    for target in targets:
        largest = yield from _proved(disk, target, told)
        if largest is not None and (latest is None or largest.timestamp > latest[0].timestamp):
            latest = largest, target
    if latest is None or latest[0].timestamp == NO_TIMESTAMP:
        return None
    largest, target = latest
    try:
        place = target.last_place or time_search.last_place_on_disk(disk, target)
        return (yield from _largest_in(disk, target, place, largest, newest_epoch))
    except CorruptIndex:
        told.append(largest._replace(is_index_wrong=True))
        return (yield from _largest_in(disk, target, target.start, largest, newest_epoch))


def _largest_in(
    disk: Disk, target: TimeTarget, place: Place, largest: LargestTimestamp, newest_epoch: int | None
) -> JobOf[FoundOffset | None]:
    """A 3.3 tells the newest epoch, and the end of a batch whose records all have the time of their append."""
    for batch in time_search.batches_from(disk, target, place):
        if batch is None:
            yield 0
        elif batch.max_timestamp == largest.timestamp:
            if newest_epoch is None:
                return FoundOffset(largest.timestamp, _first_of_largest(batch), batch.partition_leader_epoch)
            is_dated_as_one = batch.timestamp_type == LOG_APPEND_TIME
            offset = batch.last_offset if is_dated_as_one else _first_of_largest(batch)
            return FoundOffset(largest.timestamp, offset, newest_epoch)
    return None  # retention took it in the meantime


def _first_of_largest(batch: Batch) -> int:
    return next(
        (record.offset for record in batch.records() if record.timestamp == batch.max_timestamp), batch.last_offset
    )
