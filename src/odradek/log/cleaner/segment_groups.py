"""Which neighbouring segments compaction writes into one.

Segments shrink as they are cleaned. Neighbours are joined as long as what they hold now fits one segment: its bytes,
both of its indexes, and its offsets, which an index counts in 31 bits from the first.
"""

from collections.abc import Sequence

from odradek.log.index.offset_index import RELATIVE_OFFSET_MAX


class SegmentToClean:
    """A sealed segment: its first offset, and the sizes of its files without what was preallocated."""

    __slots__ = ("base_offset", "last_modified_ms", "offset_index_bytes", "size_bytes", "time_index_bytes")

    def __init__(
        self,
        base_offset: int,
        size_bytes: int,
        offset_index_bytes: int = 0,
        time_index_bytes: int = 0,
        last_modified_ms: int = 0,
    ) -> None:
        self.base_offset = base_offset
        self.size_bytes = size_bytes
        self.offset_index_bytes = offset_index_bytes
        self.time_index_bytes = time_index_bytes
        self.last_modified_ms = last_modified_ms

    def __repr__(self) -> str:
        return f"SegmentToClean({self.base_offset}, {self.size_bytes} bytes)"


def group_segments(
    segments: Sequence[SegmentToClean], segment_bytes: int, index_bytes_max: int, first_uncleanable_offset: int
) -> list[list[SegmentToClean]]:
    groups: list[_Group] = []
    ends = [segment.base_offset for segment in segments] + [first_uncleanable_offset]
    for segment, end_offset in zip(segments, ends[1:], strict=True):
        if not groups or not groups[-1].takes(segment, end_offset, segment_bytes, index_bytes_max):
            groups.append(_Group(segment.base_offset))
        groups[-1].add(segment)
    return [group.segments for group in groups]


class _Group:
    __slots__ = ("_base_offset", "_offset_index_bytes", "_size_bytes", "_time_index_bytes", "segments")

    def __init__(self, base_offset: int) -> None:
        self._base_offset = base_offset
        self._size_bytes = 0
        self._offset_index_bytes = 0
        self._time_index_bytes = 0
        self.segments: list[SegmentToClean] = []

    def takes(self, segment: SegmentToClean, end_offset: int, segment_bytes: int, index_bytes_max: int) -> bool:
        if self._size_bytes + segment.size_bytes > segment_bytes:
            return False
        if self._offset_index_bytes + segment.offset_index_bytes > index_bytes_max:
            return False
        if self._time_index_bytes + segment.time_index_bytes > index_bytes_max:
            return False
        # An empty segment fits whatever its offsets: else one would be left over for every 2**31 offsets.
        return segment.size_bytes == 0 or end_offset - 1 - self._base_offset <= RELATIVE_OFFSET_MAX

    def add(self, segment: SegmentToClean) -> None:
        self.segments.append(segment)
        self._size_bytes += segment.size_bytes
        self._offset_index_bytes += segment.offset_index_bytes
        self._time_index_bytes += segment.time_index_bytes
