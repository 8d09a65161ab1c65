"""Records are built, handed out and walked over alike by both executors, for any bytes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek import native
from odradek.client.consumer import pure_records as pure
from odradek.client.consumer.assigned_partition import AssignedPartition
from odradek.client.consumer.chunk import Chunk
from odradek.protocol.topic_partition import TopicPartition
from odradek.records.legacy import message_set
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch

try:
    compiled: Any = native.load_compiled("odradek.client.consumer._records")
except ImportError as error:
    pytest.skip(f"the compiled kernel is missing: {native.why_pure() or error}", allow_module_level=True)

PLACE = TopicPartition("t", 3)
STRINGS = st.none() | st.binary(max_size=40)
HEADERS = st.lists(st.tuples(st.text(max_size=5), STRINGS), max_size=3)


@st.composite
def sections(draw: st.DrawFn) -> bytes:
    """Batches of all formats, one behind the other."""
    offset, found = draw(st.integers(0, 1 << 40)), b""
    for _ in range(draw(st.integers(1, 5))):
        count = draw(st.integers(1, 5))
        magic = draw(st.sampled_from([2, 2, 2, 1, 0]))
        records = [
            Record(offset + row, draw(STRINGS), draw(STRINGS), draw(st.integers(0, 1 << 42)), draw(HEADERS))
            for row in range(count)
        ]
        codec = draw(st.sampled_from([0, 0, 1]))
        if magic == 2:
            append_time = draw(st.none() | st.integers(0, 1 << 42))
            fields = BatchFields(partition_leader_epoch=draw(st.integers(-1, 9)), log_append_time=append_time)
            found += record_batch(records, fields, codec=codec)
        else:
            found += message_set(
                [Record(each.offset, each.key, each.value, each.timestamp) for each in records], magic, codec=codec
            )
        offset += count + draw(st.integers(0, 3))
    return found


def handed_out(executor: Any, data: bytes, first_offset: int, steps: list[int]) -> Any:
    state = AssignedPartition(PLACE)
    state.seek(0)
    chunk = Chunk(PLACE, state.generation, first_offset, data)
    chunk.scan(checks_crc=True, limit_bytes=1 << 20)
    state.chunks.append(chunk)
    out: list[Any] = []
    told = []
    for step in [*steps, chunk.stop]:
        told.append(executor.hand_out(state, chunk, out, min(chunk.stop, chunk.row + step)))
        told += [state.position, state.position_epoch, chunk.row, len(state.chunks)]
    return [record._fields() for record in out], told


@given(sections(), st.integers(0, 12), st.lists(st.integers(1, 4), max_size=4))
def test_records_are_handed_out_alike(data: bytes, skipped: int, steps: list[int]) -> None:
    first_offset = int.from_bytes(data[:8], "big") + skipped
    assert handed_out(pure, data, first_offset, steps) == handed_out(compiled, data, first_offset, steps)


@given(st.binary(max_size=200) | sections().flatmap(lambda data: st.integers(0, len(data)).map(lambda end: data[:end])))
def test_any_bytes_are_walked_over_alike(data: bytes) -> None:
    assert pure.walk(data) == compiled.walk(data)
