"""The tables against those of Kafka 3.3.2 and 4.3.0, and our checks against what Kafka itself accepts."""

import json
from pathlib import Path

import pytest

from odradek.config import (
    ConfigError,
    admin,
    broker,
    client_metrics,
    client_rules,
    consumer,
    group,
    producer,
    quotas,
    topic,
)
from odradek.config.definition import Definition, Table
from odradek.config.properties import load
from odradek.config.sources import (
    BrokerLayers,
    broker_synonyms,
    check_topic_overrides,
    describe_broker,
    describe_topic,
)
from odradek.config.types import BOOLEAN, DOUBLE, INT, LIST, LONG, SHORT, STRING, Type, text_of

DATA = Path(__file__).parent / "data"
VERSIONS = {"3.3": "3.3.2", "4.3": "4.3.0"}
KAFKA = {release: json.loads((DATA / f"configs-{version}.json").read_text()) for release, version in VERSIONS.items()}
TABLES = {
    "broker": broker.TABLE,
    "topic": topic.TABLE,
    "producer": producer.TABLE,
    "consumer": consumer.TABLE,
    "admin": admin.TABLE,
    "group": group.TABLE,
    "client_metrics": client_metrics.TABLE,
    "quota_client": quotas.CLIENT,
    "quota_user": quotas.USER,
    "quota_user_client": quotas.CLIENT,
    "quota_user_scram": quotas.USER,
    "quota_ip": quotas.IP,
    "quota_broker": quotas.BROKER,
}
SCOPES = [(release, scope) for release in KAFKA for scope in KAFKA[release]]
KRAFT = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.quorum.voters": "1@localhost:9093",
}


OURS = {"consumer": ("fetch.buffer.bytes",)}  # configs that Kafka's client does not have


def as_kafka_lists_it(row: Definition, scope: str) -> dict[str, object]:
    """Our row in the form of the golden tables."""
    listed: dict[str, object] = {"type": row.type.name, "importance": row.importance}
    if row.is_required:
        listed["required"] = True
    else:
        listed["default"] = list(row.default) if isinstance(row.default, tuple) else row.default
    if row.validator.text is not None:
        listed["valid"] = row.validator.text
    if row.validator.minimum is not None:
        listed["min"] = row.validator.minimum
    if row.validator.maximum is not None:
        listed["max"] = row.validator.maximum
    if row.internal:
        listed["internal"] = True
    if row.update_mode is not None:
        listed["update_mode"] = row.update_mode
    if scope == "topic" and row.synonyms:
        listed["synonyms"] = [
            {"broker_config": synonym.name, "converts_5_to": str(synonym.convert(5))} for synonym in row.synonyms
        ]
    if scope == "broker" and len(broker_synonyms(row.name)) > 1:
        listed["synonyms"] = list(broker_synonyms(row.name))
    return listed


def of_kafka(release: str, scope: str) -> dict[str, dict[str, object]]:
    listed = KAFKA[release][scope]
    if scope == "quota_broker":
        # 3.3 lists every dynamic broker config here as well; those are compared with the broker's table
        return {name: row for name, row in listed.items() if name not in KAFKA[release]["broker"]}
    return listed


@pytest.mark.contract("I2", "I4", "I8", "I9", "I20")
@pytest.mark.parametrize(("release", "scope"), SCOPES)
def test_the_table_equals_kafkas(release: str, scope: str) -> None:
    rows = {name: row for name, row in TABLES[scope].at(release).items() if name not in OURS.get(scope, ())}
    assert {name: as_kafka_lists_it(row, scope) for name, row in rows.items()} == of_kafka(release, scope)


@pytest.mark.parametrize("scope", OURS)
def test_what_is_ours_says_so(scope: str) -> None:
    assert all(TABLES[scope].rows[name].doc.endswith("Odradek's own.") for name in OURS[scope])


def test_dynamic_broker_configs_are_those_3_3_lists_as_such() -> None:
    dynamic = {name for name, row in broker.TABLE.at("3.3").items() if row.is_dynamic}
    assert dynamic == KAFKA["3.3"]["quota_broker"].keys() - quotas.BROKER.rows.keys()


@pytest.mark.parametrize("scope", ["broker", "topic", "producer", "consumer", "admin"])
def test_what_only_3_9_has_is_listed_and_belongs_to_no_profile(scope: str) -> None:
    listed = json.loads((DATA / "configs-3.9.1.json").read_text())[scope]
    only = {name: row for name, row in TABLES[scope].rows.items() if row.releases == ("3.9",)}
    assert only.keys() == listed.keys() - KAFKA["3.3"][scope].keys() - KAFKA["4.3"][scope].keys()
    assert {name: as_kafka_lists_it(row, scope) for name, row in only.items()} == {n: listed[n] for n in only}


@pytest.mark.contract("I6")
@pytest.mark.parametrize("release", KAFKA)
@pytest.mark.parametrize("table", dict.fromkeys(TABLES.values()), ids=lambda table: table.name)
def test_every_default_passes_its_own_checks(table: Table, release: str) -> None:
    for row in table.at(release).values():
        # Kafka never checks a null that nobody set
        if not row.is_required and row.default is not None:
            assert row.parse(row.default) == row.default
            assert row.parse(text_of(row.default)) == row.default


VALUES = json.loads((DATA / "config-values.json").read_text())


@pytest.mark.contract("I14")
@pytest.mark.parametrize("release", VALUES["accepts"])
def test_validators_accept_what_kafkas_accept(release: str) -> None:
    differences = []
    for scope, configs in VALUES["accepts"][release].items():
        rows = TABLES[scope].at(release)
        for name, accepted in configs.items():
            is_number = rows[name].type in (INT, LONG, SHORT, DOUBLE)
            texts = VALUES["numbers" if is_number else "strings"]
            differences += [(scope, name, text) for text in texts if accepts(rows[name], text) != (text in accepted)]
    assert differences == []


def accepts(row: Definition, text: str | None) -> bool:
    try:
        row.parse(text)
    except ConfigError:
        return False
    return True


TYPES = json.loads((DATA / "config-types.json").read_text())


@pytest.mark.contract("I7")
@pytest.mark.parametrize("kind", [BOOLEAN, STRING, INT, SHORT, LONG, DOUBLE, LIST], ids=lambda kind: kind.name)
def test_types_parse_and_print_as_in_java(kind: Type) -> None:
    for text, is_valid, expected, printed in TYPES[kind.name]:
        if is_valid:
            assert text_of(kind.parse("n", text)) == printed
        else:
            with pytest.raises(ConfigError) as caught:
                kind.parse("n", text)
            if text.isprintable():
                assert str(caught.value) == expected


def test_doubles_print_as_in_java() -> None:
    smallest = 5e-324  # Java 17 prints 4.9E-324, the shortest form is 5E-324; both read back as the same
    for value, printed in TYPES["doubles"]:
        if value != smallest:
            assert text_of(value) == printed


def test_properties_files_read_as_in_java() -> None:
    for line in (DATA / "properties-java.jsonl").read_text().splitlines():
        case = json.loads(line)
        data = bytes.fromhex(case["bytes"])
        if data.startswith(b"\xef\xbb\xbf"):
            continue  # we take the byte order mark for what it is
        if "error" in case:
            with pytest.raises(ConfigError, match=r"line \d+: Malformed"):
                load(data)
        else:
            assert load(data) == case["properties"], data


# Where we refuse and Kafka fails later, or not at all.
STRICTER = (
    ("broker", "listeners", "PLAINTEXT://localhost:99999,CONTROLLER://localhost:9093"),  # no such port
    ("broker", "listener.name.plaintext.num.network.threads", "0"),  # Kafka looks at these when a listener starts
    ("broker", "listener.name.plaintext.max.connections", "x"),
    ("topic", "min.cleanable.dirty.ratio", "NaN"),  # no ratio compares with NaN
    # the clients check these when they are built, after their configs
    ("consumer", "heartbeat.interval.ms", "45000"),
    ("consumer", "heartbeat.interval.ms", "50000"),
    ("consumer", "enable.auto.commit", "true"),
    ("admin", "bootstrap.servers", ""),
    ("admin", "bootstrap.controllers", "localhost:9093"),
)
RULES = [json.loads(line) for line in (DATA / "config-rules.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("kind", ["broker", "topic", "producer", "consumer", "admin"])
def test_sets_of_configs_are_accepted_as_by_kafka(kind: str) -> None:
    layers = {release: BrokerLayers(KRAFT, release=release) for release in VERSIONS}
    differences = []
    for case in (case for case in RULES if case["kind"] == kind):
        try:
            if kind == "topic":
                check_topic_overrides(layers[case["release"]], case["values"])
            else:
                parsed = TABLES[kind].parse(case["values"], case["release"])
                if "idempotent" in case:
                    assert client_rules.is_idempotent(parsed) == case["idempotent"]
            accepted = True
        except ConfigError as error:
            assert "\n" not in str(error)
            accepted = False
        if accepted != case["accepted"] and not is_stricter(kind, case["values"], accepted):
            differences.append(case)
    assert differences == []


def is_stricter(kind: str, values: dict[str, str], accepted: bool) -> bool:
    if kind == "admin" and not accepted and not values:
        return True  # as bootstrap.servers above
    return not accepted and any((kind, name, value) in STRICTER for name, value in values.items())


@pytest.mark.parametrize(
    ("name", "release"),
    [("kafka-3.3.2-kraft", "3.3"), ("kafka-3.3.2-zk", "3.3"), ("kafka-4.3.0-kraft", "4.3")],
)
def test_server_properties_of_a_real_broker(name: str, release: str) -> None:
    path = DATA / "logdirs" / f"{name}.server.properties"
    values = load(path.read_bytes(), path.name)
    config = broker.TABLE.parse(values, release)
    assert config.warnings == ()
    assert config["log.retention.ms"] == -1
    assert config["broker.id"] == config["node.id"] == 1
    assert config["super.users"] == "User:ANONYMOUS;User:admin"
    assert config["allow.everyone.if.no.acl.found"] is True
    assert "alice-secret" in config.listener("SPX", "sasl.jaas.config", "PLAIN").value
    assert "alice-secret" not in repr(config)


BEHAVIOUR = {
    case["case"]: case
    for case in map(json.loads, (DATA / "behaviour-configs.jsonl").read_text(encoding="utf-8").splitlines())
}
# what had been set on those brokers at run time
DYNAMIC_DEFAULT = {
    "3.3": {"message.max.bytes": "1048588"},
    "4.3": {"message.max.bytes": "1048588", "min.insync.replicas": "1"},
}


def layers_of(release: str) -> BrokerLayers:
    path = DATA / "logdirs" / f"kafka-{VERSIONS[release]}-kraft.server.properties"
    return BrokerLayers(load(path.read_bytes()), DYNAMIC_DEFAULT[release], release=release)


@pytest.mark.parametrize("release", VERSIONS)
def test_describing_a_topic_answers_as_kafka_does(release: str) -> None:
    case = BEHAVIOUR["DescribeConfigs topic all, with synonyms"]
    answer = case[f"kafka_{VERSIONS[release].replace('.', '_')}"]["results"][0]["configs"]
    described = describe_topic(layers_of(release), {"max.message.bytes": "1000"})
    ours = {one.name: answered(one) for one in described if not one.definition.internal}
    assert ours == {listed["name"]: from_kafka(listed) for listed in answer}


@pytest.mark.parametrize("release", VERSIONS)
def test_describing_a_broker_answers_as_kafka_does(release: str) -> None:
    case = BEHAVIOUR["DescribeConfigs broker selected, with synonyms"]
    answer = case[f"kafka_{VERSIONS[release].replace('.', '_')}"]["results"][0]["configs"]
    names = case["request"][0]["body"]["resources"][0]["configurationKeys"]
    ours = {one.name: answered(one) for one in describe_broker(layers_of(release), names)}
    assert ours == {listed["name"]: from_kafka(listed) for listed in answer}


def answered(one):
    synonyms = [(synonym.name, synonym.text, synonym.source.code) for synonym in one.synonyms]
    return (one.text, one.source.code, one.is_sensitive, one.is_read_only, one.definition.type.code, synonyms)


def from_kafka(listed):
    synonyms = [(synonym["name"], synonym["value"], synonym["source"]) for synonym in listed["synonyms"]]
    return (
        listed["value"],
        listed["configSource"],
        listed["isSensitive"],
        listed["readOnly"],
        listed["configType"],
        synonyms,
    )


@pytest.mark.parametrize("release", VERSIONS)
@pytest.mark.parametrize("name", [name for name in BEHAVIOUR if name.startswith("CreateTopics")])
def test_refusals_have_kafkas_words(name: str, release: str) -> None:
    case = BEHAVIOUR[name]
    values = {config["name"]: config["value"] for config in case["request"][0]["body"]["topics"][0]["configs"]}
    message = case[f"kafka_{VERSIONS[release].replace('.', '_')}"]["topics"][0]["errorMessage"]
    with pytest.raises(ConfigError) as caught:
        check_topic_overrides(BrokerLayers(KRAFT, release=release), values)
    assert str(caught.value) == message
