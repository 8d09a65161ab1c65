"""Snapshots: typed, immutable, comparable, and checked against the table when they are declared."""

import pytest

from odradek.config import ConfigError, Password, broker, topic
from odradek.config.snapshot import Snapshot, field, optional, optional_strings, strings
from odradek.config.sources import BrokerLayers, topic_config

KRAFT = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.quorum.voters": "1@localhost:9093",
}


class LogConfig(Snapshot, of=topic.TABLE):
    segment_bytes = field("segment.bytes", int)
    min_cleanable_dirty_ratio = field("min.cleanable.dirty.ratio", float)
    preallocate = field("preallocate", bool)
    cleanup_policy = strings("cleanup.policy")
    message_timestamp_type = field("message.timestamp.type", str)
    internal_segment_bytes = optional("internal.segment.bytes", int)

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.cleanup_policy


class ListenerConfig(Snapshot, of=broker.TABLE):
    listeners = strings("listeners")
    advertised_listeners = optional_strings("advertised.listeners")
    ssl_key_password = optional("ssl.key.password", Password)
    super_users = field("super.users", str)


def log_config(release: str = "4.3", **overrides: str) -> LogConfig:
    names = {name.replace("_", "."): value for name, value in overrides.items()}
    return LogConfig.from_config(topic_config(BrokerLayers(KRAFT, release=release), names))


def listener_config(release: str = "4.3", **more: str) -> ListenerConfig:
    names = {name.replace("_", "."): value for name, value in more.items()}
    return ListenerConfig.from_config(broker.TABLE.parse({**KRAFT, **names}, release))


@pytest.mark.contract("I10")
def test_fields_have_the_values_of_the_config() -> None:
    config = log_config(cleanup_policy="compact,delete", segment_bytes="2000000")
    assert config.segment_bytes == 2_000_000
    assert config.min_cleanable_dirty_ratio == 0.5
    assert config.preallocate is False
    assert config.cleanup_policy == ("compact", "delete")
    assert config.message_timestamp_type == "CreateTime"
    assert config.internal_segment_bytes is None
    assert config.is_compacted


def test_a_config_that_the_release_lacks_is_none() -> None:
    assert log_config("3.3").internal_segment_bytes is None


@pytest.mark.parametrize("release", ["3.3", "4.3"])
def test_lists_that_3_3_has_as_strings_are_lists(release: str) -> None:
    config = listener_config(release)
    assert config.listeners == ("PLAINTEXT://localhost:9092", "CONTROLLER://localhost:9093")
    assert config.advertised_listeners is None


def test_a_plain_field_is_never_none() -> None:
    class Storage(Snapshot, of=broker.TABLE):
        replicas = field("default.replication.factor", int)

    assert Storage.from_config(broker.TABLE.parse(KRAFT)).replicas == 1
    config = broker.TABLE.parse(KRAFT)
    config._values["default.replication.factor"] = None
    with pytest.raises(ConfigError, match=r"default\.replication\.factor: Value must be non-null"):
        Storage.from_config(config)


def test_a_snapshot_does_not_change() -> None:
    config = log_config()
    with pytest.raises(AttributeError, match="immutable"):
        config.segment_bytes = 1
    with pytest.raises(AttributeError, match="immutable"):
        del config.segment_bytes
    with pytest.raises(AttributeError):
        config.other = 1
    assert not hasattr(config, "__dict__")


def test_replace_makes_another_one() -> None:
    config = log_config()
    small = config.replace(segment_bytes=100)
    assert (config.segment_bytes, small.segment_bytes) == (1073741824, 100)
    assert small.cleanup_policy == config.cleanup_policy
    assert config.replace(internal_segment_bytes=5).replace(internal_segment_bytes=None) == config
    with pytest.raises(TypeError, match="no field segment_byte"):
        config.replace(segment_byte=100)


def test_snapshots_compare_by_value() -> None:
    assert log_config() == log_config()
    assert hash(log_config()) == hash(log_config())
    assert log_config() != log_config(segment_bytes="2000000")
    assert log_config() != listener_config()


def test_the_repr_tells_everything_but_secrets() -> None:
    assert "segment_bytes=1073741824" in repr(log_config())
    assert "cleanup_policy=('delete',)" in repr(log_config())
    text = repr(listener_config(ssl_key_password="s3cret"))
    assert "ssl_key_password=[hidden]" in text
    assert "s3cret" not in text


def test_a_subclass_adds_to_the_fields() -> None:
    class More(LogConfig, of=topic.TABLE):
        retention_ms = field("retention.ms", int)

    more = More.from_config(topic_config(BrokerLayers(KRAFT), {}))
    assert (more.retention_ms, more.segment_bytes) == (604800000, 1073741824)
    assert more != more.replace(segment_bytes=5)
    assert not hasattr(more, "__dict__")


@pytest.mark.contract("I10")
@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (lambda: field("segment.byte", int), "segment.byte is no config of a topic"),
        (lambda: field("segment.bytes", str), "segment.bytes is INT: a field of int, not str"),
        (lambda: field("preallocate", int), "preallocate is BOOLEAN: a field of bool, not int"),
        (lambda: field("internal.segment.bytes", int), "declare it as optional"),
        (lambda: field("message.downconversion.enable", bool), "declare it as optional"),
    ],
)
def test_a_wrong_declaration_is_an_error_at_once(declared, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        type(Snapshot)("Wrong", (Snapshot,), {"wrong": declared()}, of=topic.TABLE)


def test_fields_need_a_table() -> None:
    with pytest.raises(TypeError, match="not the table"):
        type(Snapshot)("Wrong", (Snapshot,), {"segment_bytes": field("segment.bytes", int)})
