"""Which layer wins, which unit counts, and what is told about it."""

import pytest

from odradek.config import ConfigError
from odradek.config.sources import BrokerLayers, check_topic_overrides, describe_broker, describe_topic, topic_config

KRAFT = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.quorum.voters": "1@localhost:9093",
}


def layers(static=None, default=None, dynamic=None, release: str = "4.3") -> BrokerLayers:
    return BrokerLayers({**KRAFT, **(static or {})}, default, dynamic, release)


def sources_of(name: str, of: BrokerLayers, overrides=None) -> list[tuple[str, str | None, str]]:
    (described,) = (one for one in describe_topic(of, overrides or {}) if one.name == name)
    return [(one.name, one.text, one.source.name) for one in described.synonyms]


@pytest.mark.contract("I18")
def test_each_layer_hides_the_next() -> None:
    name, broker_name = "max.message.bytes", "message.max.bytes"
    static, default, dynamic = {broker_name: "4"}, {broker_name: "3"}, {broker_name: "2"}
    assert topic_config(layers(), {})[name] == 1048588
    assert topic_config(layers(static), {})[name] == 4
    assert topic_config(layers(static, default), {})[name] == 3
    assert topic_config(layers(static, default, dynamic), {})[name] == 2
    assert topic_config(layers(static, default, dynamic), {name: "1"})[name] == 1
    assert sources_of(name, layers(static, default, dynamic), {name: "1"}) == [
        (name, "1", "DYNAMIC_TOPIC_CONFIG"),
        (broker_name, "2", "DYNAMIC_BROKER_CONFIG"),
        (broker_name, "3", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
        (broker_name, "4", "STATIC_BROKER_CONFIG"),
        (broker_name, "1048588", "DEFAULT_CONFIG"),
    ]


@pytest.mark.parametrize(
    ("static", "retention_ms"),
    [
        ({}, 604_800_000),
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.hours": "-1"}, -1),
        ({"log.retention.ms": "-7"}, -1),
    ],
)
def test_the_most_precise_unit_counts(static: dict[str, str], retention_ms: int) -> None:
    assert topic_config(layers(static), {})["retention.ms"] == retention_ms


def test_other_limits_in_several_units() -> None:
    config = topic_config(layers({"log.roll.hours": "1", "log.roll.jitter.hours": "2"}), {})
    assert (config["segment.ms"], config["segment.jitter.ms"]) == (3_600_000, 7_200_000)
    assert topic_config(layers({"log.flush.scheduler.interval.ms": "9"}), {})["flush.ms"] == 9
    assert topic_config(layers({"log.flush.interval.ms": "8"}), {})["flush.ms"] == 8


def test_a_synonym_shows_only_behind_the_name_that_it_stands_in_for() -> None:
    assert sources_of("segment.ms", layers({"log.roll.hours": "1"})) == []
    assert sources_of("segment.ms", layers({"log.roll.ms": "5", "log.roll.hours": "1"})) == [
        ("log.roll.ms", "5", "STATIC_BROKER_CONFIG"),
        ("log.roll.hours", "1", "STATIC_BROKER_CONFIG"),
        ("log.roll.hours", "168", "DEFAULT_CONFIG"),
    ]


def test_unknown_overrides_are_refused_when_asked_for_and_ignored_when_loaded() -> None:
    with pytest.raises(ConfigError, match=r"^Unknown topic config name: log\.retention\.ms$"):
        check_topic_overrides(layers(), {"log.retention.ms": "1"})
    config = topic_config(layers(), {"log.retention.ms": "1"})
    assert config.warnings == ("log.retention.ms is no config of a topic: ignored",)


def test_a_topic_of_3_3_has_the_configs_of_3_3() -> None:
    config = topic_config(layers(release="3.3"), {"segment.bytes": "14"})
    assert config["segment.bytes"] == 14
    assert "message.downconversion.enable" in config
    assert "compression.gzip.level" not in config


def test_overrides_are_held_against_what_the_broker_sets() -> None:
    of = layers({"log.cleaner.max.compaction.lag.ms": "10"})
    with pytest.raises(ConfigError, match=r"^conflict topic config setting min\.compaction\.lag\.ms \(11\) > "):
        check_topic_overrides(of, {"min.compaction.lag.ms": "11"})


def test_no_secret_is_described() -> None:
    of = layers({"listener.name.plaintext.ssl.key.password": "s3cret"}, dynamic={"ssl.key.password": "s3cret"})
    for described in describe_broker(of):
        assert "s3cret" not in repr(described)
    (described,) = describe_broker(of, ["ssl.key.password"])
    assert described.is_sensitive
    assert described.text is None
    assert [(one.text, one.source.name) for one in described.synonyms] == [(None, "DYNAMIC_BROKER_CONFIG")]


def test_what_a_plugin_is_handed_is_described_as_a_secret() -> None:
    (described,) = describe_broker(layers({"rsm.config.key": "s3cret"}), ["rsm.config.key"])
    assert described.is_sensitive
    assert "s3cret" not in repr(described)


def test_read_only_is_what_cannot_change_at_run_time() -> None:
    described = {one.name: one.is_read_only for one in describe_broker(layers())}
    assert described["log.dirs"]
    assert not described["message.max.bytes"]
    assert not described["listeners"]


def test_names_that_the_broker_does_not_have_are_left_out() -> None:
    assert describe_broker(layers(), ["no.such", "listener.name.x.no.such"]) == []


def test_a_bad_dynamic_value_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"Invalid value x for configuration log\.cleaner\.threads"):
        layers(dynamic={"log.cleaner.threads": "x"})
