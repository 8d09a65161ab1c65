"""What was acquired and is not handed out yet: the I/O thread puts it in, the thread of the caller takes it out.

taken = buffer.look(500)        # nothing has changed yet: an interrupt loses nothing
deliveries.give(taken.deliveries)
buffer.passed(taken)            # now it is gone from here
"""

from collections import deque
from collections.abc import Callable, Collection
from typing import NamedTuple

from odradek.client.consumer.fetch_errors import RecordDeserializationError
from odradek.client.share_consumer.deliveries import Delivery, failed
from odradek.client.share_consumer.share_chunk import ShareChunk
from odradek.protocol.errors import KafkaError


class Taken(NamedTuple):
    """`passed` are the chunks and how far each was handed out. `error` is raised with what failed noted."""

    deliveries: list[Delivery]
    passed: list[tuple[ShareChunk, int]]
    error: KafkaError | None = None


class ShareBuffer:
    __slots__ = ("_chunks", "_is_strict", "on_data")

    def __init__(self, *, is_strict: bool = False) -> None:
        """`is_strict`: never more records than were asked for. Else a batch that was begun is handed out whole."""
        self._chunks: deque[ShareChunk] = deque()
        self._is_strict = is_strict
        self.on_data: Callable[[], object] | None = None

    @property
    def has_data(self) -> bool:
        return bool(self._chunks)

    # In the I/O thread

    def add(self, chunk: ShareChunk) -> None:
        self._chunks.append(chunk)
        if (on_data := self.on_data) is not None:
            on_data()

    # In the thread of the caller

    def look(self, count_max: int) -> Taken:
        taken = Taken([], [])
        count = 0
        for chunk in list(self._chunks):
            chunk.read()
            count, error = self._look_at(chunk, taken, count, count_max)
            if error is not None:
                return taken if count else taken._replace(error=error)
            if count >= count_max:
                break
        return taken

    def _look_at(self, chunk: ShareChunk, taken: Taken, count: int, count_max: int) -> tuple[int, KafkaError | None]:
        """Takes rows up to the limit or the first that fails, which counts only if it is the first of all."""
        row = chunk.row
        error: KafkaError | None = None
        while row < len(chunk.rows) and (count < count_max or self._is_within_batch(chunk, row)):
            try:
                taken.deliveries.append(chunk.delivery(row))
            except RecordDeserializationError as raised:
                error = raised
                break
            row += 1
            count += 1
        if error is not None and not count:
            taken.deliveries.append(failed(chunk.source, chunk.rows[row][0].offset))
            row += 1
        elif error is None and row == len(chunk.rows):
            error = chunk.error
            if error is None or not count:
                taken.deliveries.extend(chunk.unread)
                taken.passed.append((chunk, -1))
                return count, error
        taken.passed.append((chunk, row))
        return count, error

    def _is_within_batch(self, chunk: ShareChunk, row: int) -> bool:
        return not self._is_strict and row > chunk.row and not chunk.rows[row - 1][2]

    def passed(self, taken: Taken) -> None:
        for chunk, row in taken.passed:
            if row >= 0:
                chunk.row = row
            elif self._chunks and self._chunks[0] is chunk:
                self._chunks.popleft()

    def drop(self, topics: Collection[str] | None = None) -> list[Delivery]:
        """What was acquired of these topics, or of all, and is not wanted any more: to be released."""
        dropped: list[Delivery] = []
        for _ in range(len(self._chunks)):
            chunk = self._chunks.popleft()
            if topics is None or chunk.source.place.topic in topics:
                dropped += chunk.released()
            else:
                self._chunks.append(chunk)
        return dropped
