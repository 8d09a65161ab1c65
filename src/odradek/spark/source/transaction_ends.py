"""Which transactions were aborted, found by their markers: the walk runs ahead of the reader, over headers alone.

The transaction indexes would tell it as well, but not to a second reader: a broker may hold the newest entries in
memory, and while compaction puts a segment in place there is a moment in which its index has not come yet, and no index
means that nothing was aborted. A marker that cannot be found is an UnfitSegment, never a guess.
"""

from odradek.records import control, layout
from odradek.records.batch import batch_size
from odradek.records.columns import AbortedTransaction, Columns, scan
from odradek.spark.source.segment_files import SegmentDir, SegmentFile, UnfitSegment

_PIECE_BYTES = 4 << 20

Marker = tuple[int, bool]  # its offset, and whether it aborts


class TransactionEnds:
    """The markers from the offset `_start` up to `_next_offset`, where the walk goes on."""

    def __init__(self, directory: SegmentDir) -> None:
        self._directory = directory
        self._file: SegmentFile | None = None
        self._position = 0
        self._start = self._next_offset = 0
        self._markers: dict[int, list[Marker]] = {}

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = None

    def aborted_in(self, columns: Columns, file: SegmentFile, position: int, stop: int) -> list[AbortedTransaction]:
        """Of the rows that were read from there on, and whose offsets are below `stop`."""
        batches = [each for each in columns.batches() if each.attributes & layout.TRANSACTIONAL_MASK]
        batches = [each for each in batches if each.base_offset < stop]
        if not batches:
            return []
        self._begin(file, position, batches[0].base_offset)
        return [
            (each.producer_id, each.base_offset)
            for each in batches
            if self._is_aborted(each.producer_id, each.last_offset)
        ]

    def _begin(self, file: SegmentFile, position: int, offset: int) -> None:
        """Goes on where it is, unless the reader has come to another place."""
        if self._file is not None and self._start <= offset < self._next_offset:
            kept = {each: [marker for marker in found if marker[0] > offset] for each, found in self._markers.items()}
            self._markers = {each: found for each, found in kept.items() if found}
            self._start = offset
            return
        self.close()
        self._file = self._directory.open_at(file.base_offset)
        if self._file.identity != file.identity:
            raise UnfitSegment("it was replaced while it was read")
        self._position, self._markers = position, {}
        self._start = self._next_offset = offset

    def _is_aborted(self, producer_id: int, offset: int) -> bool:
        while True:
            for marker_offset, is_abort in self._markers.get(producer_id, ()):
                if marker_offset > offset:
                    return is_abort
            self._walk_on()

    def _walk_on(self) -> None:
        """One piece further, or into the next file, which has to begin where this one has ended."""
        if self._file is None:
            raise UnfitSegment("the end of a transaction was looked for in vain")
        piece = memoryview(self._file.read(_PIECE_BYTES, self._position))
        if piece:
            self._position += self._walk(piece)
            return
        if self._position > self._file.size:
            raise UnfitSegment(f"{self._file.path} ends inside a batch")
        following = self._directory.open_at(self._next_offset)
        if following.identity == self._file.identity:  # an empty one: there is nothing behind it
            following.close()
            raise UnfitSegment("the end of a transaction is not in the log dir")
        self.close()
        self._file, self._position = following, 0

    def _walk(self, piece: memoryview) -> int:
        """How far it came: to the end of the last batch that begins in the piece, and is whole if it has to be."""
        at = 0
        while at + layout.HEADER_SIZE <= len(piece):
            size = batch_size(piece, at) or 0
            base, _, _, magic, _, attributes, delta, *_ = layout.HEADER.unpack_from(piece, at)
            if magic == layout.MAGIC_MAX and attributes & layout.CONTROL_MASK:
                if at + size > len(piece):
                    break
                self._note(piece[at : at + size])
            self._next_offset = base + 1 + (delta if magic == layout.MAGIC_MAX else 0)
            at += size
        if not at:
            raise UnfitSegment("a batch is cut off where the end of a transaction is looked for")
        return at

    def _note(self, batch: memoryview) -> None:
        for record in scan(batch).control_records:
            if record.type in (control.ABORT, control.COMMIT):
                marker = (record.offset, record.type == control.ABORT)
                self._markers.setdefault(record.producer_id, []).append(marker)
