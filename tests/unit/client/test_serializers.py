"""What a program hands in as a serializer, and what becomes of a value that it cannot take."""

import json
import uuid

import pytest

from odradek.client import serializers
from odradek.client.serializers import deserializer, serializer
from odradek.client.settings import client_config
from odradek.config import consumer, producer
from odradek.config.errors import ConfigError
from odradek.errors import KafkaError
from odradek.serde.errors import SerializationError

BOOTSTRAP = {"bootstrap.servers": "localhost:9092"}
JAVA = "org.apache.kafka.common.serialization."


def producing(mapping=None, **keywords):
    return client_config(producer.TABLE, {**BOOTSTRAP, **(mapping or {})}, keywords)


def consuming(mapping=None, **keywords):
    return client_config(consumer.TABLE, {**BOOTSTRAP, **(mapping or {})}, keywords)


def value_serializer(given):
    return serializer(given, is_key=False, config=producing())


def value_deserializer(given):
    return deserializer(given, is_key=False, config=consuming())


class Upper:
    """A serializer with context that remembers what it was told."""

    def __init__(self):
        self.told = []
        self.is_closed = False

    def configure(self, configs, is_key):
        self.told.append((dict(configs), is_key))

    def serialize(self, topic, headers, value):
        self.told.append((topic, headers, value))
        return None if value is None else value.upper().encode()

    def deserialize(self, topic, headers, data):
        self.told.append((topic, headers, data))
        return None if data is None else data.decode().lower()

    def close(self):
        self.is_closed = True


MADE = Upper()
NOTHING = 3


def test_without_a_serializer_bytes_go_through_as_they_are():
    assert serializer(None, is_key=True, config=producing()) is None
    assert deserializer(None, is_key=True, config=consuming()) is None
    for word in ("ByteArray", "ByteBuffer", "Bytes"):
        assert value_serializer(f"{JAVA}{word}Serializer") is None
        assert value_deserializer(f"{JAVA}{word}Deserializer") is None


def test_a_function_of_one_argument_is_enough():
    serialize = value_serializer(lambda value: json.dumps(value).encode())
    assert serialize("orders", (), {"id": 1}) == b'{"id": 1}'
    assert serialize("orders", (), None) is None, "a tombstone stays one"
    deserialize = value_deserializer(json.loads)
    assert deserialize("orders", (), b'{"id": 1}') == {"id": 1}
    assert deserialize("orders", (), None) is None
    assert value_deserializer(int)("orders", (), b"12") == 12, "a class without the method is a function"


def test_an_object_is_told_topic_and_headers():
    upper = Upper()
    headers = [("trace", b"1")]
    assert value_serializer(upper)("orders", headers, "a") == b"A"
    assert value_serializer(upper)("orders", (), None) is None
    assert value_deserializer(upper)("orders", headers, b"A") == "a"
    assert upper.told == [("orders", headers, "a"), ("orders", (), None), ("orders", headers, b"A")]


@pytest.mark.contract("A3", "A4")
def test_an_object_counts_as_the_config_and_is_found_in_it():
    upper = Upper()
    config = producing(key_serializer=upper, value_serializer=str.encode)
    assert serializer(None, is_key=True, config=config)("orders", (), "a") == b"A"
    assert serializer(None, is_key=False, config=config)("orders", (), "a") == b"a"
    assert config["key.serializer"] is upper
    assert config.warnings == ()


@pytest.mark.contract("A5", "A7")
@pytest.mark.parametrize("given", [Upper, f"{__name__}.Upper", f"{__name__}:Upper"])
def test_what_is_made_of_a_class_is_configured_with_everything_and_the_client_id(given):
    config = producing({"shop.name": "corner"}, client_id="me", value_serializer=given)
    serialize = serializer(None, is_key=False, config=config)
    assert serialize("orders", (), "a") == b"A"
    (told, is_key) = serialize.close.__self__.told[0]
    assert (told["client.id"], told["shop.name"], told["bootstrap.servers"]) == ("me", "corner", "localhost:9092")
    assert is_key is False
    assert serializer(Upper, is_key=True, config=producing()).close.__self__.told[0][1] is True


def test_an_object_is_not_configured_again_and_may_be_named():
    MADE.told.clear()
    value_serializer(f"{__name__}.MADE")("orders", (), None)
    assert MADE.told == [("orders", (), None)]


def test_each_is_closed_once_and_an_error_keeps_none_open(caplog):
    class Stuck(Upper):
        def close(self):
            raise OSError("stuck")

    upper = Upper()
    serializers.close(value_serializer(Stuck()), value_serializer(upper), value_deserializer(upper), None)
    assert upper.is_closed
    assert "a serializer could not be closed" in caplog.text


@pytest.mark.contract("A54")
@pytest.mark.parametrize("given", [f"{JAVA}StringSerializer", str.encode, Upper()])
def test_a_value_of_the_wrong_class_is_named_with_the_config(given):
    serialize = serializer(given, is_key=True, config=producing())
    with pytest.raises(
        KafkaError, match=r"A key of class int for topic orders cannot be made bytes by key\.serializer"
    ):
        serialize("orders", (), 3)


def test_what_a_serializer_makes_must_be_bytes():
    assert value_serializer(bytearray)("orders", (), b"a") == b"a"
    assert type(value_serializer(bytearray)("orders", (), b"a")) is bytes
    with pytest.raises(SerializationError, match=r"What value\.serializer made for topic orders is .* class str"):
        value_serializer(json.dumps)("orders", (), {})


def test_the_error_of_a_program_is_the_cause():
    with pytest.raises(SerializationError, match=r"cannot be read by value\.deserializer: JSONDecodeError") as caught:
        value_deserializer(json.loads)("orders", (), b"{")
    assert isinstance(caught.value.__cause__, json.JSONDecodeError)


def test_a_value_that_is_no_bytes_without_a_serializer():
    assert "The value is an object of class dict, not bytes: give the client a value_serializer" in str(
        serializers.not_bytes({}, is_key=False)
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (f"{JAVA}ListSerializer", "there is no such serializer here"),
        (f"{JAVA}StringDeserializer", "there is no such serializer here"),
        ("OrderSerializer", "named with its module"),
        ("no_such_module.Order", "cannot be imported: No module named 'no_such_module'"),
        (f"{__name__}.Lower", "cannot be imported"),
        (f"{__name__}.NOTHING", "must be a function of one argument, or have serialize"),
        (3, "must be a function of one argument, or have serialize"),
    ],
)
def test_what_is_no_serializer_is_told_with_its_config(given, told):
    with pytest.raises(ConfigError, match=told) as caught:
        value_serializer(given)
    assert caught.value.name == "value.serializer"


def test_a_class_that_needs_arguments_cannot_be_made():
    class Needy(Upper):
        def __init__(self, what):
            super().__init__()

    with pytest.raises(ConfigError, match="cannot be made without arguments"):
        value_serializer(Needy)


SAMPLES = [
    ("String", "grüße", "grüße".encode()),
    ("Integer", -2, b"\xff\xff\xff\xfe"),
    ("Long", 1 << 40, b"\0\0\1\0\0\0\0\0"),
    ("Short", 258, b"\1\2"),
    ("Float", 1.5, b"\x3f\xc0\0\0"),
    ("Double", -1.5, b"\xbf\xf8\0\0\0\0\0\0"),
    ("Boolean", True, b"\1"),
    ("UUID", uuid.UUID(int=7), b"00000000-0000-0000-0000-000000000007"),
    ("Void", None, None),
]


@pytest.mark.parametrize(("word", "value", "data"), SAMPLES)
def test_the_formats_of_kafka_by_javas_names(word, value, data):
    assert value_serializer(f"{JAVA}{word}Serializer")("t", (), value) == data
    assert value_deserializer(f"{JAVA}{word}Deserializer")("t", (), data) == value
    assert value_serializer(f"{JAVA}{word}Serializer")("t", (), None) is None
    assert value_deserializer(f"{JAVA}{word}Deserializer")("t", (), None) is None


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("Integer", 1 << 31),
        ("Integer", True),
        ("Integer", "3"),
        ("Short", 1 << 15),
        ("Float", 1e300),
        ("Double", "1"),
        ("Boolean", 1),
        ("UUID", "00000000-0000-0000-0000-000000000007"),
        ("String", "\ud800"),
        ("Void", b""),
    ],
)
def test_what_a_format_does_not_take(word, value):
    with pytest.raises(SerializationError):
        value_serializer(f"{JAVA}{word}Serializer")("t", (), value)


@pytest.mark.parametrize(
    ("word", "data"),
    [("Integer", b"\0" * 8), ("Long", b""), ("Boolean", b"\2"), ("UUID", b"7"), ("String", b"\xff"), ("Void", b"")],
)
def test_what_a_format_does_not_read(word, data):
    with pytest.raises(SerializationError):
        value_deserializer(f"{JAVA}{word}Deserializer")("t", (), data)


def test_the_encoding_of_text_is_a_config():
    config = producing({"value.serializer.encoding": "utf-16-be"}, value_serializer=f"{JAVA}StringSerializer")
    assert serializer(None, is_key=False, config=config)("t", (), "a") == b"\0a"
    config = consuming({"deserializer.encoding": "latin-1"}, key_deserializer=f"{JAVA}StringDeserializer")
    assert deserializer(None, is_key=True, config=config)("t", (), b"\xfc") == "ü"
