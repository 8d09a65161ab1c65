"""kafka-python and aiokafka as independent readers and writers of record data, both directions."""

import pytest

from odradek.records import compression
from odradek.records.assign import assign
from odradek.records.batch import batches
from odradek.records.check import check, check_request
from odradek.records.layout import LOG_APPEND_TIME
from odradek.records.legacy import message_set
from odradek.records.record import Record
from odradek.records.rules import ProduceRules
from odradek.records.writer import BatchFields, record_batch

kafka_records = pytest.importorskip("kafka.record", reason="pip install kafka-python")
kafka_codec = pytest.importorskip("kafka.codec")
aio_default = pytest.importorskip("aiokafka.record.default_records", reason="pip install aiokafka")
aio_legacy = pytest.importorskip("aiokafka.record.legacy_records")
aio_memory = pytest.importorskip("aiokafka.record.memory_records")

NOW = 1_700_000_000_000
CLIENTS = ["kafka-python", "aiokafka"]
SHAPES = [(magic, codec) for magic in (0, 1, 2) for codec in range(5) if magic == 2 or codec < 4]


def some_records(magic, count=50):
    headers = [("h", b"x"), ("null", None)] if magic == 2 else []
    made = [Record(index, b"key-%d" % index, b"value " * index, NOW + index, headers) for index in range(count)]
    made[3].key = None
    made[5].value = None
    made[7].value = b""
    return made


def skip_what_the_client_lacks(client, magic, codec):
    name = compression.name_of(codec)
    if client == "kafka-python" and codec and not getattr(kafka_codec, f"has_{name}")():
        pytest.skip(f"kafka-python needs another library for {name}")
    if client == "aiokafka" and magic == 0 and name == "lz4":
        pytest.skip("aiokafka has no lz4 for magic 0")


def client_writes(client, magic, codec, made):
    if client == "kafka-python":
        builder = kafka_records.MemoryRecordsBuilder(magic, codec, 1 << 20)
        for record in made:
            builder.append(record.timestamp, record.key, record.value, list(record.headers))
        builder.close()
        return bytes(builder.buffer())
    if magic == 2:
        builder = aio_default.DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, 1 << 20)
        for record in made:
            builder.append(record.offset, record.timestamp, record.key, record.value, list(record.headers))
    else:
        builder = aio_legacy.LegacyRecordBatchBuilder(magic, codec, 1 << 20)
        for record in made:
            builder.append(record.offset, record.timestamp, record.key, record.value)
    return bytes(builder.build())


def client_reads(client, data):
    found = (kafka_records if client == "kafka-python" else aio_memory).MemoryRecords(bytes(data))
    while (batch := found.next_batch()) is not None:
        assert batch.validate_crc()
        for record in batch:
            timestamp = -1 if record.timestamp is None else record.timestamp
            yield Record(record.offset, record.key, record.value, timestamp, list(record.headers))


def without_timestamps(made):
    return [Record(record.offset, record.key, record.value) for record in made]


@pytest.mark.parametrize(("magic", "codec"), SHAPES)
@pytest.mark.parametrize("client", CLIENTS)
def test_we_read_what_the_client_writes(client, magic, codec):
    skip_what_the_client_lacks(client, magic, codec)
    made = some_records(magic)
    data = client_writes(client, magic, codec, made)
    found = list(batches(data))
    assert all(batch.is_valid and batch.magic == magic and batch.compression == codec for batch in found)
    got = [record for batch in found for record in batch.records()]
    assert got == (made if magic else without_timestamps(made))


@pytest.mark.parametrize(("magic", "codec"), SHAPES)
@pytest.mark.parametrize("client", CLIENTS)
def test_the_client_reads_what_we_write(client, magic, codec):
    skip_what_the_client_lacks(client, magic, codec)
    made = some_records(magic)
    data = record_batch(made, codec=codec) if magic == 2 else message_set(made, magic, codec=codec)
    assert list(client_reads(client, data)) == (made if magic else without_timestamps(made))


@pytest.mark.parametrize(("magic", "codec"), SHAPES)
@pytest.mark.parametrize("client", CLIENTS)
def test_what_the_client_sends_can_be_appended_and_read_back(client, magic, codec):
    skip_what_the_client_lacks(client, magic, codec)
    made = some_records(magic)
    data = bytearray(client_writes(client, magic, codec, made))
    check_request(data, 9 if magic == 2 else 2)
    checked = check(data, ProduceRules("t-0"), NOW)
    placed = assign(checked, 4000, 5, NOW)
    got = list(client_reads(client, placed.data))
    assert [(r.offset, r.key, r.value) for r in got] == [(r.offset + 4000, r.key, r.value) for r in made]
    assert checked.max_timestamp == (made[-1].timestamp if magic else -1)


@pytest.mark.parametrize("client", CLIENTS)
def test_the_client_sees_header_fields(client):
    fields = BatchFields(producer_id=9, producer_epoch=2, base_sequence=5, is_transactional=True, log_append_time=NOW)
    data = record_batch(some_records(2), fields)
    module = kafka_records if client == "kafka-python" else aio_memory
    batch = module.MemoryRecords(data).next_batch()
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (9, 2, 5)
    assert batch.is_transactional and not batch.is_control_batch and batch.timestamp_type == LOG_APPEND_TIME
    assert {record.timestamp for record in batch} == {NOW}
