"""What was fetched and is not handed out yet: the I/O thread puts it in, the thread of the caller takes it out.

    records = buffer.take(500)

With something buffered a take asks nobody: it takes no lock, makes no system call and wakes no thread. Only if the
fetcher waits for room, and the take has made some, `on_room` is called, in the caller's thread.

A caller that finds nothing waits like this, so that it cannot miss what comes between:

    buffer.on_data = wake               # called in the I/O thread: release a lock, or `loop.call_soon_threadsafe(...)`
    if not buffer.has_data:
        ...                             # park, with a timeout
    buffer.on_data = None

What is shared are deques, whose single operations are atomic, and words of which each has one writer. `_turn` has the
partitions whose turn it is to be handed out, the I/O thread appends, the caller removes. A partition in it has
`is_queued` set; the caller clears that *before* it looks whether anything is left, so that what comes meanwhile puts
the partition in once more: twice does no harm, not at all would.

An error of a partition is behind what was buffered of it before. The take that reaches it raises it, alone: if that
take has records of other partitions already, the next one does. Then the partition is fetched again from its position.
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broken_rule import present
from odradek.client.consumer.assigned_partition import AssignedPartition
from odradek.client.consumer.chunk import Chunk
from odradek.client.consumer.fetch_errors import CorruptRecords, RecordDeserializationError
from odradek.client.consumer.records import Record, Records, Stretch, build, deliver, hand_out
from odradek.client.offsets import OffsetAndMetadata
from odradek.client.serializers import Deserialize
from odradek.protocol.topic_partition import TopicPartition
from odradek.records.columns import Columns
from odradek.records.compression import LIMIT_BYTES

if TYPE_CHECKING:
    import pyarrow as pa


class FetchedRows(NamedTuple):
    """The rows of one fetch of one partition from `first_row` on; `next_offset` is the position behind them."""

    columns: Columns
    first_row: int
    next_offset: int


class _Taking:
    """What a take has handed out so far. It outlives a take that a signal has interrupted: the next one goes on with
    it, but for what a seek has made pointless.
    """

    __slots__ = ("items", "stretches")

    def __init__(self) -> None:
        self.items: list[Any] = []  # Any: records, or tables of Arrow
        self.stretches: list[tuple[AssignedPartition, Stretch]] = []

    def note(self, state: AssignedPartition, chunk: Chunk, first: int) -> None:
        position = present(state.position, "what is handed out has a position")
        stop = len(self.items)
        stretch = Stretch(state.place, chunk.generation, first, stop, position, state.position_epoch)
        self.stretches.append((state, stretch))

    def next_offsets(self) -> dict[TopicPartition, OffsetAndMetadata]:
        return {
            stretch.place: OffsetAndMetadata(stretch.next_offset, "", stretch.leader_epoch)
            for _, stretch in self.stretches
        }

    def drop_stale(self) -> None:
        kept: list[Any] = []  # Any: likewise
        stretches = []
        for state, stretch in self.stretches:
            if state.generation == stretch.generation:
                first = len(kept)
                kept += self.items[stretch.first : stretch.stop]
                stretches.append((state, stretch._replace(first=first, stop=len(kept))))
        self.items, self.stretches = kept, stretches


class FetchBuffer:
    __slots__ = (
        "_checks_crc",
        "_key_deserializer",
        "_limit_bytes",
        "_refused",
        "_taking_records",
        "_taking_tables",
        "_turn",
        "_value_deserializer",
        "arrow_offsets",
        "on_data",
        "on_room",
        "taken",
        "wants_room",
    )

    def __init__(
        self,
        *,
        checks_crc: bool = True,
        key_deserializer: Deserialize | None = None,
        value_deserializer: Deserialize | None = None,
        limit_bytes: int = LIMIT_BYTES,
    ) -> None:
        """`checks_crc` is check.crcs. `limit_bytes` is the most that the batches of one chunk may decompress to."""
        self._checks_crc = checks_crc
        self._key_deserializer = key_deserializer
        self._value_deserializer = value_deserializer
        self._limit_bytes = limit_bytes
        self._turn: deque[AssignedPartition] = deque()
        self._refused: deque[tuple[AssignedPartition, int]] = deque()  # to be fetched again, and of which generation
        self._taking_records = _Taking()
        self._taking_tables = _Taking()
        self.arrow_offsets: dict[TopicPartition, OffsetAndMetadata] = {}  # of the last table that was taken
        self.on_data: Callable[[], object] | None = None
        self.on_room: Callable[[], object] | None = None
        self.taken: Records | None = None  # by the last take, for a caller that was interrupted on its way back
        self.wants_room = False  # the fetcher's to write

    @property
    def has_data(self) -> bool:
        """A take would return something, or raise; or it finds that what was there has gone."""
        return bool(self._turn)

    # In the I/O thread

    def add(self, state: AssignedPartition, chunk: Chunk) -> None:
        state.received_bytes += chunk.size_bytes
        state.chunks.append(chunk)
        self.queue(state)

    def queue(self, state: AssignedPartition) -> None:
        """Something of this partition can be handed out: it was added, or the partition was resumed."""
        if state.chunks and not state.is_held and not state.is_queued:
            state.is_queued = True
            self._turn.append(state)
        if self._turn and (on_data := self.on_data) is not None:
            on_data()

    def take_refused(self) -> list[tuple[AssignedPartition, int]]:
        """What callers could not read since this was asked last, with the generation of what they had."""
        found = []
        while self._refused:
            found.append(self._refused.popleft())
        return found

    # In the thread of the caller

    def take(self, max_records: int) -> Records:
        """At most so many records, none if there are none. Whatever was wrong with a partition is raised by the take
        that comes to it, when everything before it was handed out.
        """
        taking = self._taking_records
        if taking.stretches:
            taking.drop_stale()
        while len(taking.items) < max_records and (chunk := self._next_chunk(bool(taking.stretches))) is not None:
            if not self._hand_out(self._turn[0], chunk, taking, chunk.row + max_records - len(taking.items)):
                break
        records = Records(taking.items, [stretch for _, stretch in taking.stretches])
        self.taken, self._taking_records = records, _Taking()  # in one step: no signal's handler runs in between
        return records

    def take_arrow(self, max_bytes: int) -> "pa.Table":
        """Chunks as they were fetched, until they are `max_bytes` together; one at least, if there is one.

        Columns topic, partition, offset, timestamp, key, value and headers. Positions move as with `take`; what to
        commit once the table is processed is in `arrow_offsets`. Deserializers have no say in it.
        """
        from odradek.client.consumer.arrow_chunks import chunk_batch, table_of

        taking, size_bytes = self._taking_tables, 0
        if taking.stretches:
            taking.drop_stale()
        while size_bytes < max_bytes and (chunk := self._next_chunk(bool(taking.stretches))) is not None:
            state, first = self._turn[0], len(taking.items)
            batch = [chunk_batch(chunk)] if chunk.row < chunk.stop else []
            if deliver(state, chunk, taking.items, batch, chunk.stop):
                taking.note(state, chunk, first)
                size_bytes += chunk.size_bytes
                self._finish(state, chunk)
        self._taking_tables = _Taking()
        self.arrow_offsets = taking.next_offsets()
        return table_of(taking.items)

    def take_chunk(self) -> FetchedRows | None:
        """The whole chunk whose turn it is, which may have no rows: of markers and aborted records alone the position
        moves. None if there is none.
        """
        while (chunk := self._next_chunk(has_taken=False)) is not None:
            state, first_row = self._turn[0], chunk.row
            if deliver(state, chunk, [], [], chunk.stop):
                self._finish(state, chunk)
                position = present(state.position, "what is handed out has a position")
                return FetchedRows(present(chunk.columns, "the chunk was scanned"), first_row, position)
        return None

    def _next_chunk(self, has_taken: bool) -> Chunk | None:
        """The chunk whose turn it is, scanned; its partition is the first in turn. None if there is none, or if the
        next thing is an error and something was taken before it.
        """
        while self._turn:
            state = self._turn[0]
            state.is_queued = False  # from here on, what is added puts it in turn again
            chunk = state.chunks[0] if state.chunks else None
            if chunk is None or not _is_wanted(state, chunk):
                self._turn.popleft()
                continue
            if not chunk.is_scanned:
                chunk.scan(checks_crc=self._checks_crc, limit_bytes=self._limit_bytes)
            if not chunk.is_refused:
                return chunk
            if has_taken:
                return None
            self._refuse(state, chunk)
        return None

    def _hand_out(self, state: AssignedPartition, chunk: Chunk, taking: _Taking, stop: int) -> bool:
        """False if nothing more is to be handed out before what was is returned."""
        stop, first = min(stop, chunk.stop), len(taking.items)
        if self._key_deserializer is None and self._value_deserializer is None:
            is_done, is_whole = hand_out(state, chunk, taking.items, stop), True
        else:
            records, error = self._deserialized(chunk, stop)
            if error is not None and not records:
                if taking.stretches:
                    return False
                raise error
            is_whole = error is None
            is_done = deliver(state, chunk, taking.items, records, chunk.row + len(records) if error else stop)
        if is_done:
            taking.note(state, chunk, first)
            self._finish(state, chunk)
        return is_whole

    def _deserialized(self, chunk: Chunk, stop: int) -> tuple[list[Record], RecordDeserializationError | None]:
        """The records, or those before the first that could not be deserialized, and why."""
        records = build(chunk, stop)
        of_key, of_value = self._key_deserializer, self._value_deserializer
        for row, record in enumerate(records):
            topic, headers, key, value = record.topic, record.headers, record.key, record.value
            try:
                records[row] = record.deserialized(
                    key if of_key is None else of_key(topic, headers, key),
                    value if of_value is None else of_value(topic, headers, value),
                )
            except Exception as error:  # noqa: BLE001 - the program's own function
                return records[:row], RecordDeserializationError(chunk.place, record.offset, key, value, error)
        return records, None

    def _finish(self, state: AssignedPartition, chunk: Chunk) -> None:
        """If a whole chunk was handed out, the others have their turn."""
        if chunk.row < chunk.stop or chunk.error is not None:
            return
        if state.chunks:
            state.is_queued = True
            self._turn.append(state)
        self._turn.popleft()
        if self.wants_room and (on_room := self.on_room) is not None:
            on_room()

    def _refuse(self, state: AssignedPartition, chunk: Chunk) -> None:
        """Raises the error of a chunk. What was fetched behind it is of no use: the position stands before the
        error.
        """
        error = present(chunk.error, "what is refused has a reason")
        state.failed_generation = chunk.generation
        state.taken_bytes += chunk.size_bytes
        state.chunks.popleft()
        self._refused.append((state, chunk.generation))
        if self.on_room is not None:
            self.on_room()
        if chunk.size_bytes:
            raise CorruptRecords(chunk.place, chunk.next_offset, error)
        raise error


def _is_wanted(state: AssignedPartition, chunk: Chunk) -> bool:
    return not state.is_held and state.generation == chunk.generation != state.failed_generation
