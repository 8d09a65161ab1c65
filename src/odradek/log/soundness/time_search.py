"""A segment's batches from a point in time on, found by its indexes and proved by the batches.

An entry of the time index says how late the records are up to some batch. A search that believed a wrong one would
begin behind the record, or pass over the segment that holds it. So it begins one entry early, and the batches bear
witness on the way: the batch of an entry has its timestamp, and none since the entry before is later. Where they
disagree the search begins again at the start of the segment, without the indexes, and the log is told.

The largest timestamp of a segment is the last entry of its index. One that was found on disk is doubted until a job has
walked from the entry before it to the end of the segment: mostly the last few batches.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from odradek.log import names
from odradek.log.batches.batch_check import BatchCheck
from odradek.log.batches.batch_pieces import BatchPieces
from odradek.log.batches.batch_search import DamagedSegment
from odradek.log.failure import LogDamaged, storage_error
from odradek.log.index.offset_index import ENTRY_SIZE as OFFSET_ENTRY_SIZE
from odradek.log.index.offset_index import OffsetIndex
from odradek.log.index.sparse_index import CorruptIndex
from odradek.log.index.time_index import ENTRY_SIZE as TIME_ENTRY_SIZE
from odradek.log.index.time_index import TimeIndex
from odradek.log.leader_epochs import LeaderEpochs
from odradek.reactor.ports import Disk, DiskFile, JobOf
from odradek.records.batch import Batch, batches
from odradek.records.layout import NO_TIMESTAMP

if TYPE_CHECKING:
    from odradek.log.segment.segment import Segment
    from odradek.log.soundness.checked_log import CheckedLog


class Place(NamedTuple):
    """Where a search begins; `times` are the entries of the time index from there on, with timestamp and offset.

    `entry_offset` is what the offset index says of the position, None at the start; none below `first_offset` is there.
    """

    position: int
    entry_offset: int | None
    first_offset: int
    times: tuple[tuple[int, int], ...]


TAIL_BYTES = 96 * 16  # of an index, for its last entries
ENTRIES_SIZE = OFFSET_ENTRY_SIZE * TIME_ENTRY_SIZE // 4  # a whole number of entries of either kind


class TimeTarget(NamedTuple):
    """A segment to search. `place` and `last_place` are None if its indexes have to be read from their files."""

    stem: str
    suffix: str
    base_offset: int
    size: int
    end_offset: int
    epochs: LeaderEpochs
    max_timestamp: int
    offset_of_max_timestamp: int
    is_doubted: bool
    place: Place | None
    last_place: Place | None

    def path(self, kind: str) -> str:
        return self.stem + kind + self.suffix

    @property
    def claimed_offset(self) -> int:
        return self.offset_of_max_timestamp if self.max_timestamp >= 0 else self.base_offset - 1

    @property
    def start(self) -> Place:
        """Right whatever the indexes say."""
        return Place(0, None, self.base_offset, ())


class LargestTimestamp(NamedTuple):
    """What the batches of a doubted segment have told."""

    base_offset: int
    timestamp: int
    offset: int
    is_index_wrong: bool


def targets(log: "CheckedLog", timestamp: int, start_offset: int) -> list[TimeTarget]:
    """Every segment, with a copy of what the reactor may change meanwhile."""
    epochs = LeaderEpochs(log.epochs.entries)
    ends = [*log.segments.base_offsets[1:], log.log_end_offset]
    return [
        _target(segment, timestamp, start_offset, end_offset, epochs)
        for segment, end_offset in zip(log.segments, ends, strict=True)
    ]


def _target(segment: "Segment", timestamp: int, start_offset: int, end_offset: int, epochs: LeaderEpochs) -> TimeTarget:
    place = last_place = None
    if segment.is_active:
        offsets, times = segment.offset_index(), segment.time_index()
        place = place_in(offsets, times, timestamp, start_offset)
        last_place = last_place_in(offsets, times)
    return TimeTarget(
        f"{segment.files.directory}/{names.file_name(segment.base_offset, '')}",
        segment.files.suffix,
        segment.base_offset,
        segment.size,
        end_offset,
        epochs,
        segment.max_timestamp,
        segment.offset_of_max_timestamp,
        segment.has_doubted_times,
        place,
        last_place,
    )


def place_in(offsets: OffsetIndex, times: TimeIndex, timestamp: int, start_offset: int) -> Place:
    """For the first record at or after `timestamp`, from `start_offset` on."""
    return _place(offsets, times.two_entries_up_to(timestamp), start_offset)


def last_place_in(offsets: OffsetIndex, times: TimeIndex) -> Place:
    return _place(offsets, times.two_entries_up_to(times.last_entry[0]), 0)


def _place(offsets: OffsetIndex, entries: list[tuple[int, int]], start_offset: int) -> Place:
    later = tuple(entry for entry in entries if entry[1] >= start_offset)
    begin = entries[0][1] if len(entries) == 2 else 0
    _, position = offsets.lookup(max(begin, start_offset))
    entry_offset, position, first_offset = offsets.anchor(position) if position else (None, 0, offsets.base_offset)
    return Place(position, entry_offset, first_offset, later)


def place_on_disk(disk: Disk, segment: TimeTarget, timestamp: int, start_offset: int) -> Place:
    """Where to begin the search for a timestamp, from the index files themselves: for a job, which has no loaded index.

    CorruptIndex if they cannot be those of this segment.
    """
    return place_in(*_indexes(segment, disk.read), timestamp, start_offset)


def last_place_on_disk(disk: Disk, segment: TimeTarget) -> Place:
    """By the ends of the files, if that is enough: there may be thousands of segments."""
    offsets, times = _indexes(segment, lambda path: _tail(disk, path))
    if len(times) >= 2 and len(offsets) and offsets.entries[0][0] <= times.entries[-2][1]:
        return last_place_in(offsets, times)
    return last_place_in(*_indexes(segment, disk.read))


def _indexes(segment: TimeTarget, read: Callable[[str], bytes]) -> tuple[OffsetIndex, TimeIndex]:
    try:
        offsets = OffsetIndex.decode(read(segment.path(names.OFFSET_INDEX)), segment.base_offset, segment.size)
        return offsets, TimeIndex.decode(read(segment.path(names.TIME_INDEX)), segment.base_offset)
    except FileNotFoundError as error:
        raise CorruptIndex("the file is missing") from error


def _tail(disk: Disk, path: str) -> bytes:
    file = disk.open(path, writable=False)
    try:
        size = file.size()
        start = max(0, size - size % ENTRIES_SIZE - TAIL_BYTES)
        return file.pread(size - start, start)
    except OSError as error:
        raise storage_error(error, "reading an index", path) from error
    finally:
        file.close()


def batches_from(disk: Disk, segment: TimeTarget, place: Place) -> Iterator[Batch | None]:
    """Each batch, None between two reads; nothing if the segment is gone. CorruptIndex if the place is a wrong one."""
    path = segment.path(names.LOG)
    try:
        file = disk.open(path, writable=False)
    except FileNotFoundError:
        return
    except OSError as error:
        raise storage_error(error, "opening a segment", path) from error
    try:
        yield from _witnessed(file, segment, place)
    finally:
        file.close()


def _witnessed(file: DiskFile, segment: TimeTarget, place: Place) -> Iterator[Batch | None]:
    pieces = BatchPieces(file, place.position, segment.size)
    check = BatchCheck(
        place.position, segment.size, place.first_offset, segment.end_offset, place.entry_offset, segment.epochs
    )
    witness = _Witness(place.times)
    try:
        while not pieces.is_at_end:
            piece = pieces.next_piece()
            used = check.take(piece)
            for batch in batches(piece[:used]):
                witness.see(batch)
                yield batch
            if not pieces.advance(piece, used):
                raise DamagedSegment("a batch is cut off or has an impossible length", pieces.position)
            if pieces.is_at_end:
                check.confirm_end(segment.claimed_offset)
            yield None
    except DamagedSegment as damage:
        if check.is_proving_the_index:
            raise CorruptIndex(f"no batch up to offset {place.entry_offset} is at {place.position}") from damage
        raise LogDamaged(damage.reason, segment.path(names.LOG), damage.position) from damage


class _Witness:
    """Compares the entries of a time index with the batches from before the first of them on: CorruptIndex."""

    __slots__ = ("_entries",)

    def __init__(self, entries: tuple[tuple[int, int], ...]) -> None:
        self._entries = list(reversed(entries))  # the next one is the last

    def see(self, batch: Batch) -> None:
        if not self._entries:
            return
        timestamp, offset = self._entries[-1]
        if batch.max_timestamp > timestamp:
            raise CorruptIndex(f"a batch up to offset {offset} is later than {timestamp}")
        if batch.last_offset >= offset:
            if batch.max_timestamp < timestamp or _begins_behind(batch, offset):
                raise CorruptIndex(f"the batch at offset {offset} does not have the timestamp {timestamp}")
            self._entries.pop()


def _begins_behind(batch: Batch, offset: int) -> bool:
    return batch.magic > 1 and batch.base_offset > offset  # a compressed message of magic 0 or 1 tells its end only


# The largest timestamp.


def largest_timestamp_job(disk: Disk, segment: TimeTarget) -> JobOf[LargestTimestamp | None]:
    """Returns a LargestTimestamp, None if the segment is gone."""
    try:
        place = segment.last_place or last_place_on_disk(disk, segment)
        found = yield from _largest(disk, segment, place)
        if found is None:
            return None
        if _is_told_by(segment, found):
            expected = segment.max_timestamp, segment.offset_of_max_timestamp
            return LargestTimestamp(segment.base_offset, *expected, is_index_wrong=False)
    except CorruptIndex:
        pass
    found = yield from _largest(disk, segment, segment.start)
    if found is None:
        return None
    timestamp, _, last_offset = found
    return LargestTimestamp(segment.base_offset, timestamp, last_offset, is_index_wrong=True)


def _is_told_by(segment: TimeTarget, found: tuple[int, int, int]) -> bool:
    timestamp, first_offset, last_offset = found
    if timestamp == NO_TIMESTAMP or segment.max_timestamp != timestamp:
        return segment.max_timestamp == timestamp
    return first_offset <= segment.offset_of_max_timestamp <= last_offset


def _largest(disk: Disk, segment: TimeTarget, place: Place) -> JobOf[tuple[int, int, int] | None]:
    """(timestamp, first offset, last offset) of the first batch that has it; None if there is no batch any more."""
    found = NO_TIMESTAMP, segment.base_offset, segment.base_offset
    is_there = not segment.size
    for batch in batches_from(disk, segment, place):
        if batch is None:
            is_there = True
            yield 0
        elif batch.max_timestamp > found[0]:
            first_offset = batch.base_offset if batch.magic > 1 else segment.base_offset
            found = batch.max_timestamp, first_offset, batch.last_offset
    return found if is_there else None
