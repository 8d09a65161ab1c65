"""The end of a segment without reading all of it: the last entry of its offset index, and the headers behind it."""

from typing import NamedTuple

from odradek.log import names
from odradek.log.batches.batch_pieces import BatchPieces
from odradek.log.failure import LogDirFailure, file_error
from odradek.log.index.offset_index import ENTRY_SIZE as OFFSET_ENTRY_SIZE
from odradek.log.index.offset_index import OffsetIndex
from odradek.log.index.sparse_index import CorruptIndex
from odradek.log.index.time_index import ENTRY_SIZE as TIME_ENTRY_SIZE
from odradek.log.index.time_index import last_entry_of
from odradek.protocol import errors
from odradek.reactor.ports import Disk
from odradek.records import layout
from odradek.records.batch import batch_size
from odradek.records.layout import NO_TIMESTAMP

_TAIL_BYTES = 64 << 10
OFFSET_INDEX_REACH = 1 << 31  # no position in an index can be larger


class LastEntry(NamedTuple):
    offset: int
    position: int


def last_index_entry(disk: Disk, path: str, base_offset: int, log_size: int) -> LastEntry | None:
    """The last entry of the offset index at `path`, or None. CorruptIndex if it cannot belong to this log."""
    data = _last_bytes(disk, path, OFFSET_ENTRY_SIZE)
    index = OffsetIndex.decode(data, base_offset, max(log_size, 1))
    return LastEntry(*index.entries[-1]) if len(index) else None


def last_time_entry(disk: Disk, path: str, base_offset: int) -> tuple[int, int]:
    """(timestamp, offset) of the last entry of the time index; (-1, base offset) if it has none."""
    timestamp, offset = last_entry_of(_last_bytes(disk, path, TIME_ENTRY_SIZE), base_offset)
    if timestamp < NO_TIMESTAMP or offset < base_offset:
        raise CorruptIndex(f"the last entry is ({timestamp}, {offset})")
    return timestamp, offset


def claimed_offset(disk: Disk, stem: str, base_offset: int) -> int:
    """The last one that the indexes know of, whatever has become of the log; -1 if they are of no use."""
    found = -1
    try:
        entry = last_index_entry(disk, stem + names.OFFSET_INDEX, base_offset, OFFSET_INDEX_REACH)
        found = -1 if entry is None else entry.offset
    except CorruptIndex:
        pass
    try:
        timestamp, offset = last_time_entry(disk, stem + names.TIME_INDEX, base_offset)
        return max(found, offset if timestamp >= 0 else -1)
    except CorruptIndex:
        return found


def _last_bytes(disk: Disk, path: str, entry_size: int) -> bytes:
    """The last entry, or the whole file if that is zeros: then they were reserved, and the entries come before."""
    try:
        file = disk.open(path, writable=False)
    except FileNotFoundError:
        raise CorruptIndex("the file is missing") from None
    except OSError as error:
        raise file_error(error, "opening", path) from error
    try:
        size = file.size()
        if size % entry_size:
            raise CorruptIndex(f"{size} bytes are no whole number of entries of {entry_size}")
        last = file.pread(entry_size, size - entry_size) if size else b""
        return last if any(last) or size <= entry_size else file.pread(size, 0)
    except OSError as error:
        raise LogDirFailure(f"reading failed: {error}", path) from error
    finally:
        file.close()


def next_offset_of(disk: Disk, stem: str, base_offset: int, suffix: str = "") -> int:
    """The offset behind the last whole batch. `stem` is the path without the kind of file."""
    log = f"{stem}{names.LOG}{suffix}"
    size = disk.size(log)
    try:
        entry = last_index_entry(disk, f"{stem}{names.OFFSET_INDEX}{suffix}", base_offset, size)
        return next_offset(disk, log, base_offset, size, entry)[0]
    except CorruptIndex:
        return next_offset(disk, log, base_offset, size, None)[0]


def next_offset(disk: Disk, log: str, base_offset: int, size: int, entry: LastEntry | None) -> tuple[int, int]:
    """(next offset, end of the last whole batch). CorruptIndex if the entry leads to no batch up to its offset."""
    if not size:
        return base_offset, 0
    file = disk.open(log, writable=False)
    try:
        pieces = BatchPieces(file, entry.position if entry else 0, size, _TAIL_BYTES)
        found = base_offset
        is_unproven = entry is not None
        while not pieces.is_at_end:
            piece = pieces.next_piece()
            used, found, first_last = _walk(piece, found)
            if entry is not None and is_unproven and used and first_last > entry.offset:
                raise CorruptIndex(f"offset {entry.offset} is not at position {entry.position}")
            is_unproven = is_unproven and not used
            if not pieces.advance(piece, used):
                if is_unproven:
                    raise CorruptIndex(f"there is no batch at position {pieces.position}")
                break
        return found, pieces.position
    finally:
        file.close()


def _walk(piece: memoryview, found: int) -> tuple[int, int, int]:
    """(bytes used, next offset, last offset of the first batch) over the whole batches of a piece."""
    at, first_last = 0, -1
    try:
        while (size := batch_size(piece, at)) is not None and at + size <= len(piece):
            last_offset = _last_offset(piece, at)
            first_last = last_offset if not at else first_last
            found = last_offset + 1
            at += size
    except errors.CorruptMessage:
        return at, found, first_last  # `advance` finds that nothing whole follows
    return at, found, first_last


def _last_offset(piece: memoryview, at: int) -> int:
    (base,) = layout.BASE_OFFSET.unpack_from(piece, at)
    if piece[at + layout.MAGIC_OFFSET] != layout.MAGIC_MAX:
        return int(base)
    (delta,) = layout.LENGTH.unpack_from(piece, at + layout.LAST_OFFSET_DELTA_OFFSET)
    return int(base + delta)
