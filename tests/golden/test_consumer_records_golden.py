"""Batches that Kafka wrote, handed out as the records that Kafka read from them, by either executor."""

from typing import Any

import pytest
from test_kernel_golden import CASES, unhex

from odradek import native
from odradek.client.consumer import pure_records
from odradek.client.consumer.assigned_partition import AssignedPartition
from odradek.client.consumer.chunk import Chunk
from odradek.protocol.topic_partition import TopicPartition
from odradek.records.columns import scan
from odradek.records.layout import CONTROL_MASK

try:
    EXECUTORS: list[Any] = [pure_records, native.load_compiled("odradek.client.consumer._records")]
except ImportError:
    EXECUTORS = [pure_records]


@pytest.mark.parametrize("executor", EXECUTORS, ids=lambda executor: executor.__name__.rpartition(".")[2])
@pytest.mark.parametrize("name", CASES)
def test_what_kafka_wrote_is_handed_out_as_kafka_read_it(name: str, executor: Any) -> None:
    data = bytes.fromhex(CASES[name]["hex"])
    state = AssignedPartition(TopicPartition("t", 0))
    state.seek(0)
    chunk = Chunk(state.place, state.generation, -(2**63), data)
    chunk.scan(checks_crc=True, limit_bytes=1 << 24)
    state.chunks.append(chunk)
    out: list[Any] = []
    assert executor.hand_out(state, chunk, out, chunk.stop)
    is_control = [bool(facts.attributes & CONTROL_MASK) for facts in scan(data, keep_control=True).batches()]
    expected = [
        (record["offset"], record["timestamp"], unhex(record["key"]), unhex(record["value"]))
        for batch, is_hidden in zip(CASES[name]["batches"], is_control, strict=True)
        for record in batch["records"]
        if not is_hidden
    ]
    assert [(each.offset, each.timestamp, each.key, each.value) for each in out] == expected
    assert state.position == chunk.next_offset
