import pytest

from odradek.protocol import errors
from odradek.records import control
from odradek.records.batch import batches
from odradek.records.compression import GZIP, NONE, ZSTD
from odradek.records.convert import down_convert, up_convert
from odradek.records.layout import LOG_APPEND_TIME
from odradek.records.legacy import message_set
from odradek.records.record import Record
from odradek.records.writer import BatchFields, empty_batch, record_batch

RECORDS = [Record(20 + 2 * index, b"k%d" % index, b"v", 1000 + index, [("h", b"x")]) for index in range(4)]
MARKER = control.end_transaction_marker(True, 3, 99, producer_id=1, producer_epoch=0, base_offset=27)


def offsets(data):
    return [record.offset for batch in batches(data) for record in batch.records()]


@pytest.mark.parametrize("magic", [0, 1])
def test_headers_go_offsets_stay(magic):
    converted = down_convert(record_batch(RECORDS), magic)
    got = [record for batch in batches(converted.data) for record in batch.records()]
    assert [record.offset for record in got] == [20, 22, 24, 26]
    assert not any(record.headers for record in got)
    assert [record.timestamp for record in got] == ([1000, 1001, 1002, 1003] if magic else [-1] * 4)
    assert converted.converted_count == 4


def test_control_batches_are_left_out_and_old_ones_kept():
    old = message_set([Record(1, b"k", b"v", 5)], 1)
    converted = down_convert(old + record_batch(RECORDS) + MARKER, 1)
    assert converted.data.startswith(old)
    assert offsets(converted.data) == [1, 20, 22, 24, 26]
    assert converted.converted_count == 4


def test_magic_1_goes_down_to_0():
    converted = down_convert(message_set(RECORDS, 1, codec=GZIP), 0)
    (batch,) = batches(converted.data)
    assert (batch.magic, batch.codec_name, batch.base_offset, batch.last_offset) == (0, "gzip", 20, 26)


def test_plain_messages_before_the_fetch_offset_are_left_out():
    plain, packed = (record_batch(RECORDS, codec=codec) for codec in (NONE, GZIP))
    assert offsets(down_convert(plain, 1, first_offset=23).data) == [24, 26]
    assert offsets(down_convert(packed, 1, first_offset=23).data) == [20, 22, 24, 26]
    assert down_convert(plain, 1, first_offset=100).data == b""


def test_zstd_cannot_go_down():
    with pytest.raises(errors.UnsupportedCompressionType):
        down_convert(record_batch(RECORDS, codec=ZSTD), 1)
    assert down_convert(record_batch(RECORDS, codec=ZSTD), 2).converted_count == 0


def test_log_append_time_goes_along():
    data = record_batch(RECORDS, BatchFields(log_append_time=777))
    found = list(batches(down_convert(data, 1).data))
    assert {batch.timestamp_type for batch in found} == {LOG_APPEND_TIME}
    assert {record.timestamp for batch in found for record in batch.records()} == {777}


def test_an_empty_batch_becomes_nothing():
    data = empty_batch(BatchFields(producer_id=1, producer_epoch=0, base_sequence=4), 10, 15, 5)
    assert down_convert(data, 1).data == b""


def test_up_gives_consecutive_offsets():
    old = message_set(RECORDS, 1)
    placed = up_convert(list(batches(old)), 500, codec=GZIP, partition_leader_epoch=2)
    (batch,) = batches(placed.data)
    assert [record.offset for record in batch.records()] == [500, 501, 502, 503]
    assert batch.base_timestamp == 1000 and batch.max_timestamp == 1003
    assert (placed.last_offset, placed.converted_count, batch.partition_leader_epoch) == (503, 4, 2)


# control records


@pytest.mark.parametrize("is_commit", [True, False])
def test_markers(is_commit):
    data = control.end_transaction_marker(
        is_commit, 5, 1234, producer_id=9, producer_epoch=3, base_offset=77, partition_leader_epoch=6
    )
    (batch,) = batches(data)
    (record,) = batch.records()
    assert batch.is_control and batch.is_transactional and batch.is_valid
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (9, 3, -1)
    assert control.control_type(record.key) == (control.COMMIT if is_commit else control.ABORT)
    assert control.coordinator_epoch(record.value) == 5


def test_keys():
    for code in control.NAMES:
        if code != control.UNKNOWN:
            assert control.control_type(control.control_key(code)) == code
    assert control.control_type(b"\x00\x00\x00\x63") == control.UNKNOWN
    assert control.control_type(b"\x00\x01\x00\x01 and more") == control.COMMIT
    for wrong in (None, b"", b"\x00\x00\x00", b"\xff\xff\x00\x00"):
        with pytest.raises(errors.InvalidRecord):
            control.control_type(wrong)
    for wrong in (None, b"\x00\x00\x00\x00\x00", b"\xff\xff\x00\x00\x00\x00"):
        with pytest.raises(errors.InvalidRecord):
            control.coordinator_epoch(wrong)


def test_other_control_batches_carry_raw_bytes():
    (batch,) = batches(control.control_batch(control.LEADER_CHANGE, b"raw", 5, partition_leader_epoch=3))
    (record,) = batch.records()
    assert batch.is_control and not batch.is_transactional and record.value == b"raw"
