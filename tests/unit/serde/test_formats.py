"""Values with schemas, to bytes and back, with a registry between; and JSON without."""

import json
import sys
from typing import NamedTuple

import pytest

import outside
from odradek import serde
from odradek.serde import JSON, STRING, Json, Schema, SchemaRegistry, SerializationError, framing
from odradek.serde.schema import Reference
from odradek.serde.subjects import record_name, topic_record_name
from schema_registry import schema_registry


@pytest.fixture
def server():
    with schema_registry() as running:
        yield running


@pytest.fixture
def registry(server):
    return SchemaRegistry(server.url)


def there_and_back(form, value):
    data = form.serialize("orders", (), value)
    assert form.serialize("orders", (), None) is None
    assert form.deserialize("orders", (), None) is None
    return data, form.deserialize("orders", (), data)


# JSON


def test_json_without_a_schema():
    assert there_and_back(JSON, {"a": [1, None, "ü"]}) == ('{"a":[1,null,"ü"]}'.encode(), {"a": [1, None, "ü"]})
    with pytest.raises(SerializationError, match="there is no JSON for it"):
        JSON.serialize("t", (), {1j})
    with pytest.raises(SerializationError, match="3 bytes are no JSON"):
        JSON.deserialize("t", (), b"{a}")


def test_json_of_other_objects():
    form = Json(default=sorted, object_hook=lambda found: tuple(found.items()))
    assert there_and_back(form, {"a": {2, 1}}) == (b'{"a":[1,2]}', (("a", [1, 2]),))


def test_the_names_of_the_package():
    for name in serde.__all__:
        assert getattr(serde, name) is not None
        assert name in dir(serde)
    with pytest.raises(AttributeError, match="has no attribute 'XML'"):
        _ = serde.XML
    assert STRING.serialize("t", (), "a") == b"a"


def test_nothing_of_an_extra_is_loaded_before_it_is_used():
    extras = "('fastavro', 'google', 'jsonschema')"
    code = f"import sys; from odradek.serde import *; print([m for m in {extras} if m in sys.modules])"
    assert outside.run([sys.executable, "-c", code], check=True).stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("AvroSerde", "fastavro", "avro"),
        ("JsonSchemaSerde", "jsonschema", "jsonschema"),
        ("ProtobufSerde", "google.protobuf.message", "protobuf"),
    ],
)
def test_a_missing_extra_is_named_in_one_line(monkeypatch, name, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"comes with the extra {extra}: pip install 'odradek\[{extra}\]'") as caught:
        getattr(serde, name)(SchemaRegistry("http://127.0.0.1:1"), None)
    assert "\n" not in str(caught.value)


# Framing


@pytest.mark.parametrize(
    ("indexes", "data"),
    [((0,), b"\0"), ((1,), b"\x02\x02"), ((1, 0), b"\x04\x02\x00"), ((0, 300), b"\x04\x00\xd8\x04")],
)
def test_the_steps_to_a_message_type(indexes, data):
    assert framing.message_indexes(indexes) == data
    assert framing.after_message_indexes(b"x" + data + b"rest", 1) == (indexes, 1 + len(data))


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x04\x02", b"\x01", b"\xff\xff\xff\xff\xff\x01", b"\xc8\x01"])
def test_steps_that_make_no_sense(data):
    with pytest.raises(SerializationError):
        framing.after_message_indexes(data, 0)


@pytest.mark.parametrize("data", [b"", b"\0\0\0\0", b"\1\0\0\0\1", b"{}"])
def test_bytes_that_name_no_schema(data):
    with pytest.raises(SerializationError, match="do not begin with the id of a schema"):
        framing.schema_id(data)


# Avro

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": None}],
}


class Order(NamedTuple):
    id: int
    note: str | None = None


@pytest.fixture
def avro():
    pytest.importorskip("fastavro", reason="fastavro is not installed; install the extra avro")
    return serde.AvroSerde


def test_avro(server, registry, avro):
    form = avro(registry, ORDER)
    data, back = there_and_back(form, {"id": 3, "note": "x"})
    assert (data, back) == (b"\0\0\0\0\1\x06\x02\x02x", {"id": 3, "note": "x"})
    for _ in range(3):
        there_and_back(form, {"id": 3})
    assert server.asked == ["POST /subjects/orders-value/versions", "GET /schemas/ids/1"]


def test_the_schema_of_avro_is_parsed_once(monkeypatch, registry, avro):
    import fastavro

    parsed = []
    parse = fastavro.parse_schema
    monkeypatch.setattr(fastavro, "parse_schema", lambda *args, **options: parsed.append(1) or parse(*args, **options))
    form = avro(registry, json.dumps(ORDER))
    for _ in range(5):
        there_and_back(form, {"id": 3})
    assert len(parsed) == 2, "the own one and that of the writer"


def test_what_was_written_with_another_schema_is_brought_into_the_readers(registry, avro):
    older = {**ORDER, "fields": ORDER["fields"][:1]}
    data = avro(registry, older).serialize("orders", (), {"id": 1})
    assert avro(registry, ORDER).deserialize("orders", (), data) == {"id": 1, "note": None}
    assert avro(registry, ORDER, reads_as_written=True).deserialize("orders", (), data) == {"id": 1}
    assert avro(registry).deserialize("orders", (), data) == {"id": 1}


def test_objects_instead_of_dicts(registry, avro):
    form = avro(registry, ORDER, to_dict=Order._asdict, from_dict=lambda found: Order(**found))
    assert there_and_back(form, Order(1, "x"))[1] == Order(1, "x")


@pytest.mark.parametrize(
    ("options", "subject"),
    [
        ({"is_key": True}, "orders-key"),
        ({"subject": record_name}, "shop.Order"),
        ({"subject": topic_record_name}, "orders-shop.Order"),
    ],
)
def test_the_subject_of_a_schema(server, registry, avro, options, subject):
    avro(registry, ORDER, **options).prepare("orders")
    assert list(server.subjects) == [subject]


def test_who_may_not_register_looks_up(server, registry, avro):
    form = avro(registry, ORDER, registers=False)
    with pytest.raises(SerializationError, match="not found"):
        form.serialize("orders", (), {"id": 1})
    SchemaRegistry(server.url).register("orders-value", Schema(json.dumps(ORDER)))
    assert form.serialize("orders", (), {"id": 1})


def test_a_schema_that_uses_another(registry, avro):
    registry.register("order", Schema(json.dumps(ORDER)))
    text = json.dumps({"type": "record", "name": "Box", "fields": [{"name": "order", "type": "shop.Order"}]})
    box = Schema(text, references=(Reference("shop.Order", "order", 1),))
    value = {"order": {"id": 1, "note": None}}
    data = avro(registry, box).serialize("boxes", (), value)
    assert avro(registry).deserialize("boxes", (), data) == value


def test_what_avro_cannot_write_or_read(registry, avro):
    form = avro(registry, ORDER)
    with pytest.raises(SerializationError, match="does not fit the Avro schema"):
        form.serialize("orders", (), {"id": "three"})
    with pytest.raises(SerializationError, match="not what the Avro schema says"):
        form.deserialize("orders", (), form.serialize("orders", (), {"id": 1})[:-1])
    with pytest.raises(SerializationError, match="a schema is needed to write with"):
        avro(registry).serialize("orders", (), {})
    with pytest.raises(SerializationError, match="makes no sense"):
        avro(registry, "{")
    with pytest.raises(SerializationError, match="of the kind JSON, not AVRO"):
        avro(registry, Schema("{}", "JSON"))


# JSON Schema

PERSON = {"title": "Person", "type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}


@pytest.fixture
def json_schema():
    pytest.importorskip("jsonschema", reason="jsonschema is not installed; install the extra jsonschema")
    return serde.JsonSchemaSerde


def test_json_schema(server, registry, json_schema):
    form = json_schema(registry, PERSON)
    assert there_and_back(form, {"age": 3}) == (b'\0\0\0\0\1{"age":3}', {"age": 3})
    assert server.schemas[1]["schemaType"] == "JSON"
    there_and_back(form, {"age": 3})
    assert server.asked == ["POST /subjects/orders-value/versions", "GET /schemas/ids/1"]


def test_what_does_not_fit_a_json_schema(registry, json_schema):
    form = json_schema(registry, PERSON)
    with pytest.raises(SerializationError, match=r"'old' is not of type 'integer' \(at \$\.age\)"):
        form.serialize("orders", (), {"age": "old"})
    loose = json_schema(registry, PERSON, validates=False)
    data = loose.serialize("orders", (), {"age": "old"})
    assert loose.deserialize("orders", (), data) == {"age": "old"}
    with pytest.raises(SerializationError, match="is not of type"):
        form.deserialize("orders", (), data)
    with pytest.raises(SerializationError, match="makes no sense"):
        json_schema(registry, {"type": "nothing"})
    with pytest.raises(SerializationError, match="of the kind AVRO, not JSON"):
        json_schema(registry, Schema("{}"))


def test_the_title_is_the_name_of_a_json_schema(server, registry, json_schema):
    json_schema(registry, PERSON, subject=record_name).prepare("orders")
    assert list(server.subjects) == ["Person"]
    with pytest.raises(SerializationError, match="has no name"):
        json_schema(registry, {}, subject=record_name).prepare("orders")


# Protobuf


@pytest.fixture(scope="module")
def messages():
    """Classes as protoc would make them: a file with two types, one nested, which imports another file."""
    pytest.importorskip("google.protobuf", reason="protobuf is not installed; install the extra protobuf")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    money = descriptor_pb2.FileDescriptorProto(name="shop/money.proto", package="shop", syntax="proto3")
    money.message_type.add(name="Money").field.add(name="cents", number=1, type=3, label=1)
    orders = descriptor_pb2.FileDescriptorProto(name="shop/order.proto", package="shop", syntax="proto3")
    orders.dependency.append("shop/money.proto")
    order = orders.message_type.add(name="Order")
    order.field.add(name="id", number=1, type=3, label=1)
    order.field.add(name="price", number=2, type=11, label=1, type_name=".shop.Money")
    line = orders.message_type.add(name="Outer").nested_type.add(name="Line")
    line.field.add(name="text", number=1, type=9, label=1)
    pool.Add(money)
    pool.Add(orders)

    def message(name):
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))

    return message("shop.Order"), message("shop.Outer.Line"), message("shop.Money")


def test_protobuf(server, registry, messages):
    order, _, _ = messages
    form = serde.ProtobufSerde(registry, order)
    value = order(id=3)
    value.price.cents = 5
    data, back = there_and_back(form, value)
    assert data == b"\0\0\0\0\2" + b"\0" + b"\x08\x03\x12\x02\x08\x05"
    assert back == value and isinstance(back, order)
    assert sorted(server.subjects) == ["orders-value", "shop/money.proto"], "what a file imports is registered before"
    assert server.schemas[2]["references"] == [
        {"name": "shop/money.proto", "subject": "shop/money.proto", "version": 1}
    ]
    asked = len(server.asked)
    there_and_back(form, value)
    assert len(server.asked) == asked


def test_a_nested_message_is_found_by_its_steps(registry, messages):
    _, line, _ = messages
    data, back = there_and_back(serde.ProtobufSerde(registry, line), line(text="x"))
    assert data[5:8] == b"\x04\x02\x00"
    assert back.text == "x"


def test_what_protobuf_cannot_write_or_read(registry, messages):
    order, line, _ = messages
    form = serde.ProtobufSerde(registry, order)
    with pytest.raises(SerializationError, match=r"type shop\.Order was expected"):
        form.serialize("orders", (), line())
    with pytest.raises(SerializationError, match=r"are no shop\.Order"):
        form.deserialize("orders", (), b"\0\0\0\0\1\0\xff")
