"""Any records survive a round trip; any bytes give a value or a KafkaError, and nothing else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.protocol import errors
from odradek.records import layout
from odradek.records.assign import assign
from odradek.records.batch import RecordBatch, batches
from odradek.records.check import check, check_request
from odradek.records.compression import compress, decompress
from odradek.records.convert import down_convert, recompress, up_convert
from odradek.records.crc import crc32, crc32c
from odradek.records.legacy import LegacyBatch, message_set
from odradek.records.record import Record, write_record
from odradek.records.rules import ProduceRules
from odradek.records.varint import (
    read_varint,
    read_varlong,
    write_varint,
    write_varlong,
)
from odradek.records.writer import BatchFields, framed, record_batch

NOW = 1_700_000_000_000
LIMIT = 1 << 22
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
SOME_BYTES = st.none() | st.binary(max_size=40)
HEADERS = st.lists(st.tuples(st.text(max_size=8), SOME_BYTES), max_size=3)
TIMESTAMPS = st.integers(-1, 2**45) | st.just(-1)
ANY_RULES = st.builds(
    ProduceRules,
    st.just("t-0"),
    max_message_bytes=st.sampled_from([100, 1048588]),
    timestamp_type=st.sampled_from([0, 1]),
    timestamp_before_max_ms=st.sampled_from([10, 2**63 - 1]),
    timestamp_after_max_ms=st.sampled_from([10, 2**63 - 1]),
    is_compacted=st.booleans(),
    codec=st.none() | st.integers(0, 4),
    decompressed_bytes_max=st.just(LIMIT),
)


@st.composite
def record_lists(draw, gaps=True):
    offset = draw(st.integers(0, 2**40)) if gaps else 0
    made = []
    for _ in range(draw(st.integers(1, 6))):
        made.append(Record(offset, draw(SOME_BYTES), draw(SOME_BYTES), draw(TIMESTAMPS), draw(HEADERS)))
        offset += draw(st.integers(1, 1000)) if gaps else 1
    return made


@given(INT32)
def test_varint(value):
    out = bytearray()
    write_varint(out, value)
    assert read_varint(out, 0, len(out)) == (value, len(out))


@given(INT64)
def test_varlong(value):
    out = bytearray()
    write_varlong(out, value)
    assert read_varlong(out, 0, len(out)) == (value, len(out))


@settings(max_examples=150, deadline=None)
@given(record_lists(), st.integers(0, 4), st.none() | st.integers(0, 2**45), st.none() | st.integers(0, 2**45))
def test_magic_2_round_trip(made, codec, append_time, horizon):
    fields = BatchFields(log_append_time=append_time, delete_horizon_ms=horizon)
    (batch,) = batches(record_batch(made, fields, codec=codec))
    assert batch.is_valid and list(batch.records_as_written()) == made
    assert (batch.base_offset, batch.last_offset, batch.count) == (made[0].offset, made[-1].offset, len(made))
    timestamps = {record.timestamp for record in batch.records()}
    assert timestamps == ({r.timestamp for r in made} if append_time is None else {append_time})


@settings(max_examples=150, deadline=None)
@given(record_lists(), st.sampled_from([0, 1]), st.integers(0, 3))
def test_legacy_round_trip(made, magic, codec):
    data = message_set(made, magic, codec=codec)
    got = [record for batch in batches(data) for record in batch.records()]
    expected = [Record(r.offset, r.key, r.value, r.timestamp if magic else -1) for r in made]
    assert got == expected
    assert all(batch.is_valid for batch in batches(data))


@settings(max_examples=100, deadline=None)
@given(record_lists(gaps=False), st.integers(0, 4), st.integers(0, 4), st.integers(0, 2**62))
def test_check_assign_recompress(made, source, target, base_offset):
    data = bytearray(record_batch(made, codec=source))
    checked = check(data, ProduceRules("t-0", codec=target), NOW)
    (batch,) = batches(assign(checked, base_offset, 3, NOW).data)
    assert batch.is_valid and batch.compression == target and batch.max_timestamp == checked.max_timestamp
    assert checked.max_timestamp == max(record.timestamp for record in made)
    assert made[checked.index_of_max_timestamp].timestamp == checked.max_timestamp
    got = list(batch.records())
    assert [r.offset - base_offset for r in got] == list(range(len(made)))
    assert [(r.key, r.value, r.timestamp, r.headers) for r in got] == [
        (r.key, r.value, r.timestamp, r.headers) for r in made
    ]


@settings(max_examples=100, deadline=None)
@given(record_lists(), st.integers(0, 3), st.sampled_from([0, 1]))
def test_down_and_up_again(made, codec, magic):
    down = down_convert(record_batch(made, codec=codec), magic)
    assert down.converted_count == len(made)
    assert [r.offset for b in batches(down.data) for r in b.records()] == [r.offset for r in made]
    up = up_convert(list(batches(down.data)), 7)
    (batch,) = batches(up.data)
    assert [(r.key, r.value) for r in batch.records()] == [(r.key, r.value) for r in made]


def with_right_crc(data):
    """So that a mutation reaches what lies behind the crc."""
    if len(data) >= layout.HEADER_SIZE and data[layout.MAGIC_OFFSET] == 2:
        layout.CRC.pack_into(data, layout.CRC_OFFSET, crc32c(memoryview(data)[layout.ATTRIBUTES_OFFSET :]))
    elif len(data) > layout.MAGIC_OFFSET:
        layout.CRC.pack_into(data, layout.LEGACY_CRC_OFFSET, crc32(memoryview(data)[layout.MAGIC_OFFSET :]))
    return data


def only_kafka_errors(call, *arguments, **options):
    try:
        return call(*arguments, **options)
    except errors.KafkaError:
        return None


def read_batches(data):
    for batch in batches(data):
        repr(batch)
        only_kafka_errors(lambda batch: (batch.is_valid, batch.base_offset, batch.last_sequence), batch)
        only_kafka_errors(lambda batch: list(batch.records(LIMIT)), batch)
        if isinstance(batch, RecordBatch):
            only_kafka_errors(recompress, batch, 1, limit_bytes=LIMIT)


def read_everything(data, rules):
    only_kafka_errors(read_batches, data)
    for magic in (0, 1):
        only_kafka_errors(down_convert, data, magic, limit_bytes=LIMIT)
    only_kafka_errors(check_request, data, 9)
    checked = only_kafka_errors(check, data, rules, NOW)
    placed = checked and only_kafka_errors(assign, checked, 1000, 1, NOW)
    if placed:
        (batch,) = batches(placed.data)
        assert batch.is_valid and batch.base_offset == 1000 and batch.last_offset == placed.last_offset
        assert len(list(batch.records(LIMIT))) == checked.count


def whole(codec, magic):
    made = [Record(i, b"key%d" % i, b"value" * 5, NOW, [("h", b"x")] if magic == 2 else ()) for i in range(4)]
    return bytes(record_batch(made, codec=codec) if magic == 2 else message_set(made, magic, codec=codec))


SHAPES = [(codec, magic) for magic in (0, 1, 2) for codec in range(5) if magic == 2 or codec < 4]


@pytest.mark.parametrize(("codec", "magic"), SHAPES)
def test_truncation_at_every_byte(codec, magic):
    data = whole(codec, magic)
    for size in range(len(data)):
        cut = bytearray(data[:size])
        read_everything(cut, ProduceRules("t-0"))
        if size > layout.MAGIC_OFFSET:  # the length says that it is whole
            layout.LENGTH.pack_into(cut, layout.LENGTH_OFFSET, size - layout.LOG_OVERHEAD)
            read_everything(with_right_crc(cut), ProduceRules("t-0"))


MUTATION = st.tuples(st.integers(0, 2000), st.integers(0, 255))


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(SHAPES), st.lists(MUTATION, min_size=1, max_size=4), st.booleans(), ANY_RULES)
def test_mutated_bytes(shape, mutations, repair, rules):
    data = bytearray(whole(*shape))
    for position, value in mutations:
        data[position % len(data)] = value
    read_everything(with_right_crc(data) if repair else data, rules)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 4), st.lists(MUTATION, min_size=1, max_size=4), st.integers(0, 1))
def test_mutated_streams(codec, mutations, magic):
    magic = 2 if codec == 4 else magic
    data = bytearray(compress(codec, b"spool of thread " * 20, magic=magic))
    for position, value in mutations:
        data[position % len(data)] = value
    out = only_kafka_errors(decompress, codec, data, limit_bytes=LIMIT, magic=magic)
    assert out is None or len(out) <= LIMIT


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 4), st.binary(max_size=200), st.sampled_from([0, 5, 100_000]))
def test_any_bytes_as_a_stream(codec, data, limit_bytes):
    out = only_kafka_errors(decompress, codec, data, limit_bytes=limit_bytes)
    assert out is None or codec == 0 or len(out) <= limit_bytes


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=150), st.sampled_from([0, 1, 2]), ANY_RULES)
def test_any_bytes_as_records(body, magic, rules):
    """A sound frame around noise: every field behind the crc is arbitrary."""
    data = bytearray(layout.MAGIC_OFFSET) + bytes((magic,)) + body
    if len(data) < layout.LOG_OVERHEAD + layout.LENGTH_MIN[magic]:
        return
    layout.LENGTH.pack_into(data, layout.LENGTH_OFFSET, len(data) - layout.LOG_OVERHEAD)
    read_everything(with_right_crc(data), rules)


@settings(max_examples=100, deadline=None)
@given(INT64, INT64, st.lists(st.tuples(INT32, INT64), min_size=1, max_size=4))
def test_deltas_that_lead_past_the_end_of_the_range(base_offset, base_timestamp, deltas):
    body = bytearray()
    for offset_delta, timestamp_delta in deltas:
        write_record(body, Record(0, b"k", b"v"), offset_delta, timestamp_delta)
    data = framed(bytes(body), BatchFields(), 0, base_offset, len(deltas) - 1, base_timestamp, 0, len(deltas))
    for record in RecordBatch(data).records():
        assert -(2**63) <= record.offset < 2**63 and -(2**63) <= record.timestamp < 2**63
    read_everything(bytearray(data), ProduceRules("t-0"))


def test_a_legacy_batch_is_one_class_and_magic_2_another():
    assert {type(batch) for batch in batches(whole(0, 1) + whole(0, 2))} == {LegacyBatch, RecordBatch}
