"""Type checkers know the keywords of the clients."""

import sys

import pytest

import outside
from odradek.client import python_names
from odradek.client.config_types import AdminConfig, ConsumerConfig, ProducerConfig
from odradek.client.settings import client_config
from odradek.config import admin, consumer, producer

TYPED = """
import json
import ssl
from pathlib import Path
from odradek import AdminClient, KafkaConsumer, KafkaProducer, aio
from odradek.client.config_types import ConsumerConfig, ProducerConfig
from odradek.serde import LONG, STRING
from odradek.serde.plain import String

KafkaProducer(bootstrap_servers="a:1", acks=1, linger_ms=5, value_serializer=str.encode)
KafkaConsumer[bytes, str]("orders", group_id="g", max_poll_records=3, value_deserializer=bytes.decode)
aio.KafkaProducer[bytes, bytes](bootstrap_servers="a:1")
aio.KafkaConsumer[bytes, bytes]("orders", {"group.id": "g"})
AdminClient(bootstrap_servers=["a:1", "b:2"], ssl_cafile=Path("ca.pem"), ssl_context=ssl.create_default_context())
AdminClient(sasl_oauth_token_provider=lambda: "token", sasl_username="me", sasl_plain_password="secret")
producer: ProducerConfig = {"acks": 1, "linger_ms": 5, "compression_type": "zstd"}
consumer: ConsumerConfig = {"group_id": "g", "max_poll_records": 3}

plain = KafkaConsumer("orders", bootstrap_servers="a:1", group_id="g")
reveal_type(next(plain).value)
with KafkaConsumer("orders", {"group.id": "g"}, value_deserializer=bytes.decode, key_deserializer=LONG) as decoded:
    reveal_type(decoded)
reveal_type(KafkaConsumer("orders", value_deserializer=json.loads))
reveal_type(KafkaConsumer("orders", value_deserializer=String))
reveal_type(KafkaConsumer("orders", value_deserializer=lambda data: len(data)))
reveal_type(KafkaConsumer[str, str]({"value.deserializer": "shop.Notes"}, key_deserializer="shop.Ids"))
named: KafkaConsumer[bytes, str] = KafkaConsumer({"value.deserializer": "shop.Notes"})


async def awaited() -> None:
    mine = aio.KafkaConsumer("orders", group_id="g")
    async for record in mine:
        reveal_type(record.key)
    async with aio.KafkaConsumer("orders", value_deserializer=STRING) as consumer:
        reveal_type(await consumer.poll(1.0))
"""
REVEALED = [
    "bytes | None",
    "odradek.client.consumer.kafka_consumer.KafkaConsumer[int, str]",
    "odradek.client.consumer.kafka_consumer.KafkaConsumer[bytes, Any]",
    "odradek.client.consumer.kafka_consumer.KafkaConsumer[bytes, str]",
    "odradek.client.consumer.kafka_consumer.KafkaConsumer[bytes, int]",
    "odradek.client.consumer.kafka_consumer.KafkaConsumer[str, str]",
    "bytes | None",
    "odradek.client.consumer.records.ConsumerRecords[bytes, str]",
]
WRONG = """
from odradek import AdminClient, KafkaConsumer, KafkaProducer

AdminClient(retries="many")
AdminClient(request_timeout=3)
KafkaProducer[bytes, bytes](linger_ms="much")
KafkaConsumer[bytes, bytes]("orders", group="g")
KafkaConsumer("orders", value_deserializer=3)
"""


def test_type_checkers_know_the_keywords(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed; install the extra dev")
    (tmp_path / "typed.py").write_text(TYPED)
    (tmp_path / "wrong.py").write_text(WRONG)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", "typed.py", "wrong.py"]
    told = outside.run(command, cwd=tmp_path).stdout
    about_typed = [line for line in told.splitlines() if line.startswith("typed.py")]
    assert [line.partition("Revealed type is ")[2].strip('"') for line in about_typed] == REVEALED, told
    assert 'wrong.py:4: error: Argument "retries" to "AdminClient" has incompatible type "str"; expected "int"' in told
    assert "wrong.py:6: error: No overload variant" in told  # the serializers decide which one is meant
    assert 'wrong.py:7: error: Unexpected keyword argument "group"' in told
    assert 'wrong.py:8: error: Argument "value_deserializer" to "KafkaConsumer" has incompatible type "int"' in told
    assert 'wrong.py:5: error: Unexpected keyword argument "request_timeout"' in told


@pytest.mark.parametrize(
    ("types", "table"),
    [(AdminConfig, admin.TABLE), (ConsumerConfig, consumer.TABLE), (ProducerConfig, producer.TABLE)],
)
def test_they_are_those_of_the_table(types, table):
    names = {name.replace(".", "_") for name in (*table.at("4.3"), *python_names.NAMES, *python_names.SAME)}
    assert set(types.__annotations__) == {name for name in names if "serializer" not in name}


def test_a_number_of_acks_may_be_a_number():
    config = client_config(producer.TABLE, {"bootstrap.servers": "a:1"}, {"acks": 1, "enable_idempotence": False})
    assert config["acks"] == "1"
