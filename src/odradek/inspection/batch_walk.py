"""Walks a file of batches from its first byte, for the tools: any file, whatever has become of it.

The walk reads a piece at a time, so that a segment of a gigabyte costs a megabyte of memory, and believes no length
that leads past the end of the file. It looks at the frame of a batch only; whether the bytes in it are sound is for
the caller to ask. What follows the last whole batch is in `tail` afterwards.
"""

from collections.abc import Iterator

from odradek.protocol import errors
from odradek.reactor.ports import DiskFile
from odradek.records import layout
from odradek.records.batch import Batch, RecordBatch, batch_size
from odradek.records.legacy import LegacyBatch

PIECE_BYTES = 1 << 20

NOTHING = "nothing"
ZEROS = "zeros"  # a preallocated file that was not trimmed, or a page that never reached the disk
PARTIAL = "partial"  # a batch begins and the file ends before it does
CORRUPT = "corrupt"  # no batch can begin like this


class Tail:
    """What follows the last whole batch."""

    __slots__ = ("kind", "position", "reason", "size")

    def __init__(self, kind: str, position: int, size: int, reason: str = "") -> None:
        self.kind = kind
        self.position = position
        self.size = size
        self.reason = reason

    def __repr__(self) -> str:
        return f"Tail({self.kind}, position={self.position}, size={self.size}, {self.reason!r})"

    @property
    def is_damage(self) -> bool:
        return self.kind in (PARTIAL, CORRUPT)


class BatchWalk:
    __slots__ = ("_end", "_file", "_piece", "_start", "size", "tail")

    def __init__(self, file: DiskFile) -> None:
        self._file = file
        self._piece = memoryview(b"")
        self._start = self._end = 0  # where the piece lies in the file
        self.size = file.size()
        self.tail = Tail(NOTHING, 0, self.size)

    def __iter__(self) -> Iterator[tuple[int, Batch]]:
        """Each whole batch and its position; it lives until the next one is asked for."""
        position = 0
        while position < self.size:
            try:
                batch = self._batch_at(position)
            except errors.KafkaError as error:
                self.tail = self._ending(CORRUPT, position, str(error))
                return
            if batch is None:
                self.tail = self._ending(PARTIAL, position, self._cut_off(position))
                return
            yield position, batch
            position += batch.size
        self.tail = Tail(NOTHING, position, 0)

    def _batch_at(self, position: int) -> Batch | None:
        size = batch_size(self._bytes(position, layout.MAGIC_OFFSET + 1), 0)
        if size is None or position + size > self.size:
            return None
        view = self._bytes(position, size)
        if len(view) < size:
            return None  # cut short since the walk began
        return RecordBatch(view) if view[layout.MAGIC_OFFSET] == layout.MAGIC_MAX else LegacyBatch(view)

    def _bytes(self, position: int, size: int) -> memoryview:
        if position + size > self._end:
            self._piece = memoryview(read_fully(self._file, max(size, PIECE_BYTES), position))
            self._start, self._end = position, position + len(self._piece)
        at = position - self._start
        return self._piece[at : at + size]

    def _ending(self, kind: str, position: int, reason: str) -> Tail:
        size = self.size - position
        if self._is_zero(position):
            return Tail(ZEROS, position, size, f"{size} bytes of zeros")
        return Tail(kind, position, size, reason)

    def _is_zero(self, position: int) -> bool:
        while position < self.size:
            piece = self._bytes(position, min(PIECE_BYTES, self.size - position))
            if not piece or bytes(piece).strip(b"\0"):
                return False
            position += len(piece)
        return True

    def _cut_off(self, position: int) -> str:
        remain = self.size - position
        size = batch_size(self._bytes(position, layout.MAGIC_OFFSET + 1), 0)
        if size is None:
            return f"the file ends inside the header of a batch: {remain} bytes remain"
        return f"the file ends inside a batch of {size} bytes: {remain} remain"


def read_fully(file: DiskFile, size: int, position: int) -> bytes:
    """`size` bytes, fewer only at the end of the file: one system call gives at most 2 GB, and may give less."""
    pieces = []
    while size > 0 and (piece := file.pread(size, position)):
        pieces.append(piece)
        size -= len(piece)
        position += len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
