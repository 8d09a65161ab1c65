"""Every decoder of a declared pipeline; what does not decode goes to the dead letters, or ends the query."""

import datetime
import io
import json

import fastavro
import pytest
from google.protobuf import descriptor_pb2
from pyspark.errors import PySparkException, StreamingQueryException

import spark_kit
from odradek.serde import SchemaRegistry
from odradek.serde.framing import head
from odradek.serde.schema import Schema
from odradek.spark.pipeline.decoding import dead_letters, decoded
from odradek.spark.pipeline.failure_text import failure_line
from odradek.spark.pipeline.mistakes import Place
from odradek.spark.pipeline.model import Decoder, TopicSource
from odradek.spark.pipeline.protobuf_types import descriptors_of, message_class
from pipeline_kit import Rows, pipeline, run
from schema_registry import schema_registry

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tags", "type": {"type": "map", "values": "string"}},
        {"name": "note", "type": ["null", "string"], "default": None},
    ],
}
OLD_ORDER = {**ORDER, "fields": ORDER["fields"][:3]}
MOMENT = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
BAD = b"\xff\xfe{"
EARLIEST = {"startingOffsets": "earliest"}


def avro(schema=ORDER, **value):
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(schema), {"at": MOMENT, "tags": {"a": "b"}, **value})
    return buffer.getvalue()


@pytest.fixture(scope="module")
def registry():
    with schema_registry() as server:
        yield server


@pytest.fixture
def descriptor(tmp_path):
    kinds = descriptor_pb2.FieldDescriptorProto
    files = descriptor_pb2.FileDescriptorSet()
    order = files.file.add(name="shop.proto", package="shop", syntax="proto3").message_type.add(name="Order")
    order.field.add(name="id", number=1, type=kinds.TYPE_INT64, label=1)
    order.field.add(name="tags", number=2, type=kinds.TYPE_STRING, label=3)
    path = tmp_path / "shop.desc"
    path.write_bytes(files.SerializeToString())
    return str(path)


def columns(frame):
    """The rows without the columns of the records."""
    rows = [row.asDict(recursive=True) for row in frame.collect()]
    return [{name: value for name, value in row.items() if not name.startswith("_")} for row in rows]


def test_every_decoder(spark, registry, descriptor):
    """A bad record, good ones, and one without a value, of each; as a batch, which is decoded as a stream is."""
    client = SchemaRegistry(registry.url)
    old, new = Schema(json.dumps(OLD_ORDER)), Schema(json.dumps(ORDER))
    framed = [
        head(client.register("any", old)) + avro(OLD_ORDER, id=1),
        head(client.register("t-value", new)) + avro(id=2),
    ]
    order = message_class(*descriptors_of("shop.Order", descriptor))(id=5, tags=["t", "u"]).SerializeToString()
    in_json = b'{"id": 1, "at": "2026-01-01T12:00:00Z", "in": {"x": [1, 2]}}'
    json_schema = "id BIGINT NOT NULL, at TIMESTAMP, `in` STRUCT<x: ARRAY<INT>>"
    by_message = {"message": "shop.Order", "descriptor": descriptor}

    at, tags = MOMENT.replace(tzinfo=None), {"a": "b"}
    cases = [
        (Decoder(kind="string"), ["grüße".encode()], [{"value": "grüße"}]),
        (
            Decoder(kind="json", schema=json_schema),
            [in_json, b'{"id": 2, "more": true}'],
            [{"id": 1, "at": at, "in": {"x": [1, 2]}}, {"id": 2, "at": None, "in": None}],
        ),
        (Decoder(kind="csv", schema="id INT, name STRING"), [b'7,"a, b"'], [{"id": 7, "name": "a, b"}]),
        (
            Decoder(kind="avro", schema=json.dumps(ORDER)),
            [avro(id=1, note="n")],
            [{"id": 1, "at": at, "tags": tags, "note": "n"}],
        ),
        (
            Decoder(kind="avro", registry=registry.url),
            framed,
            [{"id": number, "at": at, "tags": tags, "note": None} for number in (1, 2)],
        ),
        (Decoder(kind="protobuf", **by_message), [order], [{"id": 5, "tags": ["t", "u"]}]),
        (
            Decoder(kind="protobuf", registry=registry.url, **by_message),
            [head(9) + b"\0" + order],
            [{"id": 5, "tags": ["t", "u"]}],
        ),
    ]
    for decoder, good, expected in cases:
        source = TopicSource(
            name="s", place=Place("", 1), chosen_by="subscribe", topics="t", decoder=decoder, dead_letters="d"
        )
        rows = [(b"k", value, "t", 0, at, number) for number, value in enumerate([BAD, *good, None])]
        frame = spark.createDataFrame(
            rows, "key BINARY, value BINARY, topic STRING, partition INT, timestamp TIMESTAMP, offset BIGINT"
        )
        empty = dict.fromkeys(expected[0])
        assert columns(decoded(frame, source)) == [*expected, empty], decoder
        with_headers = frame.selectExpr("*", "CAST(NULL AS ARRAY<STRUCT<key: STRING, value: BINARY>>) AS headers")
        dead = dead_letters(with_headers, source).collect()
        assert [(row.key, row.value) for row in dead] == [(b"k", BAD)], decoder
        said = {each.key: each.value.decode() for each in dead[0].headers}
        assert said["odradek.reason"] and (said["odradek.topic"], said["odradek.offset"]) == ("t", "0")


def test_the_reasons_why_a_text_does_not_decode(spark):
    reasons = {
        "json": {
            b'{"id": "x"}': 'no JSON of the schema: {"id": "x"}',
            b"[1]": "no JSON of the schema",
            b"": "no JSON of the schema",
            b'{"name": "x"}': "the column id is missing",
            b"\xff": "no UTF-8",
        },
        "csv": {b"x,y": "no CSV of the schema: x,y", b"1,2,3": "no CSV of the schema", b"": "no CSV of the schema"},
    }
    for kind, parts in reasons.items():
        source = TopicSource(
            name="s",
            place=Place("", 1),
            chosen_by="subscribe",
            topics="t",
            decoder=Decoder(kind=kind, schema="id INT NOT NULL, name STRING"),
        )
        rows = [(b"k", value, "t", 0, MOMENT, number, []) for number, value in enumerate(parts)]
        frame = spark.createDataFrame(
            rows,
            "key BINARY, value BINARY, topic STRING, partition INT, timestamp TIMESTAMP, offset BIGINT, "
            "headers ARRAY<STRUCT<key: STRING, value: BINARY>>",
        )
        said = [row.headers[0].value.decode() for row in dead_letters(frame, source).collect()]
        assert len(said) == len(parts)
        assert all(any(part in each for each in said) for part in parts.values()), said
    with pytest.raises(PySparkException) as caught:
        decoded(frame.where("offset = 1"), source).collect()
    assert failure_line(str(caught.value)).startswith("the source s: topic t partition 0 offset 1: the value is no CSV")


def test_bad_records_are_dead_letters_beside_a_stream_that_goes_on(spark, broker, new_topic, tmp_path):
    """Both begin at the same place, whenever the one and the other start, and go on from their checkpoints."""
    topic, dead = new_topic(), new_topic()
    spark_kit.produce_values(broker.bootstrap, topic, ["before"])
    found = Rows()
    declared = pipeline(broker, tmp_path)
    declared.source("orders", topic=topic, decode="json", schema="id INT", dead_letters=dead)  # from the end
    declared.sink("found", "orders", function=found)
    run(declared, spark)
    bad = {"key": b"k", "value": BAD, "headers": [("trace", b"1")]}
    spark_kit.produce(broker.bootstrap, topic, [{"value": b'{"id": 1}'}, bad, {"value": b'{"id": 2}'}])
    run(declared, spark)
    assert found.own() == [{"id": 1}, {"id": 2}]
    [letter] = spark_kit.records_of(broker.bootstrap, dead)
    assert (letter.key, letter.value) == (b"k", BAD)
    headers = {name: value.decode() for name, value in letter.headers}
    assert int(headers.pop("odradek.timestamp")) > 0
    assert headers == {
        "trace": "1",
        "odradek.reason": "the value is no UTF-8",
        "odradek.source": "orders",
        "odradek.topic": topic,
        "odradek.partition": "0",
        "odradek.offset": "2",
    }


def test_what_a_record_brings_along_and_bad_records_that_end_the_query(spark, broker, new_topic, tmp_path):
    """Until dead letters are declared: then it goes on where it was, and the record that ended it is among them."""
    topic = new_topic(partitions=2)
    record = {"key": b"k", "value": b'{"id": 1}', "partition": 1, "timestamp_ms": 5000, "headers": [("h", b"v")]}
    spark_kit.produce(broker.bootstrap, topic, [record])
    seen, good, dead = Rows(), Rows(), new_topic()

    def declared(**fields):
        made = pipeline(broker, tmp_path)
        made.source("raw", topic=topic, options={**EARLIEST, "includeHeaders": True})
        options = EARLIEST if not fields else {}  # from the end: the checkpoint knows better
        made.source("orders", topic=topic, decode="json", schema="id INT NOT NULL", options=options, **fields)
        made.sink("seen", "raw", function=seen)
        made.sink("good", "orders", function=good)
        return made

    run(declared(), spark)
    assert seen.rows == [
        {
            "value": b'{"id": 1}',
            "_key": b"k",
            "_topic": topic,
            "_partition": 1,
            "_offset": 0,
            "_timestamp": datetime.datetime(1970, 1, 1, 0, 0, 5),
            "_headers": [{"key": "h", "value": b"v"}],
        }
    ]
    assert good.own() == [{"id": 1}]
    spark_kit.produce(broker.bootstrap, topic, [{"value": b'{"other": 1}', "partition": 1}])
    with pytest.raises(StreamingQueryException) as caught:
        run(declared(), spark)
    said = failure_line(str(caught.value))
    assert said == f"the source orders: topic {topic} partition 1 offset 1: the column id is missing"
    assert good.own() == [{"id": 1}]
    spark_kit.produce(broker.bootstrap, topic, [{"value": b'{"id": 2}', "partition": 1}])
    run(declared(dead_letters=dead), spark)
    assert good.own() == [{"id": 1}, {"id": 2}]
    assert [record.value for record in spark_kit.records_of(broker.bootstrap, dead)] == [b'{"other": 1}']
