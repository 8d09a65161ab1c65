"""The offset index: the last offset of some batches and where in the segment each of these batches begins.

    relative offset int32 | position int32        both counted from the segment's start, both increasing

An entry carries the *last* offset of its batch. So the entry at or below an offset leads to a batch that ends at or
before it, and a forward walk from there cannot miss; and whoever arrives at a position can check the entry, as the
batch that begins there must end with that very offset.
"""

from array import array
from bisect import bisect_left, bisect_right
from sys import byteorder

from odradek.log.index.sparse_index import CorruptIndex, InvalidOffset, is_increasing, whole_entries

ENTRY_SIZE = 8
RELATIVE_OFFSET_MAX = 0x7FFF_FFFF  # so far from its base may the offsets of a segment go


class OffsetIndex:
    """`offsets` are relative to the base offset; `positions` are in bytes."""

    __slots__ = ("base_offset", "offsets", "positions")

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self.offsets = array("i")
        self.positions = array("i")

    def __len__(self) -> int:
        return len(self.offsets)

    def __bool__(self) -> bool:
        return True  # an index without entries is an index all the same

    @property
    def last_offset(self) -> int:
        """The offset of the last entry; the base offset if there is none."""
        return self.base_offset + self.offsets[-1] if self.offsets else self.base_offset

    @property
    def entries(self) -> list[tuple[int, int]]:
        """(offset, position) of each, offsets absolute."""
        return [(self.base_offset + offset, at) for offset, at in zip(self.offsets, self.positions, strict=True)]

    def append(self, offset: int, position: int) -> None:
        relative = offset - self.base_offset
        if self.offsets and relative <= self.offsets[-1]:
            raise InvalidOffset(f"offset {offset} follows offset {self.last_offset} in the index")
        self.offsets.append(relative)
        self.positions.append(position)

    def lookup(self, offset: int) -> tuple[int, int]:
        """(offset, position) of the last entry at or below `offset`; (base offset, 0) if there is none."""
        slot = bisect_right(self.offsets, offset - self.base_offset) - 1
        if slot < 0:
            return self.base_offset, 0
        return self.base_offset + self.offsets[slot], self.positions[slot]

    def around(self, offset: int) -> tuple[int, int, int]:
        """The last entry at or before an offset, and the position of the entry behind it (-1: there is none)."""
        offsets, positions = self.offsets, self.positions
        behind = bisect_right(offsets, offset - self.base_offset)
        next_position = positions[behind] if behind < len(positions) else -1
        if not behind:
            return self.base_offset, 0, next_position
        return self.base_offset + offsets[behind - 1], positions[behind - 1], next_position

    def upper_bound(self, position: int) -> int | None:
        """The offset of the first entry at or past `position`."""
        slot = bisect_left(self.positions, position)
        return self.base_offset + self.offsets[slot] if slot < len(self.positions) else None

    def anchor(self, position: int) -> tuple[int | None, int, int]:
        """The last entry at or before `position`: its offset, its position, and the least offset that can be there.

        Without an entry it is the start of the segment, of whose batch no last offset is known.
        """
        slot = bisect_right(self.positions, position) - 1
        if slot < 0:
            return None, 0, self.base_offset
        before = self.offsets[slot - 1] + 1 if slot else 0
        return self.base_offset + self.offsets[slot], self.positions[slot], self.base_offset + before

    def truncate_to(self, offset: int) -> None:
        """Keeps the entries below `offset`."""
        slot = bisect_left(self.offsets, offset - self.base_offset)
        del self.offsets[slot:]
        del self.positions[slot:]

    def encode(self, first: int = 0) -> bytes:
        """The bytes of the entries from number `first` on."""
        both = array("i", bytes(ENTRY_SIZE * (len(self.offsets) - first)))
        both[::2] = self.offsets[first:]
        both[1::2] = self.positions[first:]
        if byteorder == "little":
            both.byteswap()
        return both.tobytes()

    @classmethod
    def decode(cls, data: bytes, base_offset: int, log_size: int) -> "OffsetIndex":
        """Checks every entry against the order and the size of the log."""
        count = whole_entries(data, ENTRY_SIZE)
        both = array("i", data[: count * ENTRY_SIZE])
        if byteorder == "little":
            both.byteswap()
        index = cls(base_offset)
        index.offsets = both[::2]
        index.positions = both[1::2]
        if count:
            index._check(log_size)
        return index

    def _check(self, log_size: int) -> None:
        if self.offsets[0] < 0 or not is_increasing(self.offsets):
            raise CorruptIndex("the offsets do not increase")
        if self.positions[0] < 0 or not is_increasing(self.positions):
            raise CorruptIndex("the positions do not increase")
        if self.positions[-1] >= log_size:
            raise CorruptIndex(f"position {self.positions[-1]} is past the end of a log of {log_size} bytes")
