"""Record data that Kafka 3.3.2 and 4.3.0 wrote: it reads as listed, and we write the same bytes."""

import base64
import gzip
import json
from pathlib import Path

import pytest

from odradek.protocol import errors
from odradek.records import compression, control, layout, varint
from odradek.records.assign import assign
from odradek.records.batch import RecordBatch, batches
from odradek.records.check import check, check_request
from odradek.records.convert import down_convert, recompress
from odradek.records.crc import crc32, crc32c
from odradek.records.layout import LOG_APPEND_TIME
from odradek.records.legacy import message_set
from odradek.records.murmur2 import murmur2, partition_for, positive_murmur2
from odradek.records.rules import ProduceRules
from odradek.records.writer import BatchFields, empty_batch, record_batch

DATA = Path(__file__).parent / "data"
TIMESTAMP_TYPES = {-1: "NoTimestampType", 0: "CreateTime", 1: "LogAppendTime"}
SAME_NAME = [
    "magic",
    "base_offset",
    "last_offset",
    "next_offset",
    "size",
    "partition_leader_epoch",
    "max_timestamp",
    "crc",
    "count",
    "attributes",
    "last_offset_delta",
    "base_timestamp",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "last_sequence",
    "delete_horizon_ms",
]
OTHER_NAME = {
    "compression": "codec_name",
    "valid": "is_valid",
    "transactional": "is_transactional",
    "control": "is_control",
}


def lines(name):
    with gzip.open(DATA / name) as file:
        return [json.loads(line) for line in file]


CASES = [
    pytest.param(case, id=f"{release}-{case['case']}")
    for release in ("3.3.2", "4.3.0")
    for case in lines(f"records-batches-{release}.jsonl.gz")
]


def raw(text):
    return None if text is None else bytes.fromhex(text)


def as_listed(record):
    headers = [[key, None if value is None else value.hex()] for key, value in record.headers]
    key, value = (None if field is None else field.hex() for field in (record.key, record.value))
    return [record.offset, record.timestamp, key, value, record.size_bytes, headers]


@pytest.mark.parametrize("case", CASES)
def test_reads_as_kafka_lists_it(case):
    found = list(batches(raw(case["hex"])))
    assert len(found) == len(case["batches"])
    for batch, listed in zip(found, case["batches"], strict=True):
        for name in SAME_NAME:
            if name in listed:
                assert getattr(batch, name) == listed[name], name
        for theirs, ours in OTHER_NAME.items():
            if theirs in listed:
                assert getattr(batch, ours) == listed[theirs], theirs
        assert TIMESTAMP_TYPES[batch.timestamp_type] == listed["timestamp_type"]
        records = list(batch.records())
        assert [as_listed(record) for record in records] == [
            [record[name] for name in ("offset", "timestamp", "key", "value", "size", "headers")]
            for record in listed["records"]
        ]
        for record, expected in zip(records, listed["records"], strict=True):
            assert record.sequence == expected.get("sequence", -1)
            if "control_type" in expected:
                assert control.NAMES[control.control_type(record.key)] == expected["control_type"]
            if "coordinator_epoch" in expected:
                assert control.coordinator_epoch(record.value) == expected["coordinator_epoch"]


def written_again(batch):
    if not isinstance(batch, RecordBatch):
        return message_set(
            list(batch.records()),
            batch.magic,
            codec=batch.compression,
            timestamp_type=batch.timestamp_type,
            log_append_time=batch.max_timestamp,
        )
    fields = BatchFields(
        partition_leader_epoch=batch.partition_leader_epoch,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        is_transactional=batch.is_transactional,
        is_control=batch.is_control,
        log_append_time=batch.max_timestamp if batch.timestamp_type == LOG_APPEND_TIME else None,
        delete_horizon_ms=batch.delete_horizon_ms,
    )
    records = list(batch.records_as_written())
    if not records:
        return empty_batch(fields, batch.base_offset, batch.last_offset, batch.max_timestamp)
    return record_batch(
        records, fields, codec=batch.compression, base_offset=batch.base_offset, last_offset=batch.last_offset
    )


@pytest.mark.contract("A100", "A101", "A103")
@pytest.mark.parametrize("case", CASES)
def test_writes_the_same(case):
    for batch in batches(raw(case["hex"])):
        again = written_again(batch)
        # Snappy's bytes differ between versions of its library, and our zstd frames name their content size.
        if batch.codec_name in ("none", "gzip", "lz4"):
            assert again == batch.buffer
        else:
            (read_again,) = batches(again)
            assert read_again.is_valid
            assert list(read_again.records()) == list(batch.records())


@pytest.mark.parametrize("case", CASES)
def test_a_flipped_bit_is_seen(case):
    data = bytearray(raw(case["hex"]))
    data[-1] ^= 1
    assert not list(batches(data))[-1].is_valid


@pytest.mark.parametrize("case", CASES)
def test_recompressed_into_every_codec(case):
    for batch in batches(raw(case["hex"])):
        if not isinstance(batch, RecordBatch):
            continue
        for codec in range(5):
            (again,) = batches(recompress(batch, codec))
            assert again.is_valid and again.compression == codec
            for name in SAME_NAME:
                if name not in ("size", "crc", "attributes"):
                    assert getattr(again, name) == getattr(batch, name), name
            assert again.attributes & ~7 == batch.attributes & ~7
            assert list(again.records_as_written()) == list(batch.records_as_written())


@pytest.mark.contract("A103")
@pytest.mark.parametrize("to_magic", [0, 1])
@pytest.mark.parametrize("case", CASES)
def test_converted_down(case, to_magic):
    data = raw(case["hex"])
    found = list(batches(data))
    if any(batch.magic > to_magic and batch.codec_name == "zstd" for batch in found if not batch.is_control):
        with pytest.raises(errors.UnsupportedCompressionType):
            down_convert(data, to_magic)
        return
    converted = down_convert(data, to_magic)
    kept = [batch for batch in found if not (batch.is_control and batch.magic > to_magic)]
    expected = [record for batch in kept for record in batch.records()]
    got = [record for batch in batches(converted.data) for record in batch.records()]
    assert all(batch.magic <= to_magic and batch.is_valid for batch in batches(converted.data))
    assert [(r.offset, r.key, r.value) for r in got] == [(r.offset, r.key, r.value) for r in expected]
    assert converted.converted_count == sum(len(list(b.records())) for b in kept if b.magic > to_magic)
    if to_magic == 1 and all(batch.magic > 0 for batch in found):
        assert [r.timestamp for r in got] == [r.timestamp for r in expected]


@pytest.mark.parametrize("case", [case for case in CASES if "-create-" in case.id])
def test_what_a_client_produced_passes_the_check_and_gets_offsets(case):
    data = bytearray(raw(case["hex"]))
    first = next(batches(data))
    if isinstance(first, RecordBatch):
        first.assign(0, -1)
    elif first.compression and first.magic:
        layout.BASE_OFFSET.pack_into(data, 0, len(list(first.records())) - 1)
    before = [(r.key, r.value, r.timestamp) for batch in batches(data) for r in batch.records()]
    checked = check(data, ProduceRules("t-0"), now_ms=1_700_000_000_000)
    assert checked.count == len(before)
    placed = assign(checked, 5000, 9, now_ms=1_700_000_000_000)
    (batch,) = batches(placed.data)
    assert batch.is_valid and batch.partition_leader_epoch == 9 and batch.last_offset == placed.last_offset
    assert [(r.offset, r.key, r.value, r.timestamp) for r in batch.records()] == [
        (5000 + index, *fields) for index, fields in enumerate(before)
    ]


@pytest.mark.contract("A57")
def test_murmur2():
    for line in lines("records-murmur2.jsonl.gz"):
        key = raw(line["key"])
        assert (murmur2(key), positive_murmur2(key)) == (line["murmur2"], line["positive"])
        assert murmur2(memoryview(key)) == line["murmur2"]
        for count, partition in line["partition"].items():
            assert partition_for(key, int(count)) == partition


def test_crc():
    for line in lines("records-crc.jsonl.gz"):
        data = raw(line["data"])
        for buffer in (data, bytearray(data), memoryview(data)):
            assert (crc32c(buffer), crc32(buffer)) == (line["crc32c"], line["crc32"])


VARINT_FORMS = {
    "varint": (varint.read_varint, varint.write_varint),
    "varlong": (varint.read_varlong, varint.write_varlong),
}


def test_varint():
    seen = set()
    for line in lines("records-varint.jsonl.gz"):
        for name, (read, write) in VARINT_FORMS.items():
            if name not in line:
                continue
            seen.add(name)
            encoded = raw(line[name])
            out = bytearray()
            write(out, line["value"])
            assert out == encoded
            assert read(b"?" + encoded + b"?", 1, 1 + len(encoded)) == (line["value"], 1 + len(encoded))
    assert seen == set(VARINT_FORMS)


def produce_cases():
    with (DATA / "behaviour-produce.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


RULES = {
    "small": {"max_message_bytes": 1000},
    "compact": {"is_compacted": True},
    "tsold": {"timestamp_before_max_ms": 1000, "timestamp_after_max_ms": 3_600_000},
}


def answer(request):
    """What check says to the one partition of a recorded request, as (error code, message, record errors)."""
    (topic,) = request["body"]["topicData"]
    records = topic["partitionData"][0]["records"]
    data = bytearray(base64.b64decode(records))
    try:
        check_request(data, request["version"])
        check(data, ProduceRules(f"{topic['name']}-0", **RULES.get(topic["name"], {})), now_ms=1_794_783_223_371)
    except errors.KafkaError as error:
        found = getattr(error, "record_errors", [])
        return error.code, error.message, [(each.batch_index, each.message) for each in found]
    return 0, None, []


@pytest.mark.parametrize("case", produce_cases(), ids=lambda case: case["case"])
def test_answers_as_a_4_3_broker_did(case):
    (partition,) = case["kafka_4_3_0"]["responses"][0]["partitionResponses"]
    code, message, record_errors = answer(case["request"][0])
    assert code == partition["errorCode"]
    assert record_errors == [
        (each["batchIndex"], each["batchIndexErrorMessage"]) for each in partition.get("recordErrors", [])
    ]
    if partition.get("errorMessage") is not None:
        assert message == partition["errorMessage"]


def test_every_codec_is_in_the_data():
    names = {batch["compression"] for case in CASES for batch in case.values[0]["batches"]}
    assert names == {codec.name for codec in compression.CODECS}
