"""How configs are read: names of a list in any case, null beside no default, and nothing said about it."""

import pytest

from odradek.config import ConfigError, broker, consumer
from odradek.config.definition import REQUIRED

KRAFT = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.quorum.voters": "1@localhost:9093",
}
CONSUMER = {"bootstrap.servers": "h:1", "key.deserializer": "x", "value.deserializer": "x"}


@pytest.mark.contract("I14")
@pytest.mark.parametrize("text", ["consumer", "CONSUMER", "Consumer"])
def test_one_of_a_few_words_is_read_in_any_case(text):
    assert consumer.TABLE.parse({**CONSUMER, "group.protocol": text})["group.protocol"] == text
    with pytest.raises(ConfigError, match=r"group\.protocol"):
        consumer.TABLE.parse({**CONSUMER, "group.protocol": text + "s"})


@pytest.mark.contract("I14")
def test_the_case_of_a_word_does_not_depend_on_the_language():
    """In Turkish the small form of I has no dot: it would be another word."""
    with pytest.raises(ConfigError, match=r"group\.protocol"):
        consumer.TABLE.parse({**CONSUMER, "group.protocol": "CLASS\u0130C"})
    assert consumer.TABLE.parse({**CONSUMER, "group.protocol": "CLASSIC"})["group.protocol"] == "CLASSIC"


@pytest.mark.contract("I5")
def test_no_default_is_not_a_default_of_null():
    rows = consumer.TABLE.at("4.3")
    assert rows["key.deserializer"].default is REQUIRED
    assert rows["group.id"].default is None and not rows["group.id"].is_required
    assert consumer.TABLE.parse(CONSUMER)["group.id"] is None
    with pytest.raises(ConfigError, match=r"key\.deserializer"):
        consumer.TABLE.parse({name: value for name, value in CONSUMER.items() if name != "key.deserializer"})


@pytest.mark.contract("I8")
def test_the_first_brokers_of_a_3_3_consumer_are_a_list_that_may_be_empty_and_not_null():
    row = consumer.TABLE.at("3.3")["bootstrap.servers"]
    assert (row.type.name, row.default, row.importance) == ("LIST", (), "HIGH")
    others = {name: value for name, value in CONSUMER.items() if name != "bootstrap.servers"}
    assert consumer.TABLE.parse(others, "3.3")["bootstrap.servers"] == ()
    with pytest.raises(ConfigError, match=r"bootstrap\.servers"):
        consumer.TABLE.parse({**others, "bootstrap.servers": None}, "3.3")


@pytest.mark.contract("I16")
@pytest.mark.parametrize("release", ["3.3", "4.3"])
def test_a_config_is_made_without_a_word(release, capfd, caplog):
    broker.TABLE.parse({**KRAFT, "no.such": "1"}, release)
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


@pytest.mark.contract("I9")
@pytest.mark.parametrize("release", ["3.3", "4.3"])
def test_the_definitions_of_a_release_are_made_once(release):
    first = broker.TABLE.parse(KRAFT, release)
    rows = broker.TABLE.at(release)
    second = broker.TABLE.parse(KRAFT, release)
    assert broker.TABLE.at(release) is rows
    assert dict(first) == dict(second)
    assert rows is not consumer.TABLE.at(release)
