"""A segment file in pieces that begin where a batch begins.

The reader is told after each piece how much of it was whole batches, and goes on from there; a batch that is larger
than a piece gets a piece of its own size. So a scan of a gigabyte costs a megabyte, and never copies a batch.
"""

from odradek.log.failure import LogDamaged, LogDirFailure
from odradek.reactor.ports import DiskFile
from odradek.records import layout

PIECE_BYTES = 1 << 20


class BatchPieces:
    """`next_piece`, then `advance` by what was used of it, until `is_at_end`."""

    __slots__ = ("_file", "_piece_bytes", "end", "position")

    def __init__(self, file: DiskFile, start: int, end: int, piece_bytes: int = PIECE_BYTES) -> None:
        self._file = file
        self._piece_bytes = piece_bytes
        self.position = start
        self.end = end

    @property
    def is_at_end(self) -> bool:
        return self.position >= self.end

    def next_piece(self) -> memoryview:
        size = min(self._piece_bytes, self.end - self.position)
        try:
            data = self._file.pread(size, self.position)
        except OSError as error:
            raise LogDirFailure(f"reading failed: {error}", self._file.path, self.position) from error
        if len(data) < size:
            raise LogDamaged("the file is shorter than it was", self._file.path, self.position + len(data))
        return memoryview(data)

    def advance(self, piece: memoryview, used: int) -> bool:
        """False if what follows is no whole batch, however much of the file is read."""
        self.position += used
        if used or self.is_at_end:
            return True
        if len(piece) < layout.LOG_OVERHEAD:
            return False
        (length,) = layout.LENGTH.unpack_from(piece, layout.LENGTH_OFFSET)
        needed = length + layout.LOG_OVERHEAD
        if needed <= len(piece) or self.position + needed > self.end:
            return False
        self._piece_bytes = needed
        return True
