"""The time index: the largest timestamp seen up to some batches, and the last offset of the batch that has it.

    timestamp int64 | relative offset int32       timestamps strictly increasing, offsets not decreasing

An entry (t, o) says that no record up to and with offset o is later than t. It is written beside an entry of the offset
index, if the largest timestamp has grown since; a last one is written when the segment is sealed or closed, so that the
largest timestamp of a segment can be told without reading its log.
"""

from array import array
from bisect import bisect_left, bisect_right
from struct import Struct

from odradek.log.index.sparse_index import CorruptIndex, InvalidOffset, is_increasing, whole_entries
from odradek.records.layout import NO_TIMESTAMP

_ENTRY = Struct(">qi")
ENTRY_SIZE = _ENTRY.size


class TimeIndex:
    __slots__ = ("base_offset", "offsets", "timestamps")

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self.timestamps = array("q")
        self.offsets = array("i")  # relative

    def __len__(self) -> int:
        return len(self.timestamps)

    def __bool__(self) -> bool:
        return True

    @property
    def last_entry(self) -> tuple[int, int]:
        """(timestamp, offset); (-1, base offset) if there is none."""
        if not self.timestamps:
            return NO_TIMESTAMP, self.base_offset
        return self.timestamps[-1], self.base_offset + self.offsets[-1]

    @property
    def entries(self) -> list[tuple[int, int]]:
        return [(at, self.base_offset + offset) for at, offset in zip(self.timestamps, self.offsets, strict=True)]

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Adds an entry if the timestamp is larger than that of the last one."""
        timestamps, relative = self.timestamps, offset - self.base_offset
        if timestamps and relative < self.offsets[-1]:
            raise InvalidOffset(f"offset {offset} follows offset {self.last_entry[1]} in the time index")
        if timestamp > (timestamps[-1] if timestamps else NO_TIMESTAMP):
            timestamps.append(timestamp)
            self.offsets.append(relative)

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """The last entry at or below `timestamp`; (-1, base offset) if there is none."""
        slot = bisect_right(self.timestamps, timestamp) - 1
        if slot < 0:
            return NO_TIMESTAMP, self.base_offset
        return self.timestamps[slot], self.base_offset + self.offsets[slot]

    def two_entries_up_to(self, timestamp: int) -> list[tuple[int, int]]:
        """The last one at or below `timestamp` and the one before it, as far as there are any."""
        end = bisect_right(self.timestamps, timestamp)
        begin = max(0, end - 2)
        times, offsets = self.timestamps[begin:end], self.offsets[begin:end]
        return [(at, self.base_offset + offset) for at, offset in zip(times, offsets, strict=True)]

    def truncate_to(self, offset: int) -> None:
        """Keeps the entries below `offset`."""
        slot = bisect_left(self.offsets, offset - self.base_offset)
        del self.timestamps[slot:]
        del self.offsets[slot:]

    def encode(self, first: int = 0) -> bytes:
        return b"".join(map(_ENTRY.pack, self.timestamps[first:], self.offsets[first:]))

    @classmethod
    def decode(cls, data: bytes, base_offset: int) -> "TimeIndex":
        count = whole_entries(data, ENTRY_SIZE)
        if len(data) == ENTRY_SIZE:
            count = 1  # time 0 of the base offset: nobody reserves a single entry in advance
        index = cls(base_offset)
        for timestamp, offset in _ENTRY.iter_unpack(data[: count * ENTRY_SIZE]):
            index.timestamps.append(timestamp)
            index.offsets.append(offset)
        index._check()
        return index

    def _check(self) -> None:
        if not is_increasing(self.timestamps):
            raise CorruptIndex("the timestamps do not increase")
        if self.offsets and (self.offsets[0] < 0 or list(self.offsets) != sorted(self.offsets)):
            raise CorruptIndex("the offsets decrease")


def last_entry_of(data: bytes, base_offset: int) -> tuple[int, int]:
    """The last entry in the bytes of a file, without a look at the others; (-1, base offset) if there is none."""
    count = 1 if len(data) == ENTRY_SIZE else whole_entries(data, ENTRY_SIZE)
    if not count:
        return NO_TIMESTAMP, base_offset
    timestamp, offset = _ENTRY.unpack_from(data, (count - 1) * ENTRY_SIZE)
    return timestamp, base_offset + offset
