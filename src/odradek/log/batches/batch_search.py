"""From a position to the batch that holds an offset: a walk over headers, most of it in one read.

It looks only at where batches begin, until one begins past the offset; then it is the one before, if that reaches far
enough, else this one. Compaction leaves gaps, so that an offset may be in no batch: the next one serves.
"""

from collections.abc import Callable
from struct import Struct

from odradek import native
from odradek.log.batches.pure_batch_search import walk_heads
from odradek.log.index.sparse_index import CorruptIndex
from odradek.reactor.ports import Buffer
from odradek.records import layout

_HEAD = Struct(">qi4xb6xi")  # base offset, length, magic, last offset delta
_PADDING = bytes(_HEAD.size)  # the last message, if it is one of magic 0, may be shorter than a head
_OVERHEAD = layout.LOG_OVERHEAD
_LENGTH_MIN = layout.LEGACY_HEADER_V0
WALK_BYTES = 4096 + 512  # a little more than lies between two entries of the offset index by default

_extension = native.load("odradek.log.batches._batch_search")
if _extension is not None:
    walk_heads = _extension.walk_heads

Found = tuple[int, int, int]  # position, size, last offset
Read = Callable[[int, int], Buffer]  # size, position


class DamagedSegment(Exception):  # noqa: N818 - what is found, not what went wrong here
    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


def find_batch(read: Read, position: int, end: int, offset: int, entry_offset: int | None) -> Found | None:
    """The first batch from `position` on, where one begins, that ends at or past `offset`.

    `entry_offset` is what the index says of `position`: CorruptIndex if no batch up to that offset begins there.
    """
    before: Found | None = None
    while position < end:
        data = _piece(read, position, end)
        if entry_offset is not None and not _begins_a_batch_up_to(data, entry_offset):
            raise CorruptIndex(f"no batch up to offset {entry_offset} begins at position {position}")
        entry_offset = None
        last, at = walk_heads(data, offset)
        if at < 0:
            raise DamagedSegment("a batch has an impossible length", position - 1 - at)
        if last >= 0:
            before = _batch_at(data, last, position, end)
        if before is not None and before[2] >= offset:
            return before
        if at <= len(data) - _HEAD.size:
            return _batch_at(data, at, position, end)
        position += at
    return None


def batch_holding(read: Read, position: int, end: int, offset: int) -> Found | None:
    """The batch of magic 2 that begins at `position`, if it holds `offset`. Whatever else is there proves nothing."""
    if position + _HEAD.size > end:
        return None
    data = read(_HEAD.size, position)
    if len(data) < _HEAD.size:
        return None
    base, length, magic, delta = _HEAD.unpack_from(data)
    size = length + _OVERHEAD
    if magic != layout.MAGIC_MAX or not base <= offset <= base + delta:
        return None
    return (position, size, base + delta) if layout.HEADER_SIZE <= size <= end - position else None


def last_offset_at(read: Read, position: int, end: int) -> int:
    """The last offset of the batch that should begin at `position`."""
    return _last_offset(_piece(read, position, end))


def _begins_a_batch_up_to(data: Buffer, offset: int) -> bool:
    """An entry has the last offset of an append and where its first batch begins; Kafka's followers append several."""
    base, length, magic, delta = _HEAD.unpack_from(data)
    if magic == layout.MAGIC_MAX:
        return length >= _LENGTH_MIN and bool(0 <= base <= base + delta <= offset)
    return magic in (0, 1) and length >= _LENGTH_MIN and bool(0 <= base <= offset)


def _last_offset(data: Buffer) -> int:
    base, _, magic, delta = _HEAD.unpack_from(data)
    return int(base + delta if magic == layout.MAGIC_MAX else base)


def _piece(read: Read, position: int, end: int) -> Buffer:
    remains = end - position
    if remains <= layout.MAGIC_OFFSET:
        raise DamagedSegment(f"{remains} bytes are too few for a batch", position)
    size = WALK_BYTES if remains > WALK_BYTES else remains
    data = read(size, position)
    if len(data) < size:
        raise DamagedSegment(f"the file ends {remains - len(data)} bytes early", position + len(data))
    return bytes(data) + _PADDING[: _HEAD.size - layout.MAGIC_OFFSET - 1] if size == remains else data


def _batch_at(data: Buffer, at: int, position: int, end: int) -> Found:
    base, length, magic, delta = _HEAD.unpack_from(data, at)
    size = length + _OVERHEAD
    if length < _LENGTH_MIN or position + at + size > end:
        raise DamagedSegment(f"a batch of {size} bytes cannot be there", position + at)
    return position + at, size, base + delta if magic == layout.MAGIC_MAX else base
