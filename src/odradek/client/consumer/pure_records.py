"""A record as a consumer gets it, and how a chunk of fetched records is handed out; the twin of `_records.pyx`.

Handing out is one step: the records are built, and then, with nothing in between that could let another thread or a
signal's handler run, the position moves over them and the chunk forgets them. The compiled executor does it in one
call; this twin has the same order, and a signal can strike within it.
"""

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from odradek.records import layout
from odradek.records.record import signed_64
from odradek.records.rows import FACTS_PER_BATCH, Buffer
from odradek.records.varint import read_varint

if TYPE_CHECKING:
    from odradek.client.consumer.assigned_partition import AssignedPartition
    from odradek.client.consumer.chunk import Chunk

K = TypeVar("K")
V = TypeVar("V")

Headers = tuple[tuple[str, bytes | None], ...]

NO_TIMESTAMP_TYPE, CREATE_TIME, LOG_APPEND_TIME = (
    layout.NO_TIMESTAMP_TYPE,
    layout.CREATE_TIME,
    layout.LOG_APPEND_TIME,
)


class ConsumerRecord(Generic[K, V]):
    """A record that was read. `headers` are pairs of a name and bytes; sizes are -1 for what is null; `leader_epoch` is
    -1 if the broker told none.
    """

    __slots__ = (
        "headers",
        "key",
        "leader_epoch",
        "offset",
        "partition",
        "serialized_key_size",
        "serialized_value_size",
        "timestamp",
        "timestamp_type",
        "topic",
        "value",
    )

    def __init__(
        self,
        topic: str,
        partition: int,
        offset: int,
        *,
        timestamp: int = -1,
        timestamp_type: int = NO_TIMESTAMP_TYPE,
        key: K | None = None,
        value: V | None = None,
        headers: Iterable[tuple[str, bytes | None]] = (),
        leader_epoch: int = -1,
        serialized_key_size: int = -1,
        serialized_value_size: int = -1,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
        self.timestamp_type = timestamp_type
        self.key = key
        self.value = value
        self.headers: Headers = tuple(headers)
        self.leader_epoch = leader_epoch
        self.serialized_key_size = serialized_key_size
        self.serialized_value_size = serialized_value_size

    def deserialized(self, key: Any, value: Any) -> "ConsumerRecord[Any, Any]":
        """The record with what the deserializers made in the place of the bytes. Any: whatever that is."""
        self.key = key
        self.value = value
        return self

    def _fields(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in FIELDS)

    def __eq__(self, other: object) -> bool:
        return self._fields() == other._fields() if isinstance(other, ConsumerRecord) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.topic, self.partition, self.offset))

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in zip(FIELDS, self._fields(), strict=True))
        return f"ConsumerRecord({told})"

    def __reduce__(self) -> tuple[object, ...]:
        from odradek.client.consumer.records import restored

        return restored, self._fields()


FIELDS = (
    "topic",
    "partition",
    "offset",
    "timestamp",
    "timestamp_type",
    "key",
    "value",
    "headers",
    "leader_epoch",
    "serialized_key_size",
    "serialized_value_size",
)


def build(chunk: "Chunk", stop: int) -> list[ConsumerRecord[bytes, bytes]]:
    """The records of a scanned chunk from its cursor on, up to row `stop`."""
    rows, at = chunk.rows, chunk.row
    topic, partition = chunk.place
    facts = rows.batch_facts
    batch = _batch_of(facts, at)
    built = []
    for source, first, behind in chunk.segments:
        view = memoryview(source)
        for row in range(max(at, first), min(stop, behind)):
            while batch + FACTS_PER_BATCH < len(facts) and facts[batch + FACTS_PER_BATCH] <= row:
                batch += FACTS_PER_BATCH
            record: ConsumerRecord[bytes, bytes] = ConsumerRecord(topic, partition, rows.offsets[row])
            timestamp = record.timestamp = rows.timestamps[row]
            if timestamp != layout.NO_TIMESTAMP:
                is_append_time = facts[batch + 6] & layout.TIMESTAMP_TYPE_MASK
                record.timestamp_type = LOG_APPEND_TIME if is_append_time else CREATE_TIME
            record.leader_epoch = facts[batch + 3]
            record.serialized_key_size = rows.key_lengths[row]
            record.serialized_value_size = rows.value_lengths[row]
            record.key = _cut(view, rows.key_positions[row], rows.key_lengths[row])
            record.value = _cut(view, rows.value_positions[row], rows.value_lengths[row])
            if rows.header_count:
                record.headers = _headers(view, rows.value_positions[row] + max(0, rows.value_lengths[row]))
            built.append(record)
    return built


def hand_out(state: "AssignedPartition", chunk: "Chunk", out: "list[ConsumerRecord[bytes, bytes]]", stop: int) -> bool:
    """Builds the records up to row `stop` and has them handed out."""
    return deliver(state, chunk, out, build(chunk, stop), stop)


def deliver(
    state: "AssignedPartition",
    chunk: "Chunk",
    out: "list[ConsumerRecord[K, V]]",
    records: "list[ConsumerRecord[K, V]]",
    stop: int,
) -> bool:
    """Appends the records to `out` and moves the position over them. False, and nothing has happened, if they are not
    to be handed out any more: the position has changed meanwhile, or the partition is paused or about to be revoked.
    """
    before = len(out)
    out.extend(records)
    if _commit(state, chunk, stop, *_position_after(chunk, stop)):
        return True
    del out[before:]
    return False


def _commit(state: "AssignedPartition", chunk: "Chunk", stop: int, position: int, epoch: int) -> bool:
    """Whether it is still to be handed out; then the position is moved.

    From the first look to the last change there is no call and no jump back, where alone Python lets another thread go
    on: keep it so.
    """
    chunks, generation = state.chunks, chunk.generation
    if (
        state.is_held
        or generation != state.generation
        or generation == state.failed_generation
        or not chunks
        or chunks[0] is not chunk
    ):
        return False
    state.position = position
    state.position_epoch = epoch
    chunk.row = stop
    if stop == chunk.stop and chunk.error is None:
        chunks.popleft()
        state.taken_bytes += chunk.size_bytes
    return True


def _position_after(chunk: "Chunk", stop: int) -> tuple[int, int]:
    """Position and epoch when everything up to row `stop` was handed out."""
    if stop >= chunk.stop:
        return chunk.next_offset, chunk.leader_epoch
    facts = chunk.rows.batch_facts
    if stop < 1:
        raise IndexError(f"there is no row before {stop}")
    return chunk.rows.offsets[stop - 1] + 1, facts[_batch_of(facts, stop - 1) + 3]


def walk(data: Buffer) -> tuple[int, int, int]:
    """Of a buffer of batches: the offset behind the last whole one, its leader epoch, and how many bytes are whole. An
    offset and an epoch of -1 if none is.
    """
    view = memoryview(data).cast("B")
    at, next_offset, epoch = 0, -1, -1
    while len(view) - at > layout.MAGIC_OFFSET:
        size = int.from_bytes(view[at + 8 : at + 12], "big", signed=True) + layout.LOG_OVERHEAD
        if size <= layout.MAGIC_OFFSET or size > len(view) - at:
            break
        is_legacy = view[at + layout.MAGIC_OFFSET] < layout.MAGIC_MAX
        if size < layout.HEADER_SIZE and not is_legacy:
            break
        next_offset = int.from_bytes(view[at : at + 8], "big", signed=True) + 1
        epoch = -1
        if not is_legacy:
            next_offset += int.from_bytes(view[at + 23 : at + 27], "big", signed=True)
            epoch = int.from_bytes(view[at + 12 : at + 16], "big", signed=True)
        next_offset = signed_64(next_offset)
        at += size
    return next_offset, epoch, at


def _batch_of(facts: "array[int]", row: int) -> int:
    """Where the facts of the batch that holds the row begin: the last that begins at or before it."""
    low, high = 0, len(facts) // FACTS_PER_BATCH
    while high - low > 1:
        middle = (low + high) // 2
        if facts[middle * FACTS_PER_BATCH] <= row:
            low = middle
        else:
            high = middle
    return low * FACTS_PER_BATCH


def _cut(view: memoryview, position: int, length: int) -> bytes | None:
    return None if length < 0 else bytes(view[position : position + length])


def _headers(view: memoryview, at: int) -> Headers:
    end = len(view)
    count, at = read_varint(view, at, end)
    found = []
    for _ in range(count):
        length, at = read_varint(view, at, end)
        name = str(view[at : at + length], "utf-8", "replace")
        length, at = read_varint(view, at + length, end)
        found.append((name, _cut(view, at, length)))
        at += max(0, length)
    return tuple(found)
