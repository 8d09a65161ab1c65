import pytest

from odradek.protocol import errors
from odradek.records import layout
from odradek.records.batch import RecordBatch, batches
from odradek.records.compression import compress
from odradek.records.layout import CREATE_TIME, LOG_APPEND_TIME
from odradek.records.legacy import LegacyBatch, message, message_set
from odradek.records.record import Record, sequence_after, signed_64
from odradek.records.writer import BatchFields, framed, record_batch

RECORDS = [
    Record(10, b"k", b"v", 1000, [("h", b"1"), ("h", None), ("", b"")]),
    Record(11, None, b"", 999),
    Record(12, b"", None, 1005),
]
SMALL = [Record(0, b"k", b"v", 5)]


def batch_of(records=RECORDS, **fields):
    return RecordBatch(bytearray(record_batch(records, BatchFields(**fields))))


def test_header_follows_from_the_records():
    batch = batch_of(producer_id=7, producer_epoch=2, base_sequence=2**31 - 2, is_transactional=True)
    assert (batch.base_offset, batch.last_offset, batch.next_offset, batch.count) == (10, 12, 13, 3)
    assert (batch.base_timestamp, batch.max_timestamp) == (1000, 1005)
    assert batch.is_transactional and not batch.is_control and batch.has_producer_id and batch.has_sequence
    assert batch.last_sequence == 0
    assert [record.sequence for record in batch.records()] == [2**31 - 2, 2**31 - 1, 0]
    assert list(batch.records()) == RECORDS


def test_without_a_producer_there_is_no_sequence():
    batch = batch_of()
    assert not batch.has_producer_id and batch.last_sequence == -1
    assert {record.sequence for record in batch.records()} == {-1}


def test_assign_leaves_the_crc_alone():
    batch = batch_of()
    before = batch.crc
    batch.assign(5_000_000_000, 17)
    again = RecordBatch(batch.buffer)
    assert (again.base_offset, again.last_offset, again.partition_leader_epoch) == (5_000_000_000, 5_000_000_002, 17)
    assert again.crc == before and again.is_valid


def test_set_max_timestamp_keeps_the_crc_right():
    batch = batch_of()
    batch.set_max_timestamp(LOG_APPEND_TIME, 77)
    again = RecordBatch(batch.buffer)
    assert again.is_valid and again.timestamp_type == LOG_APPEND_TIME and again.max_timestamp == 77
    assert {record.timestamp for record in again.records()} == {77}
    assert [record.timestamp for record in again.records_as_written()] == [1000, 999, 1005]
    again.set_max_timestamp(CREATE_TIME, 1005)
    assert again.is_valid and list(again.records()) == RECORDS


def test_set_max_timestamp_writes_nothing_if_nothing_changes():
    batch = RecordBatch(record_batch(RECORDS))  # read-only: a write would raise
    batch.set_max_timestamp(CREATE_TIME, 1005)
    with pytest.raises(TypeError):
        batch.set_max_timestamp(CREATE_TIME, 1006)


def test_batches_leave_out_one_that_is_cut_off():
    whole = record_batch(RECORDS) + message(13, 1, 0, 5, b"k", b"v") + record_batch([Record(14, b"k", b"v")])
    first = len(record_batch(RECORDS))
    second = first + len(message(13, 1, 0, 5, b"k", b"v"))
    for size in range(len(whole) + 1):
        found = [batch.last_offset for batch in batches(whole[:size])]
        assert found == [12, 13, 14][: (size >= first) + (size >= second) + (size >= len(whole))]


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 13])
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_length_below_every_minimum_is_corrupt(length, magic):
    data = bytearray(record_batch(SMALL))
    data[layout.MAGIC_OFFSET] = magic
    layout.LENGTH.pack_into(data, layout.LENGTH_OFFSET, length)
    with pytest.raises(errors.CorruptMessage, match="minimum record overhead"):
        list(batches(data))


@pytest.mark.parametrize(("magic", "length"), [(1, 21), (2, 48)])
def test_a_length_below_that_of_its_magic_is_corrupt(magic, length):
    data = bytearray(record_batch(SMALL))
    data[layout.MAGIC_OFFSET] = magic
    layout.LENGTH.pack_into(data, layout.LENGTH_OFFSET, length)
    with pytest.raises(errors.CorruptMessage, match=f"magic {magic}"):
        list(batches(data))


@pytest.mark.parametrize("magic", [3, 127, 128, 255])
def test_an_unknown_magic_is_corrupt(magic):
    data = bytearray(record_batch(SMALL))
    data[layout.MAGIC_OFFSET] = magic
    with pytest.raises(errors.CorruptMessage, match="Invalid magic found in record"):
        list(batches(data))


@pytest.mark.parametrize("count", [0, 2, 4, 2**31 - 1])
def test_a_wrong_count_is_an_invalid_record(count):
    data = bytearray(record_batch(RECORDS))
    layout.LENGTH.pack_into(data, layout.RECORD_COUNT_OFFSET, count)
    with pytest.raises(errors.InvalidRecord):
        list(RecordBatch(data).records())


def broken(section):
    return RecordBatch(framed(bytes.fromhex(section), BatchFields(), 0, 0, 0, 0, 0, 1))


@pytest.mark.parametrize(
    "section",
    [
        "12 00 00 00 02 6b 02 76 00 00",  # length 9, fields 8
        "0e 00 00 00 02 6b 02 76 00",  # length 7, fields 8
        "10 00 00 00 04 6b 02 76 00",  # the key runs into the rest
        "10 00 00 00 03 6b 02 76 00",  # key length -2
        "14 00 00 00 01 01 02 01 01 00 00",  # header key null
        "0c 00 00 00 01 01 7e",  # 63 headers in no bytes
        "0c 00 00 00 01 01 01",  # header count -1
        "ff ff ff ff ff 0f",  # length varint too long
        "01",  # length -1
        "00",  # length 0
        "10 00 00 00 02 6b 02 76 00 00",  # a byte behind the last record
    ],
)
def test_records_that_do_not_parse(section):
    with pytest.raises((errors.InvalidRecord, errors.CorruptMessage)):
        list(broken(section).records())
    assert len(list(broken("10 00 00 00 02 6b 02 76 00").records())) == 1


def test_an_unknown_codec_does_not_break_repr():
    data = bytearray(record_batch(SMALL))
    data[layout.ATTRIBUTES_OFFSET + 1] = 6
    batch = RecordBatch(data)
    assert "unknown codec 6" in repr(batch)
    with pytest.raises(errors.UnsupportedCompressionType):
        batch.body()


def test_header_keys_that_are_no_text_survive():
    key = b"\xff\xfe".decode("utf-8", "surrogateescape")
    (record,) = RecordBatch(record_batch([Record(0, b"", b"", 0, [(key, b"")])])).records()
    again = record_batch([record])
    assert b"\x04\xff\xfe" in again


def test_sequences_and_timestamps_wrap_as_in_java():
    assert sequence_after(2**31 - 1, 1) == 0
    assert sequence_after(-1, 5) == -1
    assert signed_64(2**63) == -(2**63)
    assert signed_64(-(2**63) - 1) == 2**63 - 1


# magic 0 and 1


@pytest.mark.parametrize("codec", [0, 1, 2, 3])
def test_inner_offsets_of_magic_0_are_absolute(codec):
    data = message_set(RECORDS, 0, codec=codec)
    found = list(batches(data))
    assert found[-1].last_offset == 12 and found[0].base_offset == 10
    assert [record.offset for batch in found for record in batch.records()] == [10, 11, 12]
    if codec:
        assert [inner.last_offset for _, inner in found[0].records_and_messages()] == [10, 11, 12]
        assert len(found) == 1


@pytest.mark.parametrize("codec", [1, 2, 3])
def test_inner_offsets_of_magic_1_are_relative(codec):
    (wrapper,) = batches(message_set(RECORDS, 1, codec=codec))
    assert (wrapper.last_offset, wrapper.base_offset, wrapper.max_timestamp) == (12, 10, 1005)
    assert [inner.last_offset for _, inner in wrapper.records_and_messages()] == [0, 1, 2]
    assert [(r.offset, r.timestamp) for r in wrapper.records()] == [(10, 1000), (11, 999), (12, 1005)]


def test_a_wrapper_at_offset_0_counts_from_0():
    data = bytearray(message_set(RECORDS, 1, codec=1))
    layout.BASE_OFFSET.pack_into(data, 0, 0)
    assert [record.offset for record in LegacyBatch(data).records()] == [0, 1, 2]
    layout.BASE_OFFSET.pack_into(data, 0, 1)
    with pytest.raises(errors.InvalidRecord, match="below its last inner one"):
        list(LegacyBatch(data).records())


def test_the_append_time_of_a_wrapper_holds_for_all():
    wrapper = LegacyBatch(bytearray(message_set(RECORDS, 1, codec=1)))
    wrapper.set_max_timestamp(LOG_APPEND_TIME, 4242)
    again = LegacyBatch(wrapper.buffer)
    assert again.is_valid and again.timestamp_type == LOG_APPEND_TIME
    assert {record.timestamp for record in again.records()} == {4242}


def test_magic_0_has_no_timestamp_to_set():
    batch = LegacyBatch(message_set(RECORDS[:1], 0))
    batch.set_max_timestamp(LOG_APPEND_TIME, 1)
    assert batch.is_valid and batch.timestamp_type == -1 and batch.max_timestamp == -1


@pytest.mark.parametrize(
    "inner",
    [
        message(0, 0, 0, 0, b"k", b"v"),  # another magic
        message(0, 1, 1, 0, None, b""),  # compressed once more
        b"",
    ],
    ids=["magic", "nested", "empty"],
)
def test_wrappers_that_hold_what_they_must_not(inner):
    with pytest.raises(errors.InvalidRecord):
        list(LegacyBatch(message(0, 1, 1, 0, None, compress(1, inner, magic=1))).records())


def test_a_wrapper_without_a_value():
    with pytest.raises(errors.InvalidRecord, match="no value"):
        list(LegacyBatch(message(0, 1, 1, 0, None, None)).records())


def test_zstd_in_an_old_message():
    with pytest.raises(errors.InvalidRecord, match="zstd"):
        list(LegacyBatch(message(0, 1, 4, 0, None, b"")).records())


@pytest.mark.parametrize(("position", "value"), [(26, -2), (26, 100), (31, -2), (31, 100)])
def test_lengths_in_a_message_are_hostile(position, value):
    data = bytearray(message(0, 1, 0, 5, b"k", b"v"))
    layout.LENGTH.pack_into(data, position, value)
    with pytest.raises(errors.InvalidRecord):
        list(LegacyBatch(data).records())


def test_bytes_behind_the_value_of_a_message():
    data = bytearray(message(0, 1, 0, 5, b"k", b"vv"))
    layout.LENGTH.pack_into(data, 31, 1)
    with pytest.raises(errors.InvalidRecord, match="follow"):
        list(LegacyBatch(data).records())


def test_no_records_make_no_message():
    assert message_set([], 1, codec=1) == b""


def test_a_batch_of_no_records_is_not_written_by_chance():
    with pytest.raises(ValueError, match="empty_batch"):
        record_batch([])
