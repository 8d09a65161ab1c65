"""Fetched rows as Arrow record batches with exactly the columns and types that Spark asked for.

Keys, values and headers are gathered by the compiled kernel into Arrow's layout, offsets and times are there already:
no Python object is made for a record. Columns that nobody asked for are not gathered.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import compute

from odradek.protocol.topic_partition import TopicPartition
from odradek.records import layout
from odradek.records.columns import Columns
from odradek.spark.errors import SourceError, about
from odradek.spark.source.schema import arrow_schema

if TYPE_CHECKING:
    from odradek.client.consumer.fetch_buffer import FetchedRows

ROWS_MAX = 10_000  # of one record batch: fewer cost more to hand over, more gain nothing
BYTES_MAX = 8 << 20

CREATE_TIME, LOG_APPEND_TIME, NO_TIME = 0, 1, -1


def record_batches(
    place: TopicPartition, fetched: "FetchedRows", stop: int, columns: tuple[str, ...]
) -> Iterator[pa.RecordBatch]:
    """The rows of a fetch below the offset `stop`."""
    found = fetched.columns
    count = bisect_left(found.offsets(), stop)
    if count <= fetched.first_row:
        return
    arrays = [_MAKERS[name](found, place) for name in columns]
    whole = pa.RecordBatch.from_arrays(arrays, schema=_schema(columns))
    size = max(1, min(ROWS_MAX, len(found) * BYTES_MAX // max(1, whole.nbytes)))
    for first in range(fetched.first_row, count, size):
        yield whole.slice(first, min(size, count - first))


@cache
def _schema(columns: tuple[str, ...]) -> pa.Schema:
    return arrow_schema(columns)


def _topic(found: Columns, place: TopicPartition) -> pa.Array:
    return pa.repeat(pa.scalar(place.topic, pa.string()), len(found))


def _partition(found: Columns, place: TopicPartition) -> pa.Array:
    return pa.repeat(pa.scalar(place.partition, pa.int32()), len(found))


def _offset(found: Columns, _: TopicPartition) -> pa.Array:
    return _int64(found.offsets())


def _timestamp(found: Columns, place: TopicPartition) -> pa.Array:
    """Milliseconds become microseconds; a record without a time has -1 ms, as in Spark's connector."""
    times = _int64(found.timestamps()).view(pa.timestamp("ms", tz="UTC"))
    try:
        return times.cast(pa.timestamp("us", tz="UTC"))
    except pa.ArrowInvalid:
        raise SourceError(
            f"{about(place)}: a record at or after offset {found.offsets()[0]} has a time that Spark cannot hold; "
            "leave the column out with .schema(...)"
        ) from None


def _timestamp_type(found: Columns, _: TopicPartition) -> pa.Array:
    batches, times = found.batches(), found.timestamps()
    kinds = {each: _kind(each.attributes, each.leader_epoch, times[each.first_row]) for each in batches if len(times)}
    if len(set(kinds.values())) == 1:
        return pa.repeat(pa.scalar(next(iter(kinds.values())), pa.int32()), len(found))
    ends = [each.first_row for each in batches[1:]] + [len(found)]
    numbers = array("i")
    for each, end in zip(batches, ends, strict=True):
        numbers.extend(array("i", [kinds[each]]) * (end - each.first_row))
    return pa.Array.from_buffers(pa.int32(), len(numbers), [None, pa.py_buffer(numbers)], 0)


def _kind(attributes: int, leader_epoch: int, first_ms: int) -> int:
    if attributes & layout.TIMESTAMP_TYPE_MASK:
        return LOG_APPEND_TIME
    is_magic_0 = leader_epoch == layout.NO_LEADER_EPOCH and first_ms == layout.NO_TIMESTAMP
    return NO_TIME if is_magic_0 else CREATE_TIME


def _headers(found: Columns, _: TopicPartition) -> pa.Array:
    """Null for a record that has none, as in Spark's connector."""
    kind = arrow_schema(("headers",)).field("headers").type
    if not found.header_count:
        return pa.nulls(len(found), kind)
    lists = found.headers().to_pyarrow()
    has_some = compute.not_equal(compute.list_value_length(lists), 0)
    return pa.Array.from_buffers(kind, len(lists), [has_some.buffers()[1], lists.buffers()[1]], children=[lists.values])


def _int64(numbers: "array[int]") -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)], 0)


_MAKERS: dict[str, Callable[[Columns, TopicPartition], pa.Array]] = {
    "key": lambda found, _: found.keys().to_pyarrow(),
    "value": lambda found, _: found.values().to_pyarrow(),
    "topic": _topic,
    "partition": _partition,
    "offset": _offset,
    "timestamp": _timestamp,
    "timestampType": _timestamp_type,
    "headers": _headers,
}
