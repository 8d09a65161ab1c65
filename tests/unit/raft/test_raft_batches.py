"""Batches of the metadata log: long ones go through the kernel, and are the same to the byte."""

import pytest

from odradek.protocol.declare import Uuid
from odradek.protocol.frames import METADATA
from odradek.protocol.messages.metadata_cluster import NoOpRecord
from odradek.protocol.messages.metadata_topics import PartitionRecord
from odradek.raft import batches
from odradek.raft.batches import is_no_op, messages_of
from odradek.records.metadata_log import control_batch, record_batches, values_batch

LONG = batches.MANY_RECORDS + 40


def data_batch(records, base_offset, epoch, now_ms):
    return values_batch([METADATA.encode(*record) for record in records], base_offset, epoch, now_ms)


def records(count):
    return [
        (PartitionRecord(partition_id=number, topic_id=Uuid(bytes(16)), replicas=[1], isr=[1], leader=1), 1)
        for number in range(count)
    ]


def test_a_long_batch_has_the_bytes_of_one_that_is_written_record_by_record(monkeypatch):
    built = data_batch(records(LONG), 1234, 7, 1_700_000_000_000)
    monkeypatch.setattr(batches, "MANY_RECORDS", LONG + 1)
    assert built == data_batch(records(LONG), 1234, 7, 1_700_000_000_000)


@pytest.mark.parametrize("count", [3, LONG])
def test_what_is_read_begins_at_the_offset(count):
    (batch,) = record_batches(data_batch(records(count), 100, 7, 1_700_000_000_000))
    assert [each.partition_id for each in messages_of(batch)] == list(range(count))
    assert [each.partition_id for each in messages_of(batch, 102)] == list(range(2, count))
    assert batch.partition_leader_epoch == 7


@pytest.mark.parametrize(
    "built, expected",
    [
        (data_batch([(NoOpRecord(), 0)], 5, 7, 1_700_000_000_000), True),
        (data_batch([(NoOpRecord(), 0)] * 2, 5, 7, 1_700_000_000_000), False),
        (data_batch(records(1), 5, 7, 1_700_000_000_000), False),
        (control_batch([(2, b"\x00\x00")], 5, 7, 1_700_000_000_000), False),
    ],
    ids=["one", "two", "another", "control"],
)
def test_a_batch_with_nothing_but_a_no_op_is_told_by_its_bytes(built, expected):
    (batch,) = record_batches(built)
    assert is_no_op(batch) == expected
    if expected:
        assert messages_of(batch) == [NoOpRecord()]
