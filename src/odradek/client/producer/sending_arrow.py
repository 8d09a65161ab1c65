"""The rows of a pyarrow table as records: columns go straight into whole batches, without an object for a row."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from odradek.client.host.session import closed
from odradek.client.producer.accumulator import NO_PARTITION, Topic
from odradek.client.producer.many_future import Span
from odradek.client.producer.sent_batch import SentBatch
from odradek.client.producer.session import ProducerSession
from odradek.records import layout
from odradek.records.arrow import BinaryColumn
from odradek.records.build import build_record_batch

if TYPE_CHECKING:
    import pyarrow as pa

    from odradek.client.producer.sending import Preparing

COLUMNS = frozenset(("value", "key", "headers", "timestamp", "partition"))


def pieces(topic: str | None, data: "pa.Table | pa.RecordBatch") -> "Iterator[tuple[str, pa.RecordBatch]]":
    """The rows by their topic, in an order that keeps that of each topic; without a `topic` the rows name theirs."""
    for piece in data.to_batches() if hasattr(data, "to_batches") else [data]:
        if topic is not None:
            yield topic, piece
            continue
        named = piece.column("topic").dictionary_encode()
        names = named.dictionary.to_pylist()
        for code, rows in _grouped(piece.drop_columns(["topic"]), named.indices):
            yield names[code], rows


def last_partition(piece: "pa.RecordBatch", partition: int | None) -> int | None:
    """The highest that the rows name: the topic has to have it."""
    if partition is not None or "partition" not in piece.schema.names:
        return partition
    from pyarrow import compute

    highest: int | None = compute.max(piece.column("partition")).as_py()
    return highest


def whole_batches(
    session: ProducerSession, preparing: "Preparing", topic: str, piece: "pa.RecordBatch", partition: int | None
) -> "Iterator[WholeBatch]":
    """The batches of rows for a topic that is known, one after the other: each needs memory, then it is added."""
    known = session.accumulator.topics[topic]
    for place, rows in _placed(session, preparing, known, piece, partition):
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
        batch.set_records(self._data, self._count, *_times(self._data))
        if not accumulator.add_batch(queue, batch):
            raise closed(None)
        return batch, 0, self._count


def check_columns(topic: str | None, data: "pa.Table | pa.RecordBatch") -> None:
    """Raises what is wrong with the columns, before anything is sent."""
    known = COLUMNS if topic is not None else COLUMNS | {"topic"}
    names = set(data.schema.names)
    if "value" not in names:
        raise ValueError(f"a table to send has a column value, not only {sorted(names)}")
    if names - known:
        raise ValueError(f"unknown columns {sorted(names - known)}: records have {sorted(known)}")
    if topic is None and "topic" not in names:
        raise ValueError("without a topic the rows have a column topic")
    if topic is None and data.column("topic").null_count:
        raise ValueError(f"{data.column('topic').null_count} rows name no topic: their column topic is null")
    if "partition" in names and len(data):
        _check_partitions(data.column("partition"))


def _check_partitions(column: "pa.Array | pa.ChunkedArray") -> None:
    from pyarrow import compute, types

    if not types.is_integer(column.type) and not types.is_null(column.type):
        raise TypeError(f"partitions are an integer column, not {column.type}")
    lowest = compute.min(column).as_py()
    if lowest is not None and lowest < 0:
        raise ValueError(f"partition {lowest} is less than 0")


def _placed(
    session: ProducerSession, preparing: "Preparing", topic: Topic, piece: "pa.RecordBatch", partition: int | None
) -> "Iterator[tuple[int, pa.RecordBatch]]":
    """The rows by their partition, each in its order; -1: the sticky ones."""
    if partition is not None:
        yield partition, piece
        return
    names = piece.schema.names
    has_keys = "key" in names and not session.accumulator.ignores_keys
    if preparing.partitioner is None and not has_keys and "partition" not in names:
        yield NO_PARTITION, piece
        return
    from pyarrow import compute, int32

    found = None
    if "partition" in names:
        found = piece.column("partition").cast(int32())
    if found is None or found.null_count:
        chosen = _chosen(session, preparing, topic, piece)
        found = chosen if found is None else compute.coalesce(found, chosen)
    yield from _grouped(piece, found)


def _chosen(session: ProducerSession, preparing: "Preparing", topic: Topic, piece: "pa.RecordBatch") -> "pa.Array":
    """What the partitioner makes of each row."""
    import pyarrow as pa

    keys = BinaryColumn.from_pyarrow(piece.column("key")).to_list() if "key" in piece.schema.names else None
    if preparing.partitioner is not None:
        values = BinaryColumn.from_pyarrow(piece.column("value")).to_list()
        places = preparing.places(topic.name, keys or [None] * len(values), values, session)
    elif keys is None or session.accumulator.ignores_keys:
        return pa.nulls(len(piece), pa.int32()).fill_null(NO_PARTITION)
    else:
        places = session.accumulator.places(topic, keys)
    return pa.array(places, pa.int32())


def _grouped(piece: "pa.RecordBatch", codes: "pa.Array") -> "Iterator[tuple[int, pa.RecordBatch]]":
    """The rows of each code side by side: sorted once, which keeps their order, and cut without a copy."""
    from pyarrow import compute

    counts = sorted((each["values"].as_py(), each["counts"].as_py()) for each in compute.value_counts(codes))
    if len(counts) > 1:
        piece = piece.take(compute.array_sort_indices(codes))
    at = 0
    for code, count in counts:
        yield code, piece.slice(at, count)
        at += count


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
