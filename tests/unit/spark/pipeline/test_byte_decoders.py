"""Avro and Protobuf as columns of Spark, with and without a registry's framing; bad bytes have a reason."""

import datetime
import io
import json
from decimal import Decimal

import fastavro
import pytest
from google.protobuf import descriptor_pb2, timestamp_pb2

from odradek.serde.framing import head
from odradek.serde.registry import RegistryError, SchemaRegistry
from odradek.serde.schema import Schema
from odradek.spark.pipeline.avro_types import UnfitSchemaError, columns_of
from odradek.spark.pipeline.byte_decoders import AvroBytes, BadRecord, ProtobufBytes, decoder_of, outcome
from odradek.spark.pipeline.protobuf_types import descriptors_of, message_class
from schema_registry import schema_registry

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2}},
        {"name": "tags", "type": {"type": "map", "values": "int"}},
        {
            "name": "lines",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Line",
                    "fields": [{"name": "ref", "type": {"type": "string", "logicalType": "uuid"}}],
                },
            },
        },
        {"name": "last", "type": ["null", "Line"]},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
    ],
}
UUID = "12345678-1234-5678-1234-567812345678"
VALUE = {
    "id": 7,
    "note": None,
    "at": datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
    "price": Decimal("1.50"),
    "tags": {"a": 1},
    "lines": [{"ref": UUID}],
    "last": None,
    "kind": "B",
}
DECODED = {**VALUE, "tags": [("a", 1)]}


def avro(value, schema=ORDER):
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(schema), value)
    return buffer.getvalue()


def test_the_columns_of_an_avro_schema():
    assert columns_of(json.dumps(ORDER))[0] == (
        "`id` BIGINT, `note` STRING, `at` TIMESTAMP, `price` DECIMAL(8,2), `tags` MAP<STRING, INT>, "
        "`lines` ARRAY<STRUCT<`ref`: STRING>>, `last` STRUCT<`ref`: STRING>, `kind` STRING"
    )
    assert columns_of('"long"')[0] == "`value` BIGINT"


@pytest.mark.parametrize(
    ("schema", "part"),
    [
        ("{", "no JSON"),
        ('["int", "string"]', "union of 2 types"),
        ('{"type": "record", "name": "T", "fields": [{"name": "t", "type": ["null", "T"]}]}', "contains itself"),
        ('{"type": "record", "name": "T", "fields": [{"name": "t", "type": "U"}]}', "knows no type 'U'"),
    ],
)
def test_schemas_that_have_no_form_in_spark(schema, part):
    with pytest.raises(UnfitSchemaError, match=part):
        columns_of(schema)


def test_plain_avro():
    decode = decoder_of(AvroBytes(json.dumps(ORDER)))
    assert decode(avro(VALUE)) == DECODED
    assert outcome(decode, None) == {"value": None, "reason": None}
    for bad, part in ((b"\x02", "not what the Avro schema says"), (avro(VALUE) + b"xx", "2 bytes are left")):
        found = outcome(decode, bad)
        assert found["value"] is None and part in found["reason"]


@pytest.fixture
def registry():
    with schema_registry() as server:
        yield server


def test_avro_of_a_registry(registry):
    text = json.dumps(ORDER)
    number = SchemaRegistry(registry.url).register("orders-value", Schema(text))
    decode = AvroBytes(text, registry.url).decoder()
    assert decode(head(number) + avro(VALUE)) == DECODED
    with pytest.raises(BadRecord, match="used no registry"):
        decode(avro(VALUE))
    with pytest.raises(BadRecord, match="the registry has no schema 99"):
        decode(head(99) + avro(VALUE))


def test_a_registry_that_does_not_answer_is_no_fault_of_the_record(registry):
    registry.fails_with = 500
    with pytest.raises(RegistryError):
        AvroBytes(json.dumps(ORDER), registry.url).decoder()(head(1) + avro(VALUE))


def shop_file():
    """shop.proto, as protoc would describe it."""
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    line = file.message_type.add(name="Line")
    kinds = descriptor_pb2.FieldDescriptorProto
    line.field.add(name="ref", number=1, type=kinds.TYPE_STRING, label=1)
    order = file.message_type.add(name="Order")
    fields = {
        "id": (kinds.TYPE_INT64, 1, ""),
        "big": (kinds.TYPE_UINT64, 1, ""),
        "raw": (kinds.TYPE_BYTES, 1, ""),
        "lines": (kinds.TYPE_MESSAGE, 3, ".shop.Line"),
        "last": (kinds.TYPE_MESSAGE, 1, ".shop.Line"),
        "at": (kinds.TYPE_MESSAGE, 1, ".google.protobuf.Timestamp"),
        "tags": (kinds.TYPE_STRING, 3, ""),
    }
    for number, (name, (kind, label, of)) in enumerate(fields.items(), 1):
        order.field.add(name=name, number=number, type=kind, label=label, type_name=of or None)
    return file


@pytest.fixture
def descriptor(tmp_path):
    files = descriptor_pb2.FileDescriptorSet()
    timestamp_pb2.DESCRIPTOR.CopyToProto(files.file.add())
    files.file.append(shop_file())
    path = tmp_path / "shop.desc"
    path.write_bytes(files.SerializeToString())
    return str(path)


def test_protobuf(descriptor):
    descriptors, name = descriptors_of("shop.Order", descriptor)
    plain = ProtobufBytes(descriptors, name)
    assert plain.columns() == (
        "`id` BIGINT, `big` DECIMAL(20,0), `raw` BINARY, `lines` ARRAY<STRUCT<`ref`: STRING>>, "
        "`last` STRUCT<`ref`: STRING>, `at` TIMESTAMP, `tags` ARRAY<STRING>"
    )
    order = message_class(descriptors, name)(id=5, big=2**63, raw=b"x", lines=[{"ref": "a"}], tags=["t"])
    order.at.FromSeconds(60)
    bytes_ = order.SerializeToString()
    expected = {
        "id": 5,
        "big": Decimal(2**63),
        "raw": b"x",
        "lines": [{"ref": "a"}],
        "last": None,
        "at": datetime.datetime(1970, 1, 1, 0, 1, tzinfo=datetime.UTC),
        "tags": ["t"],
    }
    assert plain.decoder()(bytes_) == expected
    framed = ProtobufBytes(descriptors, name, is_framed=True).decoder()
    assert framed(head(3) + b"\0" + bytes_) == expected
    with pytest.raises(BadRecord, match="used no registry"):
        framed(b"x" + bytes_)
    with pytest.raises(BadRecord, match=r"bytes are no shop\.Order"):
        plain.decoder()(b"\xff\xff\xff")


def test_a_message_that_is_not_there(descriptor):
    descriptors, _ = descriptors_of("shop.Order", descriptor)
    with pytest.raises(UnfitSchemaError, match=r"no message shop\.Odrer: there are .*shop\.Order"):
        message_class(descriptors, "shop.Odrer")


def test_the_descriptors_of_a_class_bring_those_that_it_needs():
    descriptors, name = descriptors_of("google.protobuf.type_pb2:Type", None)
    assert name == "google.protobuf.Type"
    files = descriptor_pb2.FileDescriptorSet.FromString(descriptors)
    assert [file.name for file in files.file][-1] == "google/protobuf/type.proto" and len(files.file) == 3
    assert message_class(descriptors, name).DESCRIPTOR.full_name == name
