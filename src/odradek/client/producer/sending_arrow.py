"""The rows of a pyarrow table as records: columns go straight into whole batches, without an object for a row."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from odradek.client.host.clocks import Deadline
from odradek.client.host.session import closed
from odradek.client.producer.accumulator import NO_PARTITION, Topic
from odradek.client.producer.many_future import ManyFuture, Span
from odradek.client.producer.sent_batch import SentBatch
from odradek.records import layout
from odradek.records.build import build_record_batch

if TYPE_CHECKING:
    import pyarrow as pa

    from odradek.client.producer.kafka_producer import KafkaProducer

COLUMNS = frozenset(("value", "key", "headers", "timestamp", "partition"))


def send_arrow(
    producer: "KafkaProducer[Any, Any]", topic: str, data: "pa.Table | pa.RecordBatch", partition: int | None
) -> ManyFuture:
    _check_columns(data)
    deadline = producer.deadline()
    session = producer.session_with(topic, partition, deadline)
    known = session.accumulator.topics[topic]
    pieces = data.to_batches() if hasattr(data, "to_batches") else [data]
    spans: list[Span] = []
    for piece in pieces:
        for place, rows in _placed(session.accumulator, known, piece, partition):
            _send_rows(producer, known, place, rows, deadline, spans)
    return ManyFuture(spans)


def _check_columns(data: Any) -> None:
    names = set(data.schema.names)
    if "value" not in names:
        raise ValueError(f"a table to send has a column value, not only {sorted(names)}")
    if names - COLUMNS:
        raise ValueError(f"unknown columns {sorted(names - COLUMNS)}: records have {sorted(COLUMNS)}")


def _placed(accumulator: Any, topic: Topic, piece: Any, partition: int | None) -> "Iterator[tuple[int, Any]]":
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


def _grouped(piece: Any, places: list[int]) -> "Iterator[tuple[int, Any]]":
    chosen = set(places)
    if len(chosen) == 1:
        yield chosen.pop(), piece
        return
    rows: dict[int, list[int]] = {}
    for row, place in enumerate(places):
        rows.setdefault(place, []).append(row)
    for place, numbers in sorted(rows.items()):
        yield place, piece.take(numbers)


def _send_rows(
    producer: "KafkaProducer[Any, Any]", topic: Topic, place: int, rows: Any, deadline: Deadline, spans: list[Span]
) -> None:
    session = producer.session
    accumulator = session.accumulator
    built = build_record_batch(
        rows.select([name for name in rows.schema.names if name != "partition"]),
        default_timestamp=accumulator.now_ms(),
        batch_bytes_max=accumulator.batch_bytes,
        request_bytes_max=accumulator.request_bytes_max,
    )
    for batches in built:
        for data, (_, _, _, count) in zip(batches, batches.spans, strict=True):
            where = accumulator.next_sticky(topic) if place == NO_PARTITION else place
            size = max(len(data), accumulator.batch_bytes)
            taken = size if session.pool.take(size) else producer.memory(size, deadline)
            batch = SentBatch(topic.queues[where], size, taken)
            first, last = _times(data)
            batch.set_records(bytes(data), count, first, last)
            if not accumulator.add_batch(topic.queues[where], batch):
                raise closed(None)
            spans.append((batch, 0, count))


def _times(data: memoryview) -> tuple[int, int]:
    (first,) = layout.TIMESTAMP.unpack_from(data, layout.BASE_TIMESTAMP_OFFSET)
    (last,) = layout.TIMESTAMP.unpack_from(data, layout.MAX_TIMESTAMP_OFFSET)
    return first, last
