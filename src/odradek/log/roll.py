"""When a new segment begins, and how.

A segment is full when the batch would make it larger than segment.bytes, when its indexes are full, when the batch's
offsets no longer fit the four bytes of a relative offset, or when it is too old: segment.ms, less a jitter drawn per
segment, so that the segments of a thousand partitions that began together do not all roll at once. Its age is counted
in the time of its records, so that a replayed log is cut as the original was, else by the clock.
"""

from typing import TYPE_CHECKING

from odradek.log import names
from odradek.log.dead_files import unlink_if_there
from odradek.log.failpoint import failpoint
from odradek.log.failure import DiskFull, is_disk_full, storage_error
from odradek.log.index.offset_index import RELATIVE_OFFSET_MAX
from odradek.log.producers import producer_snapshot
from odradek.log.segment.segment import Segment

if TYPE_CHECKING:
    from odradek.log.log import Log


def is_due(log: "Log", segment: Segment, size: int, last_offset: int, max_timestamp: int, now_ms: int) -> bool:
    return (
        segment.size + size > log.roll_bytes
        or segment.indexes.is_full
        or is_past_relative_offsets(segment, last_offset)
        or is_too_old(log, segment, max_timestamp, now_ms)
    )


def is_past_relative_offsets(segment: Segment, last_offset: int) -> bool:
    return last_offset - segment.base_offset > RELATIVE_OFFSET_MAX


def is_too_old(log: "Log", segment: Segment, max_timestamp: int, now_ms: int) -> bool:
    if not segment.size:
        return False
    first = segment.first_timestamp
    waited_ms = max_timestamp - first if first >= 0 else now_ms - segment.created_ms
    return waited_ms > log.config.segment_ms - segment.jitter_ms


def maybe_roll(
    log: "Log", size: int, now_ms: int, last_offset: int, max_timestamp: int, first_offset: int = 0
) -> Segment:
    """The segment to append to, open."""
    segment = log.active
    if segment.file is None:
        segment.open(log.config.segment_index_bytes)
        segment.jitter_ms = jitter_ms(log)
    if is_due(log, segment, size, last_offset, max_timestamp, now_ms):
        segment = roll(log, now_ms, first_offset)
    return segment


def roll(log: "Log", now_ms: int, expected_next_offset: int) -> Segment:
    """Seals the active segment and begins a new one at the log's end, or past it if the next offset is known to be.

    The steps that may fail for want of space come first: what they leave behind is taken away again, and the log goes
    on with the old segment.
    """
    offset = max(expected_next_offset, log.log_end_offset)
    old = log.active
    if offset == old.base_offset:
        return old  # there is nothing in it yet
    old.open(log.config.segment_index_bytes)
    old.complete_indexes()
    new = _create(log, offset, now_ms)
    failpoint("log.roll.after_create")
    log.unflushed[old.base_offset] = old.seal()
    failpoint("log.roll.after_seal")
    log.segments.add(new)
    log.active = new
    log.has_new_names = True
    log.producers.map_end_offset = offset
    take_snapshot(log)
    if log.on_roll is not None:
        log.on_roll(log)
    return new


def _create(log: "Log", offset: int, now_ms: int) -> Segment:
    new = Segment(log.storage, log.directory, offset, 0, now_ms)
    new.jitter_ms = jitter_ms(log)
    try:
        new.create(log.config.segment_index_bytes)
    except DiskFull:
        # An empty segment left behind would tell the next start that the log ends where it begins.
        for kind in names.SEGMENT_FILES:
            unlink_if_there(log.storage.disk, new.path(kind))
        raise
    return new


def jitter_ms(log: "Log") -> int:
    bound = min(log.config.segment_jitter_ms, log.config.segment_ms)
    return log.storage.jitter.below(bound) if bound > 0 else 0


def take_snapshot(log: "Log") -> None:
    """Writes the producers' snapshot for the end of what they have seen, unless there is one already.

    On a full disk it is left out: recovery can do without.
    """
    offset = log.producers.map_end_offset
    if offset <= (log.snapshots[-1] if log.snapshots else log.log_start_offset):
        return
    failpoint("log.roll.before_snapshot")
    try:
        producer_snapshot.write(log.storage.disk, log.directory, offset, log.producers.entries)
    except OSError as error:
        path = producer_snapshot.path_of(log.directory, offset)
        if not is_disk_full(error):
            raise storage_error(error, "writing a producer snapshot", path) from error
        unlink_if_there(log.storage.disk, path)
        return
    log.snapshots.append(offset)
    log.unsynced_snapshots.append(offset)
    log.has_new_names = True
    failpoint("log.roll.after_snapshot")
