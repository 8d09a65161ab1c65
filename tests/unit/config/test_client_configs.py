"""What a producer and a consumer are told when nobody says otherwise, and which of their configs go together."""

import pytest

from odradek.config import ConfigError, consumer, producer
from odradek.config.client_rules import is_idempotent
from odradek.config.types import INT_MAX

PRODUCER = {"bootstrap.servers": "b:9092", "key.serializer": "K", "value.serializer": "V"}
CONSUMER = {"bootstrap.servers": "b:9092", "key.deserializer": "K", "value.deserializer": "V"}


def of_producer(**given):
    return producer.TABLE.parse({**PRODUCER, **{name.replace("_", "."): value for name, value in given.items()}}, "3.3")


def of_consumer(**given):
    return consumer.TABLE.parse({**CONSUMER, **{name.replace("_", "."): value for name, value in given.items()}}, "3.3")


@pytest.mark.contract("A14", "A19", "A21")
def test_what_a_producer_begins_with():
    config = of_producer()
    assert config["compression.type"] == "none"
    assert config["request.timeout.ms"] == 30_000
    assert config["retries"] == INT_MAX


@pytest.mark.contract("A20")
def test_the_acks_of_a_producer():
    assert of_producer()["acks"] == "all"
    for acks in ("all", "-1", "0", "1"):
        assert of_producer(acks=acks)["acks"] == acks
    for acks in ("2", "-2", "none"):
        with pytest.raises(ConfigError, match="acks"):
            of_producer(acks=acks)


@pytest.mark.contract("A18")
def test_a_batch_gets_the_time_of_one_whole_attempt():
    assert of_producer()["delivery.timeout.ms"] == 120_000
    of_producer(delivery_timeout_ms="107", linger_ms="7", request_timeout_ms="100")
    with pytest.raises(ConfigError, match=r"delivery\.timeout\.ms"):
        of_producer(delivery_timeout_ms="106", linger_ms="7", request_timeout_ms="100")


@pytest.mark.contract("A22", "A142")
def test_a_producer_is_idempotent_unless_it_is_told_what_contradicts_that():
    assert is_idempotent(of_producer())
    for contradiction in ({"acks": "1"}, {"retries": "0"}):
        assert not is_idempotent(of_producer(**contradiction))
        with pytest.raises(ConfigError, match=next(iter(contradiction))):
            of_producer(enable_idempotence="true", **contradiction)


@pytest.mark.contract("A34")
def test_transactions_need_idempotence_and_what_that_needs():
    assert is_idempotent(of_producer(transactional_id="t"))
    contradictions = {"enable.idempotence": "false", "acks": "1", "retries": "0"}
    contradictions["max.in.flight.requests.per.connection"] = "6"
    for name, value in contradictions.items():
        with pytest.raises(ConfigError, match="idempotence"):
            of_producer(transactional_id="t", **{name: value})


@pytest.mark.contract("B7", "B15", "B21", "B24", "B25", "B26", "B27", "B28")
def test_what_a_consumer_begins_with():
    config = of_consumer(group_id="g")
    assert config["request.timeout.ms"] == 30_000
    assert config["heartbeat.interval.ms"] == 3000
    assert (config["enable.auto.commit"], config["auto.commit.interval.ms"]) == (True, 5000)
    assert (config["fetch.min.bytes"], config["fetch.max.bytes"]) == (1, 50 << 20)
    assert config["fetch.max.wait.ms"] == 500
    assert config["max.partition.fetch.bytes"] == 1 << 20
    assert config["max.poll.records"] == 500
