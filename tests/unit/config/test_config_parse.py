"""Parsing a set of values: defaults per release, unknown names, required ones, listener prefixes, plugins."""

import pytest

from odradek.config import ConfigError, broker, consumer, producer
from odradek.config.listeners import advertised, endpoints, inter_broker_listener, log_dirs

KRAFT = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.quorum.voters": "1@localhost:9093",
}

NAME = "sasl.mechanism.inter.broker.protocol"


def parse(release: str = "4.3", **more: object):
    changes = {name.replace("_", "."): value for name, value in more.items()}
    return broker.TABLE.parse({**KRAFT, **changes}, release)


@pytest.mark.contract("K17")
def test_defaults_are_those_of_the_release() -> None:
    assert parse("3.3")["num.recovery.threads.per.data.dir"] == 1
    assert parse("4.3")["num.recovery.threads.per.data.dir"] == 2
    assert producer.TABLE.at("3.3")["linger.ms"].default == 0
    assert producer.TABLE.at("4.3")["linger.ms"].default == 5


def test_a_release_that_is_no_profile_is_refused() -> None:
    with pytest.raises(ValueError, match=r"3\.9.*3\.3, 4\.3"):
        parse("3.9")


def test_given_names_are_told_from_defaults() -> None:
    config = parse(log_dirs="/a")
    assert "log.dirs" in config.given
    assert "log.dir" not in config.given
    assert config["log.dirs"] == ("/a",)


def test_unknown_names_are_warnings() -> None:
    config = parse(no_such="1")
    assert config.warnings == ("no.such is no config of a broker: ignored",)
    assert "no.such" not in config


def test_a_name_of_the_other_release_is_said_to_be_one() -> None:
    config = parse("4.3", zookeeper_connect="localhost:2181")
    assert config.warnings == ("zookeeper.connect is no config of release 4.3, but of 3.3: ignored",)
    config = parse("4.3", **{"auto.include.jmx.reporter": "true"})
    assert config.warnings == ("auto.include.jmx.reporter is no config of release 4.3, but of 3.9: ignored",)


def test_a_warning_is_one_line_whatever_the_name() -> None:
    (warning,) = parse(**{"x\n[ERROR] y": "1"}).warnings
    assert "\n" not in warning


@pytest.mark.contract("I5")
def test_a_required_name_is_named_when_it_is_missing() -> None:
    with pytest.raises(ConfigError, match=r'"process\.roles"'):
        broker.TABLE.parse({})
    with pytest.raises(ConfigError, match=r'"key\.deserializer"'):
        consumer.TABLE.parse({"bootstrap.servers": "h:1", "value.deserializer": "x"})


@pytest.mark.contract("I7")
def test_a_bad_value_names_key_value_and_what_is_allowed() -> None:
    with pytest.raises(ConfigError) as caught:
        parse(**{"log.message.timestamp.type": "Never"})
    assert str(caught.value) == (
        "Invalid value Never for configuration log.message.timestamp.type: "
        "String must be one of: CreateTime, LogAppendTime"
    )
    assert (caught.value.name, caught.value.value) == ("log.message.timestamp.type", "Never")


def test_null_is_refused_where_nothing_could_use_it() -> None:
    assert parse(**{"broker.rack": None})["broker.rack"] is None
    with pytest.raises(ConfigError, match=r"null for configuration log\.cleaner\.enable: Value must be non-null"):
        parse(**{"log.cleaner.enable": None})


def test_either_id_fills_the_other() -> None:
    values = {name: value for name, value in KRAFT.items() if name != "node.id"}
    assert broker.TABLE.parse({**values, "broker.id": "1"})["node.id"] == 1
    assert parse()["broker.id"] == 1


def test_a_listeners_config_has_the_type_and_the_checks_of_its_base() -> None:
    name = "listener.name.plaintext.max.connections"
    config = parse(**{name: "7"})
    assert config[name] == 7
    assert config.warnings == ()
    assert config.listener("PLAINTEXT", "max.connections") == 7
    assert config.listener("CONTROLLER", "max.connections") == 2147483647
    with pytest.raises(ConfigError, match=rf"{name}: Value must be at least 0"):
        parse(**{name: "-7"})


def test_a_mechanisms_config_goes_before_the_listeners() -> None:
    config = parse(
        **{
            "sasl.jaas.config": "broker",
            "listener.name.plaintext.sasl.jaas.config": "listener",
            "listener.name.plaintext.scram-sha-256.sasl.jaas.config": "mechanism",
        }
    )
    assert config.listener("plaintext", "sasl.jaas.config", "SCRAM-SHA-256").value == "mechanism"
    assert config.listener("PLAINTEXT", "sasl.jaas.config", "PLAIN").value == "listener"
    assert config.listener("CONTROLLER", "sasl.jaas.config", "PLAIN").value == "broker"


@pytest.mark.parametrize(
    "name",
    ["listener.name.", "listener.name.x", "listener.name.x.", "listener.name.x.no.such", "listener.name.x.plain.ssl.y"],
)
def test_prefixed_names_that_override_nothing_are_unknown(name: str) -> None:
    assert len(parse(**{name: "1"}).warnings) == 1


def test_plugin_names_are_handed_through_and_hidden() -> None:
    config = parse(**{"rsm.config.access.key": "s3cret"})
    assert config["rsm.config.access.key"] == "s3cret"
    assert config.warnings == ()
    assert "s3cret" not in repr(config)


def test_no_secret_shows_in_a_config() -> None:
    secrets = [name for name, row in broker.TABLE.at("3.3").items() if row.type.name == "PASSWORD"]
    assert len(secrets) > 10
    values = dict.fromkeys(secrets, "s3cret")
    config = broker.TABLE.parse({**KRAFT, **values}, "3.3")
    assert "s3cret" not in repr(config) + str(config) + repr(dict(config))
    assert {config.shown(name) for name in secrets} == {"[hidden]"}
    assert config.shown("ssl.keystore.location") is None


def test_too_many_names_are_refused() -> None:
    with pytest.raises(ConfigError, match="more than"):
        broker.TABLE.parse(dict.fromkeys(map(str, range(100_001)), "x"))


@pytest.mark.parametrize("release", ["3.3", "4.3"])
def test_listeners_and_directories_are_read_alike_in_both_releases(release: str) -> None:
    config = parse(release, log_dirs="/a, /b", **{"advertised.listeners": "plaintext://[::1]:9092"})
    assert log_dirs(config) == ("/a", "/b")
    assert [repr(one) for one in endpoints(config, "listeners")] == [
        "PLAINTEXT(PLAINTEXT)://localhost:9092",
        "CONTROLLER(PLAINTEXT)://localhost:9093",
    ]
    assert [repr(one) for one in advertised(config)] == ["PLAINTEXT(PLAINTEXT)://::1:9092"]
    assert inter_broker_listener(config) == "PLAINTEXT"


def test_without_advertised_listeners_all_but_the_controllers_are() -> None:
    assert [one.listener for one in advertised(parse())] == ["PLAINTEXT"]


@pytest.mark.contract("I2")
def test_every_row_says_what_it_is_and_why_it_is_not_served() -> None:
    for table in (broker.TABLE, producer.TABLE, consumer.TABLE):
        for row in table.rows.values():
            assert row.doc.endswith(".")
            assert len(row.doc.split()) >= 4
            assert row.served or row.not_served


def test_no_two_broker_configs_share_a_sentence() -> None:
    docs = [row.doc for row in broker.TABLE.rows.values()]
    assert len(set(docs)) == len(docs)


@pytest.mark.parametrize(
    ("threads", "size", "is_enough"), [(1, 1 << 20, False), (1, (1 << 20) + 1, True), (2, 2 << 20, False)]
)
def test_every_thread_of_the_cleaner_needs_more_than_a_mebibyte(threads: int, size: int, is_enough: bool) -> None:
    configs = {"log.cleaner.threads": threads, "log.cleaner.dedupe.buffer.size": size}
    if is_enough:
        assert parse(**configs)["log.cleaner.threads"] == threads
        return
    with pytest.raises(ConfigError, match="more than 1 MB for each"):
        parse(**configs)


@pytest.mark.parametrize(("given", "told"), [({}, "GSSAPI, its default"), ({NAME: "SCRAM"}, "SCRAM, as given")])
def test_the_mechanism_between_brokers_that_is_not_on_offer_is_named_with_what_helps(given, told) -> None:
    values = {
        **KRAFT,
        "listeners": "SASL_PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
        "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
    }
    with pytest.raises(ConfigError, match=rf"{NAME}, which is {told}: set {NAME}=PLAIN"):
        broker.TABLE.parse({**values, **given}, "4.3")


def test_a_listener_without_a_protocol_is_told_where_to_name_one() -> None:
    listeners = "FOO://localhost:9092,CONTROLLER://localhost:9093"
    with pytest.raises(ConfigError, match=r"listener FOO: add FOO:PLAINTEXT, .* to listener\.security\.protocol\.map"):
        parse(listeners=listeners, inter_broker_listener_name="FOO")
