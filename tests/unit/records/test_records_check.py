import pytest

from odradek.protocol import errors
from odradek.records import layout
from odradek.records.assign import assign
from odradek.records.batch import RecordBatch, batches
from odradek.records.check import RECORDS_NAMED_MAX, check, check_request
from odradek.records.compression import GZIP, LZ4, NONE, SNAPPY, ZSTD, compress
from odradek.records.crc import crc32c
from odradek.records.layout import CREATE_TIME, LOG_APPEND_TIME
from odradek.records.legacy import LegacyBatch, message, message_set
from odradek.records.record import Record
from odradek.records.rules import RECORD_ERRORS_MAX, ProduceRules, RejectedRecords, RejectedTimestamps
from odradek.records.writer import BatchFields, record_batch

NOW = 1_700_000_000_000
PRODUCER = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}


def records(count=3, **changes):
    made = [Record(index, b"k%d" % index, b"v" * 20, NOW - index) for index in range(count)]
    for name, value in changes.items():
        field, index = name.rsplit("_", 1)
        setattr(made[int(index)], field, value)
    return made


def batch(made=None, codec=NONE, **fields):
    return bytearray(record_batch(made or records(), BatchFields(**fields), codec=codec))


def patched(data, position, packer, value):
    packer.pack_into(data, position, value)
    layout.CRC.pack_into(data, layout.CRC_OFFSET, crc32c(memoryview(data)[layout.ATTRIBUTES_OFFSET :]))
    return data


def rules(**changes):
    return ProduceRules("t-0", **changes)


def refused(data, error, now_ms=NOW, **changes):
    with pytest.raises(error) as caught:
        check(data, rules(**changes), now_ms)
    return caught.value


# what the request's version allows


@pytest.mark.parametrize("version", [3, 6, 7, 13])
def test_one_batch_of_magic_2_from_version_3_on(version):
    check_request(batch(), version)
    for wrong in (b"", None, batch()[:-1], batch() + batch(), message(0, 1, 0, NOW, b"k", b"v")):
        with pytest.raises(errors.InvalidRecord):
            check_request(wrong, version)
        check_request(wrong, 2)


def test_zstd_needs_version_7():
    check_request(batch(codec=ZSTD), 7)
    with pytest.raises(errors.UnsupportedCompressionType):
        check_request(batch(codec=ZSTD), 6)


# what the log relies on


@pytest.mark.parametrize("codec", range(5))
def test_the_facts(codec):
    data = batch(records(timestamp_1=NOW + 5), codec=codec)
    checked = check(data + data[:30], rules(), NOW)
    assert (checked.count, checked.max_timestamp, checked.index_of_max_timestamp) == (3, NOW + 5, 1)
    assert checked.last_offset_delta == 2
    assert (checked.source_codec, checked.target_codec, checked.needs_rebuild) == (codec, codec, False)
    assert checked.valid_bytes == len(data)


def test_no_batch_at_all():
    refused(b"", errors.InvalidRecord)
    refused(batch()[:-1], errors.InvalidRecord)


def test_wrong_crc():
    data = batch()
    data[-2] ^= 1
    refused(data, errors.CorruptMessage)


def test_too_large():
    data = batch()
    assert check(data, rules(max_message_bytes=len(data)), NOW).count == 3
    refused(data, errors.MessageTooLarge, max_message_bytes=len(data) - 1)


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_too_large_inside(codec):
    data = batch([Record(0, b"k", bytes(500_000), NOW)], codec=codec)
    assert check(data, rules(decompressed_bytes_max=600_000), NOW).count == 1
    refused(data, errors.RecordListTooLarge, decompressed_bytes_max=400_000)


@pytest.mark.parametrize("code", [5, 6, 7])
def test_unknown_codec(code):
    refused(patched(batch(), layout.ATTRIBUTES_OFFSET, layout.ATTRIBUTES, code), errors.UnknownServerError)


@pytest.mark.parametrize("code", [1, 2, 3, 4])
def test_a_stream_that_its_codec_cannot_read(code):
    refused(patched(batch(), layout.ATTRIBUTES_OFFSET, layout.ATTRIBUTES, code), errors.UnknownServerError)


def test_base_offset_must_be_0():
    data = batch()
    layout.BASE_OFFSET.pack_into(data, 0, 1)
    refused(data, errors.InvalidRecord)
    assert check(data, rules(), NOW, is_from_client=False).count == 3


@pytest.mark.parametrize("count", [-1, 0, 2, 4])
def test_count_against_offsets(count):
    refused(patched(batch(), layout.RECORD_COUNT_OFFSET, layout.LENGTH, count), errors.InvalidRecord)


@pytest.mark.parametrize("delta", [-2, -1, 0, 1, 3])
def test_last_offset_delta_against_count(delta):
    refused(patched(batch(), layout.LAST_OFFSET_DELTA_OFFSET, layout.LENGTH, delta), errors.InvalidRecord)


@pytest.mark.parametrize("count", [2, 4])
def test_count_against_the_records(count):
    data = patched(batch(), layout.RECORD_COUNT_OFFSET, layout.LENGTH, count)
    refused(patched(data, layout.LAST_OFFSET_DELTA_OFFSET, layout.LENGTH, count - 1), errors.InvalidRecord)


def test_control_batches_are_for_the_broker():
    data = batch(is_control=True)
    refused(data, errors.InvalidRecord)
    assert check(data, rules(codec=GZIP), NOW, is_from_client=False).needs_rebuild is False


def test_two_batches_of_magic_2():
    refused(batch() + batch(), errors.InvalidRecord)


@pytest.mark.parametrize(
    "fields",
    [
        {"is_transactional": True},
        {**PRODUCER, "base_sequence": -1},
        {**PRODUCER, "base_sequence": -5, "is_transactional": True},
    ],
)
def test_producer_id_against_sequence_and_transaction(fields):
    refused(batch(**fields), errors.InvalidRecord)


def test_producer_id_without_an_epoch():
    refused(batch(**{**PRODUCER, "producer_epoch": -1}), errors.InvalidProducerEpoch)


@pytest.mark.parametrize("fields", [{}, PRODUCER, {**PRODUCER, "is_transactional": True}])
def test_producers_that_are_consistent(fields):
    assert check(batch(**fields), rules(), NOW).count == 3


@pytest.mark.parametrize("codec", [NONE, GZIP])
def test_offsets_with_gaps_name_the_records(codec):
    made = records(offset_1=2, offset_2=1)
    data = batch(made, codec=codec)
    patched(data, layout.LAST_OFFSET_DELTA_OFFSET, layout.LENGTH, 2)
    error = refused(data, RejectedRecords)
    assert [each.batch_index for each in error.record_errors] == [1, 2]
    assert "expected offset is 1" in error.record_errors[0].message


def test_keyless_records_of_a_compacted_topic():
    data = batch(records(key_0=None, key_2=None))
    assert check(data, rules(), NOW).count == 3
    error = refused(data, RejectedRecords, is_compacted=True)
    assert error.code == 87
    assert [each.batch_index for each in error.record_errors] == [0, 2]
    assert error.record_errors[0].message == "Compacted topic cannot accept message without key in topic partition t-0"
    assert error.message.startswith("One or more records have been rejected due to 2 record errors in total")
    assert check(batch(), rules(is_compacted=True), NOW).count == 3


def test_the_rules_for_records_hold_for_the_broker_itself_too():
    data = batch(records(key_1=None))
    layout.BASE_OFFSET.pack_into(data, 0, 30)
    with pytest.raises(RejectedRecords):
        check(data, rules(is_compacted=True), NOW, is_from_client=False)
    gaps = patched(batch(records(offset_2=5)), layout.LAST_OFFSET_DELTA_OFFSET, layout.LENGTH, 2)
    layout.BASE_OFFSET.pack_into(gaps, 0, 30)
    with pytest.raises(RejectedRecords, match="expected offset is 32"):
        check(gaps, rules(), NOW, is_from_client=False)


def test_only_the_first_three_are_shown_and_only_so_many_listed():
    data = batch([Record(index, None, b"", NOW) for index in range(RECORD_ERRORS_MAX + 5)])
    error = refused(data, RejectedRecords, is_compacted=True)
    assert len(error.record_errors) == RECORD_ERRORS_MAX
    assert f"due to {RECORD_ERRORS_MAX + 5} record errors" in error.message
    assert error.message.count("RecordError(") == 3


LIMITS = {"timestamp_before_max_ms": 100, "timestamp_after_max_ms": 50}


@pytest.mark.parametrize(("delta", "is_allowed"), [(-100, True), (-101, False), (50, True), (51, False), (0, True)])
def test_timestamps_in_and_out_of_range(delta, is_allowed):
    data = batch(records(timestamp_1=NOW + delta))
    if is_allowed:
        assert check(data, rules(**LIMITS), NOW).count == 3
        return
    error = refused(data, RejectedTimestamps, **LIMITS)
    assert error.code == 32
    assert [each.batch_index for each in error.record_errors] == [1]
    assert error.record_errors[0].message == (
        f"Timestamp {NOW + delta} of message with offset 1 is out of range. "
        f"The timestamp should be within [{NOW - 100}, {NOW + 50}]"
    )


def test_records_without_a_timestamp_are_exempt():
    assert check(batch(records(timestamp_1=-1)), rules(**LIMITS), NOW).count == 3
    without = [Record(index, b"k", b"v", -1) for index in range(2)]
    checked = check(batch(without), rules(**LIMITS), NOW)
    assert checked.max_timestamp == -1


def test_any_timestamp_will_do_where_the_broker_sets_it():
    data = batch(records(timestamp_1=1))
    checked = check(data, rules(timestamp_type=LOG_APPEND_TIME, **LIMITS), NOW)
    assert (checked.max_timestamp, checked.index_of_max_timestamp) == (NOW, 2)


def test_only_a_broker_may_say_log_append_time():
    error = refused(batch(log_append_time=NOW), RejectedTimestamps)
    assert len(error.record_errors) == 3


def test_one_bad_timestamp_makes_it_the_error_of_all():
    data = batch(records(key_0=None, timestamp_1=1))
    error = refused(data, RejectedTimestamps, is_compacted=True, **LIMITS)
    assert [each.batch_index for each in error.record_errors] == [0, 1]


@pytest.mark.parametrize(
    ("bad", "changes", "error"),
    [
        (Record(0, None, b"", NOW), {"is_compacted": True}, errors.InvalidRecord),
        (Record(5, b"k", b"", NOW), {}, errors.InvalidRecord),
        (Record(0, b"k", b"", 1), LIMITS, errors.InvalidTimestamp),
    ],
)
def test_a_culprit_far_behind_is_refused_without_its_number(bad, changes, error):
    made = [Record(index, b"k", b"", NOW) for index in range(RECORDS_NAMED_MAX + 1)]
    bad.offset += len(made)
    data = patched(batch([*made, bad], codec=GZIP), layout.LAST_OFFSET_DELTA_OFFSET, layout.LENGTH, len(made))
    assert type(refused(data, error, **changes)) is error
    assert check(batch(made, codec=GZIP), rules(**changes), NOW).count == len(made)


# magic 0 and 1, from Produce 0 to 2


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [NONE, GZIP, SNAPPY, LZ4])
def test_old_messages_end_up_in_one_batch(magic, codec):
    data = bytearray(message_set(records(), magic, codec=codec))
    checked = check(data, rules(), NOW)
    assert checked.needs_rebuild and checked.count == 3 and checked.last_offset_delta == 2
    assert checked.max_timestamp == (NOW if magic else -1)
    placed = assign(checked, 100, 4, NOW)
    (made,) = batches(placed.data)
    assert (made.magic, made.compression, made.partition_leader_epoch) == (2, codec, 4)
    assert [record.offset for record in made.records()] == [100, 101, 102]
    assert made.max_timestamp == checked.max_timestamp and placed.converted_count == 3


def test_old_messages_are_held_to_the_same_rules():
    data = message_set(records(key_1=None), 1)
    error = refused(data, RejectedRecords, is_compacted=True)
    assert [each.batch_index for each in error.record_errors] == [0]  # each message is a batch of its own
    refused(message_set(records(timestamp_0=1), 1), RejectedTimestamps, **LIMITS)
    refused(message_set(records(), 1, timestamp_type=LOG_APPEND_TIME, log_append_time=5), RejectedTimestamps)
    refused(data, errors.MessageTooLarge, max_message_bytes=40)
    flipped = bytearray(data)
    flipped[-1] ^= 1
    refused(flipped, errors.CorruptMessage)


def test_a_compressed_message_must_come_alone():
    packed = message_set(records(), 1, codec=GZIP)
    refused(packed + packed, errors.InvalidRecord)
    refused(message_set(records(1), 1) + packed, errors.InvalidRecord)
    refused(message_set(records(1), 0) + message_set(records(1), 1), errors.InvalidRecord)
    refused(message_set(records(1), 1) + batch(), errors.InvalidRecord)


def test_inner_crc_and_inner_offsets_are_checked():
    inner = bytearray(message_set(records(), 1))
    gaps = message_set(records(offset_1=5, offset_2=6), 1)
    error = refused(message(6, 1, GZIP, NOW, None, compress(GZIP, gaps, magic=1)), RejectedRecords)
    assert [each.batch_index for each in error.record_errors] == [1, 2]
    inner[-1] ^= 1
    refused(message(2, 1, GZIP, NOW, None, compress(GZIP, inner, magic=1)), errors.CorruptMessage)
    refused(message(2, 1, GZIP, NOW, None, b"no gzip"), errors.UnknownServerError)


# assign


def test_in_place_the_buffer_itself_is_patched():
    data = batch(**PRODUCER)
    placed = assign(check(data, rules(), NOW), 1000, 8, NOW)
    made = RecordBatch(data)
    assert placed.data.obj is data and placed.last_offset == 1002 and placed.converted_count == 0
    assert (made.base_offset, made.last_offset, made.partition_leader_epoch) == (1000, 1002, 8)
    assert made.is_valid and made.producer_id == 7


def test_a_largest_timestamp_that_lies_is_put_right():
    data = patched(batch(), layout.MAX_TIMESTAMP_OFFSET, layout.TIMESTAMP, NOW + 10**9)
    assign(check(data, rules(), NOW), 0, 0, NOW)
    made = RecordBatch(data)
    assert made.max_timestamp == NOW and made.is_valid and made.timestamp_type == CREATE_TIME


def test_log_append_time_is_set_in_place():
    data = batch(codec=GZIP)
    assign(check(data, rules(timestamp_type=LOG_APPEND_TIME), NOW + 7), 0, 0, NOW + 7)
    made = RecordBatch(data)
    assert made.is_valid and {record.timestamp for record in made.records()} == {NOW + 7}


@pytest.mark.parametrize("source", range(5))
@pytest.mark.parametrize("target", range(5))
@pytest.mark.parametrize("timestamp_type", [CREATE_TIME, LOG_APPEND_TIME])
def test_another_codec_means_a_new_batch(source, target, timestamp_type):
    data = batch(codec=source, is_transactional=True, **PRODUCER)
    before = bytes(data)
    checked = check(data, rules(codec=target, timestamp_type=timestamp_type), NOW)
    assert checked.needs_rebuild is (source != target)
    placed = assign(checked, 50, 3, NOW)
    (made,) = batches(placed.data)
    assert made.is_valid and made.compression == target and made.timestamp_type == timestamp_type
    assert (made.base_offset, made.last_offset, made.partition_leader_epoch, made.count) == (50, 52, 3, 3)
    assert (made.producer_id, made.base_sequence, made.is_transactional) == (7, 0, True)
    assert [(r.key, r.value, r.timestamp) for r in made.records_as_written()] == [
        (r.key, r.value, r.timestamp) for r in records()
    ]
    if source != target:
        assert data == before


def test_a_rebuilt_batch_is_measured_again():
    data = batch([Record(0, b"k", bytes(5000), NOW)], codec=GZIP)
    checked = check(data, rules(codec=NONE, max_message_bytes=2000), NOW)
    with pytest.raises(errors.MessageTooLarge):
        assign(checked, 0, 0, NOW)


def test_levels_reach_the_codec():
    made = [Record(index, b"k%d" % index, b"value %d" % (index * 7919), NOW) for index in range(3000)]
    sizes = [
        len(assign(check(batch(made), rules(codec=ZSTD, compression_level=level), NOW), 0, 0, NOW).data)
        for level in (1, 19)
    ]
    assert sizes[1] < sizes[0]


def test_old_messages_get_the_append_time():
    checked = check(message_set(records(), 0), rules(timestamp_type=LOG_APPEND_TIME, codec=LZ4), NOW)
    (made,) = batches(assign(checked, 9, 1, NOW).data)
    assert made.max_timestamp == NOW == checked.max_timestamp and made.compression == LZ4
    assert isinstance(checked.batches[0], LegacyBatch)
