"""Rows of a partition from the closed segments of a log dir, beside the broker that works on them.

What makes it safe is one fact: a file whose name says B and whose last batch ends before offset E holds everything that
the log has from B up to E. So the reader believes a file for what it holds, and nothing else: no list of names, no
index. Where a file ends, the next one has to begin with exactly that offset; where none does (compaction has emptied
the end of a segment, a file has gone, was replaced, is damaged or cut short), there is nothing to hand out, the caller
asks the broker, and may come back behind it.
"""

from odradek.client.consumer.fetch_buffer import FetchedRows
from odradek.protocol.errors import KafkaError
from odradek.records import layout
from odradek.records.batch import batch_size
from odradek.records.columns import Columns, scan
from odradek.spark.source.segment_files import SegmentDir, SegmentFile, UnfitSegment, tell_once
from odradek.spark.source.transaction_ends import TransactionEnds

_PIECE_BYTES = 4 << 20  # as much as a fetch brings


class SegmentReading:
    def __init__(self, directory: SegmentDir, *, is_read_committed: bool) -> None:
        self._directory = directory
        self._ends = TransactionEnds(directory) if is_read_committed else None
        self._file: SegmentFile | None = None
        self._position = 0  # in the file
        self._buffer = memoryview(bytearray(_PIECE_BYTES))
        self._done: set[tuple[int, int]] = set()  # files that have been read, or cannot be

    def close(self) -> None:
        self._close_file()
        if self._ends is not None:
            self._ends.close()

    def fetched(self, offset: int, stop: int) -> FetchedRows | None:
        """The next rows from this offset on, which live until the next are asked for; None if it is the broker's turn.

        The buffer is used again: memory that is new to the process costs as much as the reading.
        """
        try:
            while self._file is not None or self._open(offset):
                found = self._next_rows(offset, stop)
                if found is not None:
                    return found
                self._close_file()
        except FileNotFoundError:
            self._close_file()  # deleted or compacted at this moment
        except (OSError, KafkaError, UnfitSegment) as error:
            self._refuse(error)
        return None

    def broker_until(self, offset: int, stop: int) -> int:
        """How far the broker is to be asked before there may be a segment again."""
        try:
            following = self._directory.next_closed(offset)
        except OSError:
            following = None
        return stop if following is None else min(following, stop)

    def _open(self, offset: int) -> bool:
        file = self._directory.open_closed(offset)
        if file is None:
            return False
        if file.identity in self._done:
            file.close()
            return False
        self._file = file
        self._position = self._directory.position_of(file, offset)
        return True

    def _close_file(self) -> None:
        if self._file is not None:
            self._done.add(self._file.identity)
            self._file.close()
        self._file = None

    def _refuse(self, error: Exception) -> None:
        name = self._directory.path if self._file is None else self._file.path
        tell_once(f"odradek.log.dirs: {name} cannot be read from byte {self._position} ({error}): the broker is asked")
        self._close_file()

    def _next_rows(self, offset: int, stop: int) -> FetchedRows | None:
        """None at the end of the file. What has no row in it, behind the offset, only moves the position."""
        while self._file is not None and self._position < self._file.size:
            columns = self._scanned(self._file, offset, stop)
            self._position += columns.end_position
            if columns.next_offset is not None and columns.next_offset > offset:
                return FetchedRows(columns, 0, columns.next_offset)
        return None

    def _scanned(self, file: SegmentFile, offset: int, stop: int) -> Columns:
        piece = self._piece(file)
        columns = scan(piece, from_offset=offset, keep_good=True)
        if columns.error is not None and not columns.end_position:
            raise columns.error
        if file.end_offset is not None and (columns.next_offset or 0) > file.end_offset:
            raise UnfitSegment(f"it goes on to offset {columns.next_offset}, the next one begins at {file.end_offset}")
        if self._ends is None or not any(each & layout.TRANSACTIONAL_MASK for each in columns.batch_attributes()):
            return columns
        aborted = self._ends.aborted_in(columns, file, self._position, stop)
        if not file.is_in_place():  # then compaction may have taken a marker of what is still in this file
            raise UnfitSegment("it was replaced while it was read")
        return scan(piece, from_offset=offset, keep_good=True, aborted=aborted) if aborted else columns

    def _piece(self, file: SegmentFile) -> memoryview:
        """With one whole batch at least."""
        piece = file.read_into(self._buffer, self._position)
        size = batch_size(piece, 0)
        if size is None or self._position + size > file.size:
            raise UnfitSegment("it ends inside a batch")
        return piece if size <= len(piece) else memoryview(file.read(size, self._position))
