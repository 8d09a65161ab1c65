"""Records as a poll returns them, and how they are handed out: the same by either executor."""

import gc
import pickle
import weakref

import pytest

from odradek import native
from odradek.client.consumer import pure_records
from odradek.client.consumer.assigned_partition import AssignedPartition
from odradek.client.consumer.chunk import Chunk
from odradek.client.consumer.fetch_buffer import FetchBuffer
from odradek.client.consumer.records import ConsumerRecord, ConsumerRecords
from odradek.client.offsets import OffsetAndMetadata
from odradek.protocol.topic_partition import TopicPartition
from odradek.records.legacy import message_set
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch

T0, U1 = TopicPartition("t", 0), TopicPartition("u", 1)
HEADERS = [("a", b"1"), ("ä", None), ("", b"")]

try:
    EXECUTORS = [pure_records, native.load_compiled("odradek.client.consumer._records")]
except ImportError:
    EXECUTORS = [pure_records]


@pytest.fixture(params=EXECUTORS, ids=lambda executor: executor.__name__.rpartition(".")[2])
def executor(request):
    return request.param


def scanned(data, first_offset=0, place=T0):
    chunk = Chunk(place, 0, first_offset, data)
    chunk.scan(checks_crc=True, limit_bytes=1 << 20)
    return chunk


def assigned(*chunks):
    state = AssignedPartition(T0)
    state.seek(0)
    for chunk in chunks:
        chunk.generation = state.generation
        state.chunks.append(chunk)
        state.received_bytes += chunk.size_bytes
    return state


def some_records(first, count, **fields):
    return [Record(first + row, b"k", b"v%d" % (first + row), 1000 + row, **fields) for row in range(count)]


def test_a_record_has_all_that_was_written(executor):
    data = record_batch(
        [Record(5, b"key", b"value", 1234, list(HEADERS)), Record(6, None, None, 1235)],
        BatchFields(partition_leader_epoch=9),
    )
    first, second = executor.build(scanned(data), 2)
    assert (first.topic, first.partition, first.offset) == ("t", 0, 5)
    assert (first.timestamp, first.timestamp_type) == (1234, pure_records.CREATE_TIME)
    assert (first.key, first.value, first.leader_epoch) == (b"key", b"value", 9)
    assert first.headers == tuple(HEADERS)
    assert (first.serialized_key_size, first.serialized_value_size) == (3, 5)
    assert (second.key, second.value, second.headers) == (None, None, ())
    assert (second.serialized_key_size, second.serialized_value_size) == (-1, -1)


def test_the_time_of_the_log_is_told_as_such(executor):
    data = record_batch([Record(0, None, b"v", 5)], BatchFields(log_append_time=77))
    (record,) = executor.build(scanned(data), 1)
    assert (record.timestamp, record.timestamp_type) == (77, pure_records.LOG_APPEND_TIME)


@pytest.mark.parametrize(("magic", "codec"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_records_of_the_old_formats_are_read(executor, magic, codec):
    chunk = scanned(message_set(some_records(3, 4), magic, codec=codec), first_offset=4)
    assert chunk.next_offset == 7
    found = executor.build(chunk, chunk.stop)
    assert [(record.offset, record.value) for record in found] == [(row, b"v%d" % row) for row in (4, 5, 6)]
    assert {record.timestamp_type for record in found} == {-1 if magic == 0 else 0}
    assert {record.leader_epoch for record in found} == {-1}


def test_rows_of_several_batches_and_codecs_know_their_own_epoch(executor):
    data = b"".join(
        record_batch(some_records(3 * at, 3), BatchFields(partition_leader_epoch=at), codec=at % 2) for at in range(4)
    )
    chunk = scanned(data)
    found = executor.build(chunk, chunk.stop)
    assert [(record.offset, record.leader_epoch) for record in found] == [(row, row // 3) for row in range(12)]
    chunk.row = 5
    assert executor.build(chunk, 8) == found[5:8]


def test_handing_out_moves_the_position_over_what_was_handed_out(executor):
    chunk = scanned(record_batch(some_records(0, 5), BatchFields(partition_leader_epoch=3), last_offset=9))
    state, out = assigned(chunk), []
    assert executor.hand_out(state, chunk, out, 2)
    assert [record.offset for record in out] == [0, 1]
    assert (state.position, state.position_epoch, chunk.row) == (2, 3, 2)
    assert list(state.chunks) == [chunk]
    assert executor.hand_out(state, chunk, out, 5)
    assert (state.position, len(out), list(state.chunks)) == (10, 5, [])  # compaction has left a gap at the end
    assert state.buffered_bytes == 0


@pytest.mark.parametrize("change", ["seek", "pause", "revoke", "fail", "drop"])
def test_what_is_not_to_be_handed_out_any_more_is_not(executor, change):
    chunk = scanned(record_batch(some_records(0, 5)))
    state, out = assigned(chunk), ["before"]
    if change == "seek":
        state.seek(3)
    elif change == "drop":
        state.chunks.clear()
    elif change == "fail":
        state.failed_generation = state.generation
    else:
        state.hold(is_paused=change == "pause", is_revoking=change == "revoke")
    before = state.position
    assert not executor.hand_out(state, chunk, out, 5)
    assert not executor.deliver(state, chunk, out, ["record"], 5)
    assert (out, state.position, chunk.row) == (["before"], before, 0)


def test_a_walk_tells_where_the_whole_batches_end(executor):
    first = record_batch(some_records(0, 3), BatchFields(partition_leader_epoch=1))
    second = record_batch(some_records(3, 2), BatchFields(partition_leader_epoch=2))
    assert executor.walk(first + second) == (5, 2, len(first) + len(second))
    assert executor.walk(first + second[:-1]) == (3, 1, len(first))
    assert executor.walk(first[:40]) == (-1, -1, 0)
    assert executor.walk(b"") == (-1, -1, 0)
    assert executor.walk(message_set(some_records(0, 3), 1, codec=1)) == (
        3,
        -1,
        len(message_set(some_records(0, 3), 1, codec=1)),
    )


def test_records_are_values(executor):
    fields = {"key": b"k", "value": b"v", "headers": HEADERS, "timestamp": 5, "timestamp_type": 0, "leader_epoch": 2}
    one, same = (executor.ConsumerRecord("t", 1, 2, **fields) for _ in range(2))
    other = executor.ConsumerRecord("t", 1, 2, **{**fields, "value": b"w"})
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != "t"
    assert repr(one).startswith("ConsumerRecord(topic='t', partition=1, offset=2, timestamp=5, ")
    assert repr(executor.ConsumerRecord[str, int]).endswith("ConsumerRecord[str, int]")


def test_a_record_survives_a_pickle():
    record = ConsumerRecord("t", 1, 2, key=b"k", value=b"v", headers=HEADERS, timestamp=5)
    assert pickle.loads(pickle.dumps(record)) == record
    made = record.deserialized({"a": 1}, [record.offset])
    assert pickle.loads(pickle.dumps(made)) == made
    assert (made.key, made.value, made.headers) == ({"a": 1}, [2], tuple(HEADERS))


def test_a_value_that_knows_its_record_can_be_collected(executor):
    class Value:
        pass

    value = Value()
    gone = weakref.ref(value)
    record = executor.ConsumerRecord("t", 1, 2).deserialized(b"k", value)
    assert isinstance(record, executor.ConsumerRecord)
    value.record = record
    del value, record
    gc.collect()
    assert gone() is None


def test_records_of_bytes_are_not_seen_by_the_garbage_collector():
    for compiled in EXECUTORS[1:]:
        (record,) = compiled.build(scanned(record_batch([Record(0, b"k", b"v", 1)])), 1)
        assert not gc.is_tracked(record)


# What a poll returns


def records():
    return ConsumerRecords(
        [ConsumerRecord("t", 0, 4), ConsumerRecord("t", 0, 5, leader_epoch=3), ConsumerRecord("u", 1, 9)]
    )


def test_records_are_a_sequence():
    found = records()
    assert len(found) == 3
    assert bool(found)
    assert not ConsumerRecords()
    assert [record.offset for record in found] == [4, 5, 9]
    assert found[-1].topic == "u"
    assert [record.offset for record in found[:2]] == [4, 5]
    assert found[1] in found
    assert found == records()
    assert "3 records of t-0, u-1" in repr(found)


def test_records_by_partition_and_topic():
    found = records()
    assert found.partitions() == [T0, U1]
    assert [record.offset for record in found.records(T0)] == [4, 5]
    assert [record.offset for record in found.records("u")] == [9]
    assert found.records("v") == []
    assert found.next_offsets() == {T0: OffsetAndMetadata(6, "", 3), U1: OffsetAndMetadata(10, "", -1)}


class InterruptedOnce(Chunk):
    __slots__ = ("is_left_alone",)

    def scan(self, **arguments):
        if not hasattr(self, "is_left_alone"):
            self.is_left_alone = True
            raise KeyboardInterrupt
        super().scan(**arguments)


def test_an_interrupted_take_keeps_what_it_had():
    first, second = (
        kind(T0, 0, at, record_batch(some_records(at, 2))) for kind, at in ((Chunk, 0), (InterruptedOnce, 2))
    )
    state, buffer = assigned(first, second), FetchBuffer()
    buffer.queue(state)
    with pytest.raises(KeyboardInterrupt):
        buffer.take(10)
    assert [record.offset for record in buffer.take(10)] == [0, 1, 2, 3]


def test_a_seek_after_an_interrupted_take_drops_what_it_had():
    state, buffer = assigned(scanned(record_batch(some_records(0, 2)))), FetchBuffer()
    buffer.queue(state)
    taking = buffer._taking_records
    chunk = buffer._next_chunk(False)
    buffer._hand_out(state, chunk, taking, 2)
    state.seek(7)
    assert len(buffer.take(10)) == 0


# Tables


def test_a_table_has_a_chunk_for_each_fetch():
    pytest.importorskip("pyarrow", reason="pip install odradek[arrow]")
    first = scanned(record_batch([Record(0, b"k", b"v", 5, [("h", b"1")]), Record(1, None, None, 6)]))
    second = Chunk(T0, 0, 2, record_batch(some_records(2, 3)))
    state, buffer = assigned(first, second), FetchBuffer()
    buffer.queue(state)
    assert buffer.take(1)[0].offset == 0
    table = buffer.take_arrow(10_000)
    assert table.column_names == ["topic", "partition", "offset", "timestamp", "key", "value", "headers"]
    assert [batch.num_rows for batch in table.to_batches()] == [1, 3]
    assert table["topic"].to_pylist() == ["t"] * 4
    assert table["partition"].to_pylist() == [0] * 4
    assert table["offset"].to_pylist() == [1, 2, 3, 4]
    assert table["value"].to_pylist() == [None, b"v2", b"v3", b"v4"]
    assert table["headers"].to_pylist() == [[], [], [], []]
    assert buffer.arrow_offsets == {T0: OffsetAndMetadata(5, "", -1)}
    assert state.position == 5
    assert buffer.take_arrow(10_000).num_rows == 0


def test_a_table_ends_behind_the_chunk_that_reaches_its_size():
    pytest.importorskip("pyarrow", reason="pip install odradek[arrow]")
    state = assigned(*(Chunk(T0, 0, 2 * at, record_batch(some_records(2 * at, 2))) for at in range(3)))
    buffer = FetchBuffer()
    buffer.queue(state)
    assert buffer.take_arrow(1)["offset"].to_pylist() == [0, 1]
    assert buffer.take_arrow(100_000)["offset"].to_pylist() == [2, 3, 4, 5]
