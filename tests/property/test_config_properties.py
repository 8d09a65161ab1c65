"""Configs under arbitrary input: round trips, and ConfigError as the only way to fail."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.config import ConfigError, broker, consumer, group, producer, providers, quotas, topic
from odradek.config.properties import dump, load
from odradek.config.sources import BrokerLayers, check_topic_overrides, describe_topic
from odradek.config.types import BOOLEAN, DOUBLE, INT, LIST, LONG, SHORT, STRING, text_of

DATA = Path(__file__).parent.parent / "golden" / "data"
KRAFT = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.quorum.voters": "1@localhost:9093",
}
RELEASES = st.sampled_from(["3.3", "4.3"])
TABLES = [broker.TABLE, topic.TABLE, producer.TABLE, consumer.TABLE, group.TABLE, quotas.USER]

# what a text is likely to trip over, among anything else
HOSTILE = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["", " ", ",", ",,", "-1", "0", "NaN", "1e999", "true", "*", "${env:X}", "://:", "a:b", "@", "1@:1"]
    ),
    st.from_regex(r"[A-Za-z]*://\[?[a-z0-9.:]*\]?:-?[0-9]{1,12}", fullmatch=True),
    st.integers().map(str),
)
VALUES = st.one_of(HOSTILE, st.none(), st.booleans(), st.integers(), st.floats(), st.binary(), st.lists(HOSTILE))


@given(st.dictionaries(st.text(), st.text()))
def test_a_written_file_reads_as_what_was_written(properties: dict[str, str]) -> None:
    assert load(dump(properties)) == properties


@given(st.binary(max_size=200))
def test_any_bytes_are_a_file_or_a_config_error(data: bytes) -> None:
    try:
        properties = load(data, "f")
    except ConfigError as error:
        assert str(error).startswith("f")
    else:
        assert load(dump(properties)) == properties


@given(st.text(alphabet="ab=: \t\f\n\r\\#!u0041", max_size=60))
def test_text_dense_with_syntax_reads_back(text: str) -> None:
    try:
        properties = load(text)
    except ConfigError:
        return
    assert load(dump(properties)) == properties


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (BOOLEAN, st.booleans()),
        (INT, st.integers(-(2**31), 2**31 - 1)),
        (SHORT, st.integers(-(2**15), 2**15 - 1)),
        (LONG, st.integers(-(2**63), 2**63 - 1)),
        (DOUBLE, st.floats(allow_nan=False)),
        (STRING, st.text().map(lambda text: text.strip("".join(map(chr, range(33)))))),
        (LIST, st.lists(st.from_regex(r"[a-z]+", fullmatch=True)).map(tuple)),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_a_value_printed_is_the_value_parsed(kind, values) -> None:
    @given(values)
    def printed_and_parsed(value: object) -> None:
        assert kind.parse("n", text_of(value)) == value
        assert kind.parse("n", value) == value

    printed_and_parsed()


@given(st.data(), RELEASES)
@settings(max_examples=200)
def test_any_value_of_any_config_is_taken_or_is_a_config_error(data: st.DataObject, release: str) -> None:
    table = data.draw(st.sampled_from(TABLES))
    rows = table.at(release)
    if not rows:
        return
    row = rows[data.draw(st.sampled_from(sorted(rows)))]
    try:
        row.parse(data.draw(VALUES))
    except ConfigError as error:
        assert row.name in str(error)
        assert str(error).isprintable()


@given(st.dictionaries(st.sampled_from(sorted(broker.TABLE.rows)), VALUES, max_size=6), RELEASES)
@settings(max_examples=200, deadline=None)
def test_any_broker_configs_parse_or_are_a_config_error(values: dict[str, object], release: str) -> None:
    try:
        broker.TABLE.parse({**KRAFT, **values}, release)
    except ConfigError as error:
        assert str(error).isprintable()


@given(st.dictionaries(st.sampled_from(sorted(topic.TABLE.rows)), HOSTILE, max_size=4), RELEASES)
@settings(max_examples=100, deadline=None)
def test_any_topic_configs_are_taken_and_described_or_are_a_config_error(values: dict[str, str], release: str) -> None:
    layers = BrokerLayers(KRAFT, release=release)
    try:
        config = check_topic_overrides(layers, values)
    except ConfigError:
        return
    for described in describe_topic(layers, values):
        assert described.text == text_of(config[described.name])
        assert (described.source.code == 1) == (described.name in values)


SECRETS = sorted(name for name, row in broker.TABLE.at("3.3").items() if row.is_sensitive)


@given(st.lists(st.sampled_from(SECRETS), unique=True))
def test_secrets_never_show(names: list[str]) -> None:
    config = broker.TABLE.parse({**KRAFT, **dict.fromkeys(names, "s3cret")}, "3.3")
    assert all(config[name].value == "s3cret" for name in names)
    assert "s3cret" not in repr(config) + repr(dict(config))


class NoWorld:
    def read_file(self, path: str) -> bytes:
        raise FileNotFoundError(2, "gone", path)

    def variable(self, name: str) -> str | None:
        return None


@given(st.text(alphabet="${}:fileenv/x", max_size=40), st.text(max_size=10))
def test_any_reference_is_kept_or_is_a_config_error(value: str, names: str) -> None:
    values = {
        "config.providers": "file,env",
        "config.providers.file.class": "FileConfigProvider",
        "config.providers.env.class": "EnvVarConfigProvider",
        "config.providers.file.param.allowed.paths": names,
        "a": value,
    }
    try:
        assert providers.resolve(values, NoWorld())["a"] == value
    except ConfigError as error:
        assert str(error).isprintable()


def test_each_set_that_kafka_accepts_gives_the_same_configs_when_written_and_read() -> None:
    for line in (DATA / "config-rules.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        assert load(dump(case["values"])) == case["values"]
