"""Both executors of the accumulator, and what a batch holds."""

import contextlib

import pytest

from odradek import native
from odradek.client.producer import pure_accumulator
from odradek.client.producer.buffer_pool import BufferPool
from odradek.records.record import read_record


def parts_of(pool):
    """How many buffers of the poolable size lie free, and how many bytes beside them."""
    return pool._free, pool._unpooled


def executors():
    found = [pytest.param(pure_accumulator, id="pure")]
    with contextlib.suppress(ImportError):
        found.append(pytest.param(native.load_compiled("odradek.client.producer._accumulator"), id="compiled"))
    return found


def accumulator(executor, *, total_bytes=1 << 20, batch_bytes=1000, request_bytes_max=10_000, partitions=1, **options):
    """With a topic "t", whose partitions are led by node 1."""
    options.setdefault("clock", lambda: 7000)
    made = executor.Accumulator(
        BufferPool(total_bytes, batch_bytes),
        options.pop("batch_class", executor.GatheredBatch),
        batch_bytes=batch_bytes,
        request_bytes_max=request_bytes_max,
        seed=options.pop("seed", 5),
        **options,
    )
    made.set_topic("t", [1] * partitions)
    made.is_plain = True
    return made


def records_of(batch):
    """(timestamp, key, value, headers) of each record."""
    data, at, found = memoryview(bytes(batch.body())), 0, []
    while at < len(data):
        record, at = read_record(data, at, 0, batch.base_timestamp, -1)
        assert record.offset == len(found)
        found.append((record.timestamp, record.key, record.value, record.headers))
    return found
