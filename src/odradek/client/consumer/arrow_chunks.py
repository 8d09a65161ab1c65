"""Fetched chunks as tables of Arrow. Loaded when a consumer asks for one: pyarrow need not be there."""

from array import array
from functools import lru_cache
from typing import TYPE_CHECKING

from odradek.broken_rule import present
from odradek.client.consumer.chunk import Chunk
from odradek.records.arrow import arrow_module

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")


def chunk_batch(chunk: Chunk) -> "pa.RecordBatch":
    """The rows of a scanned chunk that were not handed out yet."""
    arrow = arrow_module()
    found = present(chunk.columns, "the chunk was scanned").to_arrow()
    names = arrow.array([chunk.place.topic])
    topic = arrow.DictionaryArray.from_arrays(
        _repeated(0, found.num_rows), names, safe=False
    )  # safe would look at each
    partition = _repeated(chunk.place.partition, found.num_rows)
    named = {name: found.column(name) for name in COLUMNS[2:]}
    batch = arrow.RecordBatch.from_arrays([topic, partition, *named.values()], schema=schema())
    return batch.slice(chunk.row) if chunk.row else batch


def table_of(batches: "list[pa.RecordBatch]") -> "pa.Table":
    return arrow_module().Table.from_batches(batches, schema=schema())


@lru_cache(maxsize=1)
def schema() -> "pa.Schema":
    arrow = arrow_module()
    header = arrow.struct([("key", arrow.string()), ("value", arrow.binary())])
    kinds = {
        "topic": arrow.dictionary(arrow.int32(), arrow.string()),
        "partition": arrow.int32(),
        "offset": arrow.int64(),
        "timestamp": arrow.timestamp("ms"),
        "key": arrow.binary(),
        "value": arrow.binary(),
        "headers": arrow.list_(header),
    }
    return arrow.schema([(name, kinds[name]) for name in COLUMNS])


def _repeated(number: int, count: int) -> "pa.Array":
    """The same number in each row."""
    arrow = arrow_module()
    return arrow.Array.from_buffers(arrow.int32(), count, [None, arrow.py_buffer(array("i", [number]) * count)], 0)
