"""The segments of a log in the order of their offsets. There is always one; the last is the active one."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from odradek.broken_rule import require
from odradek.log.segment.segment import Segment


class Segments:
    __slots__ = ("_bases", "_segments")

    def __init__(self, segments: Iterable[Segment] = ()) -> None:
        self._segments = sorted(segments, key=lambda segment: segment.base_offset)
        self._bases = [segment.base_offset for segment in self._segments]

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __contains__(self, base_offset: object) -> bool:
        return base_offset in self._bases

    @property
    def base_offsets(self) -> list[int]:
        return list(self._bases)

    @property
    def first(self) -> Segment:
        return self._segments[0]

    @property
    def last(self) -> Segment:
        return self._segments[-1]

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self._segments)

    def get(self, base_offset: int) -> Segment | None:
        slot = bisect_left(self._bases, base_offset)
        return self._segments[slot] if self._bases[slot : slot + 1] == [base_offset] else None

    def floor(self, offset: int) -> Segment | None:
        """The one that may hold `offset`: the last that begins at or before it."""
        slot = bisect_right(self._bases, offset) - 1
        return self._segments[slot] if slot >= 0 else None

    def higher(self, base_offset: int) -> Segment | None:
        """The one behind the segment that begins at `base_offset`."""
        slot = bisect_right(self._bases, base_offset)
        return self._segments[slot] if slot < len(self._segments) else None

    def from_offset(self, offset: int) -> list[Segment]:
        """From the one that may hold `offset` to the last."""
        slot = max(0, bisect_right(self._bases, offset) - 1)
        return self._segments[slot:]

    def add(self, segment: Segment) -> None:
        slot = bisect_left(self._bases, segment.base_offset)
        require(self._bases[slot : slot + 1] != [segment.base_offset], "a base offset names one segment")
        self._bases.insert(slot, segment.base_offset)
        self._segments.insert(slot, segment)

    def remove(self, segment: Segment) -> None:
        slot = bisect_left(self._bases, segment.base_offset)
        require(self._segments[slot] is segment, "a segment that goes was there")
        del self._bases[slot]
        del self._segments[slot]
