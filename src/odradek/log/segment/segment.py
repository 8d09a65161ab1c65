"""A segment: one file of batches, named by the first offset it may hold, and its indexes.

The last segment of a log is *active*: its file is open and its indexes are in memory. All others are *sealed*: they
never change again, and their files are opened when somebody reads them. A truncation may open a sealed one again.

A position is found in two steps: the offset index gives a batch at or before the offset, and a walk over the headers
from there finds the batch. The index entry is proved on the way: the batch it leads to must end with its offset.
"""

from odradek.broken_rule import BrokenRuleError
from odradek.log import names
from odradek.log.batches.batch_search import (
    WALK_BYTES,
    DamagedSegment,
    Found,
    batch_holding,
    find_batch,
    last_offset_at,
)
from odradek.log.failpoint import failpoint
from odradek.log.failure import DiskFull, LogDamaged, LogDirFailure, NotInCache, is_disk_full, storage_error
from odradek.log.index.offset_index import OffsetIndex
from odradek.log.index.sparse_index import CorruptIndex
from odradek.log.index.time_index import TimeIndex
from odradek.log.index.transaction_index import AbortedTransaction
from odradek.log.segment import unchecked
from odradek.log.segment.segment_files import SegmentFiles
from odradek.log.segment.segment_indexes import SegmentIndexes
from odradek.log.segment.segment_scan import SegmentScan
from odradek.log.segment.segment_tail import LastEntry, next_offset
from odradek.log.storage import Storage
from odradek.protocol import errors
from odradek.reactor.file_range import File
from odradek.reactor.ports import Buffer, DiskFile
from odradek.records import layout
from odradek.records.layout import NO_TIMESTAMP

_IS_OPEN = "only the active segment, which has its file open, is written to"


class Segment:
    __slots__ = (
        "base_offset",
        "bytes_since_last_index_entry",
        "created_ms",
        "file",
        "files",
        "first_timestamp",
        "has_doubted_times",
        "indexes",
        "jitter_ms",
        "max_timestamp",
        "newest",
        "offset_of_max_timestamp",
        "size",
        "unchecked",
    )

    def __init__(self, storage: Storage, directory: str, base_offset: int, size: int, created_ms: int) -> None:
        self.base_offset = base_offset
        self.size = size
        self.created_ms = created_ms
        self.files = SegmentFiles(storage, directory, base_offset)
        self.indexes = SegmentIndexes(self.files)
        self.file: File | None = None  # while it is active
        self.newest: tuple[int, Found] | None = None  # the last append, and the offset that it begins with
        self.jitter_ms = 0
        self.bytes_since_last_index_entry = 0
        self.max_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = base_offset
        self.has_doubted_times = False  # the two were found on disk, and `time_search` has not looked at them yet
        self.first_timestamp = NO_TIMESTAMP  # the largest of the first batch: what the age of a segment counts from
        self.unchecked: unchecked.Bounds = ()  # what `soundness` has to look at before it is served

    def __repr__(self) -> str:
        return f"Segment({self.path(names.LOG)}, size={self.size})"

    def path(self, kind: str) -> str:
        """The path of one of its files, as it is named now."""
        return self.files.path(kind)

    @property
    def paths(self) -> list[str]:
        """The paths of all its files; of a transaction index only if there is one."""
        kinds = names.SEGMENT_FILES if self.indexes.has_transactions else names.SEGMENT_FILES[:3]
        return [self.path(kind) for kind in kinds]

    @property
    def is_active(self) -> bool:
        return self.file is not None

    @property
    def has_transaction_index(self) -> bool:
        return self.indexes.has_transactions

    # Life: created or opened, sealed, released.

    def create(self, index_bytes_max: int) -> None:
        """Makes the files, in place of any that a crash left under these names."""
        disk = self.files.storage.disk
        try:
            self._create_file(names.OFFSET_INDEX).close()
            self._create_file(names.TIME_INDEX).close()
            if disk.exists(self.path(names.TRANSACTION_INDEX)):
                disk.unlink(self.path(names.TRANSACTION_INDEX))
            self.file = File(self._create_file(names.LOG))
        except OSError as error:
            raise storage_error(error, "creating a segment", self.path(names.LOG)) from error
        self.indexes.begin(index_bytes_max)

    def _create_file(self, kind: str) -> DiskFile:
        file = self.files.storage.disk.open(self.path(kind), create=True)
        file.truncate(0)
        return file

    def open(self, index_bytes_max: int) -> None:
        """For appends. Reads the indexes, which may block: the first append after a start pays for it."""
        if self.file is not None:
            return
        self.indexes.open(index_bytes_max, self.size)
        self.files.forget()
        try:
            self.file = File(self.files.storage.disk.open(self.path(names.LOG)))
            if self.size:
                self.first_timestamp = _timestamp_in(self.file.disk_file.pread(layout.HEADER_SIZE, 0))
        except OSError as error:
            raise storage_error(error, "opening a segment", self.path(names.LOG)) from error

    def complete_indexes(self) -> None:
        """The largest timestamp gets an entry of its own, whether or not one is due: readers rely on it."""
        self.indexes.append_time(self.max_timestamp, self.offset_of_max_timestamp)
        self.indexes.write_pending()

    def seal(self) -> File:
        """No more appends, after `complete_indexes`. Returns the file, for the flush that makes it durable."""
        file = self.file
        if file is None:
            raise BrokenRuleError(_IS_OPEN)
        self.indexes.seal()
        self.file = None
        return file

    def release(self) -> None:
        """Lets go of everything, for a segment that leaves the log or whose log closes."""
        if self.file is not None:
            self.file.release()
            self.file = None
        self.indexes.forget()
        self.files.forget()

    # Appends.

    def append(
        self, data: Buffer, base_offset: int, last_offset: int, max_timestamp: int, index_interval_bytes: int
    ) -> None:
        """One batch at the end, all of it or nothing: `write` and `note`, spelled out for the hot path."""
        file = self.file
        if file is None:
            raise BrokenRuleError(_IS_OPEN)
        size = len(data)
        try:
            written = file.disk_file.append((data,))
        except OSError as error:
            raise self._failed_append(error) from error
        if written != size:
            raise self._failed_append(None)
        position = self.size
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.offset_of_max_timestamp = last_offset
        if not position:
            self.first_timestamp = max_timestamp
        if self.bytes_since_last_index_entry > index_interval_bytes:
            self._index(last_offset, position)
        self.bytes_since_last_index_entry += size
        self.size = position + size
        self.newest = base_offset, (position, size, last_offset)

    def write(self, data: Buffer) -> None:
        """Several batches at once; `note` must follow for each of them."""
        if self.file is None:
            raise BrokenRuleError(_IS_OPEN)
        try:
            written = self.file.disk_file.append((data,))
        except OSError as error:
            raise self._failed_append(error) from error
        if written != len(data):
            raise self._failed_append(None)

    def note(self, size: int, last_offset: int, max_timestamp: int, index_interval_bytes: int) -> None:
        """Keeps the books of a batch that has been written."""
        position = self.size
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.offset_of_max_timestamp = last_offset
        if not position:
            self.first_timestamp = max_timestamp
        if self.bytes_since_last_index_entry > index_interval_bytes:
            self._index(last_offset, position)
        self.bytes_since_last_index_entry += size
        self.size = position + size

    def _index(self, last_offset: int, position: int) -> None:
        self.indexes.append(last_offset, position, self.max_timestamp, self.offset_of_max_timestamp)
        self.bytes_since_last_index_entry = 0

    def _failed_append(self, error: OSError | None) -> errors.KafkaError:
        """A full disk takes a part before it refuses: it must go, or the next append would follow half a batch."""
        if self.file is None:
            raise BrokenRuleError(_IS_OPEN)
        path = self.path(names.LOG)
        try:
            self.file.disk_file.truncate(self.size)
        except OSError as worse:
            return LogDirFailure(f"cutting off a failed append failed: {worse}", path, self.size)
        if error is None or is_disk_full(error):
            return DiskFull(path)
        return LogDirFailure(f"append failed: {error.strerror or error}", path, self.size)

    # Reads.

    def locate(self, offset: int, *, may_block: bool = False) -> Found | None:
        """(position, size, last offset) of the first batch that ends at or past `offset`; None if none does.

        As far as the headers can be believed: `soundness.locate` proves them. Who waits for the newest batch finds it
        without a look at the file.
        """
        newest = self.newest
        if newest is not None and newest[0] <= offset <= newest[1][2]:
            return newest[1]
        index = self.indexes.offsets
        if index is None:
            index = self.offset_index(may_block=may_block)
        return self.locate_by(index, offset, may_block)

    def locate_by(self, index: OffsetIndex, offset: int, may_block: bool) -> Found | None:
        entry_offset, position, next_position = index.around(offset)
        file = self.open_file()
        try:
            return self._find(file, offset, position, entry_offset, next_position, may_block)
        except DamagedSegment as damage:
            raise LogDamaged(damage.reason, self.path(names.LOG), damage.position) from damage
        finally:
            file.release()

    def _find(
        self, file: File, offset: int, position: int, entry_offset: int, next_position: int, may_block: bool
    ) -> Found | None:
        def read(size: int, at: int) -> Buffer:
            return read_segment(file, size, at, may_block)

        if next_position - position > WALK_BYTES:  # large batches, each with an entry: likely the next one's
            found = batch_holding(read, next_position, self.size, offset)
            if found is not None:
                return found
        try:
            return find_batch(read, position, self.size, offset, entry_offset if position else None)
        except (CorruptIndex, DamagedSegment):
            if not position:
                raise
            self.indexes.distrust_offsets()  # it has led to no batch; if the log is damaged, the walk comes upon it
            return find_batch(read, 0, self.size, offset, None)

    def open_file(self) -> File:
        """Its log file, acquired for the caller."""
        if self.file is not None:
            return self.file.acquire()
        try:
            return self.files.storage.files.get(self.files.known_path(names.LOG))
        except OSError as error:
            raise storage_error(error, "opening a segment", self.path(names.LOG)) from error

    def offset_index(self, *, may_block: bool = False) -> OffsetIndex:
        return self.indexes.offset_index(self.size, may_block=may_block)

    def time_index(self, *, may_block: bool = False) -> TimeIndex:
        return self.indexes.time_index(may_block=may_block)

    def aborted_transactions(self, *, may_block: bool = False) -> list[AbortedTransaction]:
        return self.indexes.aborted(may_block=may_block)

    def largest_timestamp(self) -> int:
        """For retention: of its records, else when its file was last written to."""
        if self.max_timestamp >= 0:
            return self.max_timestamp
        path = self.path(names.LOG)
        try:
            return self.files.storage.disk.mtime_ms(path)
        except OSError as error:
            raise storage_error(error, "asking for the age of a segment", path) from error

    def rescanned(self, scan: SegmentScan) -> None:
        """Takes in what was read from its log, up to where that ended then."""
        self.unchecked = unchecked.without(self.unchecked, 0, scan.valid_bytes)
        self.max_timestamp, self.offset_of_max_timestamp = scan.max_timestamp, scan.offset_of_max_timestamp
        self.has_doubted_times = False
        if self.is_active:
            self._find_max_timestamp(scan.valid_bytes)
        self.indexes.rebuilt(scan.offset_index, scan.time_index, scan.aborted, scan.next_offset)

    # Truncation.

    def truncate_to(self, offset: int, now_ms: int) -> None:
        """Drops the batches that end at or past `offset`, of a segment that is open for appends. May block."""
        if self.file is None:
            raise BrokenRuleError(_IS_OPEN)
        found = self.locate(offset, may_block=True)
        position = self.size if found is None else found[0]
        try:
            self.file.disk_file.truncate(position)
        except OSError as error:
            raise LogDirFailure(f"truncating failed: {error}", self.path(names.LOG), position) from error
        failpoint("log.truncate.after_cut")
        self.size = position
        self.newest = None
        self.unchecked = unchecked.clipped(self.unchecked, position)
        self.indexes.truncate_to(offset)
        self.bytes_since_last_index_entry = 0
        if not position:
            self.created_ms = now_ms
            self.first_timestamp = NO_TIMESTAMP
        self.max_timestamp, self.offset_of_max_timestamp = self.time_index().last_entry
        self._find_max_timestamp(self.offset_index().lookup(self.offset_of_max_timestamp)[1])

    def end_offset(self) -> int:
        """Behind its last batch; its base offset if it has none. May block."""
        entries = self.offset_index(may_block=True).entries
        entry = LastEntry(*entries[-1]) if entries else None
        return next_offset(self.files.storage.disk, self.path(names.LOG), self.base_offset, self.size, entry)[0]

    def _find_max_timestamp(self, position: int) -> None:
        """What is known, or a later one in the batches from `position` on."""
        if self.file is None:
            raise BrokenRuleError(_IS_OPEN)
        file = self.file.disk_file
        while position < self.size:
            header = file.pread(layout.HEADER_SIZE, position)
            last_offset = last_offset_at(file.pread, position, self.size)
            timestamp = _timestamp_in(header)
            if timestamp > self.max_timestamp:
                self.max_timestamp, self.offset_of_max_timestamp = timestamp, last_offset
            (length,) = layout.LENGTH.unpack_from(header, layout.LENGTH_OFFSET)
            position += length + layout.LOG_OVERHEAD


def read_segment(file: File, size: int, position: int, may_block: bool) -> Buffer:
    try:
        if may_block:
            return file.disk_file.pread(size, position)
        data = file.disk_file.pread_nowait(size, position)
    except OSError as error:
        raise storage_error(error, "reading a segment", file.disk_file.path) from error
    if data is None:
        raise NotInCache(file, position, size)
    return data


def _timestamp_in(header: bytes) -> int:
    """The largest timestamp of a batch, from its header; -1 for magic 0, which has none."""
    magic = header[layout.MAGIC_OFFSET]
    if magic == 0:
        return NO_TIMESTAMP
    at = layout.LEGACY_TIMESTAMP_OFFSET if magic == 1 else layout.MAX_TIMESTAMP_OFFSET
    return int(layout.TIMESTAMP.unpack_from(header, at)[0])
