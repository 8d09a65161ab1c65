"""The rows of a pyarrow table as records: columns go straight into whole batches, without an object for a row."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from odradek.client.host.session import closed
from odradek.client.producer.accumulator import NO_PARTITION, Accumulator, Topic
from odradek.client.producer.many_future import Span
from odradek.client.producer.sent_batch import SentBatch
from odradek.client.producer.session import ProducerSession
from odradek.records import layout
from odradek.records.build import build_record_batch

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = frozenset(("value", "key", "headers", "timestamp", "partition"))


def whole_batches(
    session: ProducerSession, topic: str, data: "pa.Table | pa.RecordBatch", partition: int | None
) -> "Iterator[WholeBatch]":
    """The batches of a table for a topic that is known, one after the other: each needs memory, then it is added."""
    known = session.accumulator.topics[topic]
    pieces = data.to_batches() if hasattr(data, "to_batches") else [data]
    for piece in pieces:
        for place, rows in _placed(session.accumulator, known, piece, partition):
            yield from _built(session, known, place, rows)


class WholeBatch:
    """Bytes that are complete but for their numbers."""

    __slots__ = ("_count", "_data", "_place", "_session", "_topic", "size")

    def __init__(self, session: ProducerSession, topic: Topic, place: int, data: memoryview, count: int) -> None:
        self._session = session
        self._topic = topic
        self._place = place
        self._data = data
        self._count = count
        self.size = max(len(data), session.accumulator.batch_bytes)

    def add(self, taken_bytes: int) -> Span:
        """With the memory that was taken for it."""
        accumulator = self._session.accumulator
        where = accumulator.next_sticky(self._topic) if self._place == NO_PARTITION else self._place
        queue = self._topic.queues[where]
        batch = SentBatch(queue, self.size, taken_bytes)
        batch.set_records(bytes(self._data), self._count, *_times(self._data))
        if not accumulator.add_batch(queue, batch):
            raise closed(None)
        return batch, 0, self._count


def check_columns(data: "pa.Table | pa.RecordBatch") -> None:
    names = set(data.schema.names)
    if "value" not in names:
        raise ValueError(f"a table to send has a column value, not only {sorted(names)}")
    if names - COLUMNS:
        raise ValueError(f"unknown columns {sorted(names - COLUMNS)}: records have {sorted(COLUMNS)}")


def _placed(
    accumulator: Accumulator, topic: Topic, piece: "pa.RecordBatch", partition: int | None
) -> "Iterator[tuple[int, pa.RecordBatch]]":
    """The rows by their partition, each in its order; -1: the sticky ones."""
    if partition is not None:
        yield partition, piece
        return
    if "partition" in piece.schema.names:
        places = piece.column("partition").to_pylist()
    elif "key" in piece.schema.names and not accumulator.ignores_keys:
        places = accumulator.places(topic, piece.column("key").to_pylist())
    else:
        yield NO_PARTITION, piece
        return
    yield from _grouped(piece, [NO_PARTITION if place is None else place for place in places])


def _grouped(piece: "pa.RecordBatch", places: list[int]) -> "Iterator[tuple[int, pa.RecordBatch]]":
    chosen = set(places)
    if len(chosen) == 1:
        yield chosen.pop(), piece
        return
    rows: dict[int, list[int]] = {}
    for row, place in enumerate(places):
        rows.setdefault(place, []).append(row)
    for place, numbers in sorted(rows.items()):
        yield place, piece.take(numbers)


def _built(session: ProducerSession, topic: Topic, place: int, rows: "pa.RecordBatch") -> "Iterator[WholeBatch]":
    accumulator = session.accumulator
    built = build_record_batch(
        rows.select([name for name in rows.schema.names if name != "partition"]),
        default_timestamp=accumulator.now_ms(),
        batch_bytes_max=accumulator.batch_bytes,
        request_bytes_max=accumulator.request_bytes_max,
    )
    for batches in built:
        for data, (_, _, _, count) in zip(batches, batches.spans, strict=True):
            yield WholeBatch(session, topic, place, data, count)


def _times(data: memoryview) -> tuple[int, int]:
    (first,) = layout.TIMESTAMP.unpack_from(data, layout.BASE_TIMESTAMP_OFFSET)
    (last,) = layout.TIMESTAMP.unpack_from(data, layout.MAX_TIMESTAMP_OFFSET)
    return first, last
