"""What a config table says of its configs is true: what is served is read, what is not has a reason, and is told of."""

import ast
from pathlib import Path

import pytest

import odradek
from odradek.config import broker, client_metrics, consumer, group, ignored, producer, quotas, topic
from odradek.config.broker.served import NOT_SERVED, PARTLY, SERVED
from odradek.config.definition import RELEASES
from odradek.config.errors import ConfigError
from odradek.config.parsed import Config
from odradek.config.reasons import AT_START_ONLY, REFUSED, WARNED
from odradek.config.types import text_of
from odradek.coordinator.group.protocol_config import ProtocolConfig
from odradek.replica.share.config import ShareGroupConfig

SOURCE = Path(odradek.__file__).parent
KRAFT = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.quorum.voters": "1@localhost:9093",
    "log.dirs": "/data",
}
TABLES = (broker.TABLE, topic.TABLE, group.TABLE, client_metrics.TABLE, producer.TABLE, consumer.TABLE, quotas.USER)


def all_rows():
    return {**broker.TABLE.companions, **broker.TABLE.rows}


def test_every_broker_config_is_either_served_or_not():
    names = set(all_rows())
    assert names == SERVED | set(NOT_SERVED)
    assert not SERVED & set(NOT_SERVED)
    assert set(PARTLY) <= SERVED


def test_every_reason_has_words_and_a_kind():
    for table in TABLES:
        for row in table.rows.values():
            if row.not_served is not None:
                assert row.not_served.kind in (WARNED, REFUSED, AT_START_ONLY), row.name
                assert len(row.not_served.text.split()) > 2, row.name
                assert "comes with the broker" not in row.not_served.text


# Who reads it


def names_in(path):
    return {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}


def names_that_are_read():
    """Every text in the source, but for the tables themselves."""
    tables = {SOURCE / "config" / name for name in ("topic.py", "security.py", "shared.py", "client.py", "group.py")}
    tables |= {SOURCE / "config" / name for name in ("producer.py", "consumer.py", "admin.py", "quotas.py")}
    tables |= set((SOURCE / "config" / "broker").glob("*.py")) - {SOURCE / "config" / "broker" / "rules.py"}
    return set().union(*(names_in(path) for path in SOURCE.rglob("*.py") if path not in tables))


class Reading(Config):
    """A config that knows what was asked of it."""

    __slots__ = ("read",)

    def __init__(self, config):
        super().__init__(config.table, config.release, config._values, config.given)
        self.read = set()

    def __getitem__(self, name):
        self.read.add(name)
        return super().__getitem__(name)


def names_that_are_put_together():
    """By those who serve several kinds of groups alike."""
    config = Reading(broker.TABLE.parse(KRAFT, "4.3"))
    for protocol in ("consumer", "share", "streams"):
        ProtocolConfig(config, protocol)
    names = ("record.lock.duration.ms", "delivery.count.limit", "partition.max.record.locks")
    for own in ({}, {f"share.{name}": "1" for name in names}):
        of_group = ShareGroupConfig(config, own)
        _ = of_group.lock_duration_ms, of_group.delivery_limit, of_group.locks_max
    return config.read


def test_whatever_is_said_to_be_served_is_read_by_somebody():
    read = names_that_are_read() | names_that_are_put_together()
    through_a_topic = {
        synonym.name for row in topic.TABLE.rows.values() if row.name in read and row.served for synonym in row.synonyms
    }
    assert SERVED - read - through_a_topic == set()


def test_a_topic_config_that_is_served_is_read_by_somebody():
    read = names_that_are_read()
    assert {name for name, row in topic.TABLE.rows.items() if row.served} - read == set()


def test_a_topic_config_is_served_if_the_broker_config_behind_it_is():
    for row in topic.TABLE.rows.values():
        for synonym in row.synonyms:
            assert broker.TABLE.rows[synonym.name].served == row.served, (row.name, synonym.name)


# What is told


CANDIDATES = (
    "x",
    "true",
    "false",
    "7",
    "1",
    "2000",
    "0.6",
    "0.1",
    "ES256",
    "3.2",
    "PLAINTEXT",
    "CONTROLLER",
    "20000000",
)


def set_to_something_else(name, release):
    """The config with this one changed, whatever its type takes."""
    for value in CANDIDATES:
        try:
            config = broker.TABLE.parse({**KRAFT, name: value}, release)
        except ConfigError:
            continue
        if name in config and not ignored.is_default(broker.TABLE.find(name, release), config[name]):
            return config
    raise AssertionError(f"no value for {name}")


CANNOT_BE_SET_IN_KRAFT = {"control.plane.listener.name"}


@pytest.mark.parametrize(
    ("release", "name"),
    [
        (release, name)
        for release in RELEASES
        for name, row in all_rows().items()
        if not row.served and release in row.releases and name not in CANNOT_BE_SET_IN_KRAFT
        if row.not_served.kind != AT_START_ONLY
    ],
)
def test_what_is_not_served_is_told_of_with_its_reason(release, name):
    lines = ignored.lines(ignored.in_file(set_to_something_else(name, release)))
    assert len(lines) == 1
    assert lines[0].startswith(f"{name}=")
    assert lines[0].endswith(f" has no effect: {broker.TABLE.find(name, release).not_served.text}")


@pytest.mark.parametrize("release", RELEASES)
def test_a_default_that_is_written_down_is_no_news(release):
    defaults = {
        name: text_of(row.default)
        for name, row in {**broker.TABLE.companions, **broker.TABLE.at(release)}.items()
        if not row.served and release in row.releases and row.not_served.kind != AT_START_ONLY
        if row.default is not None
    }
    assert len(defaults) > 80
    assert ignored.in_file(broker.TABLE.parse({**KRAFT, **defaults}, release)) == []


def test_configs_with_one_reason_share_a_line():
    changed = {"num.replica.fetchers": "4", "replica.fetch.min.bytes": "9", "background.threads": "3"}
    lines = ignored.lines(ignored.in_file(broker.TABLE.parse({**KRAFT, **changed})))
    assert lines == [
        "background.threads=3 has no effect: it is about the inside of a Java process",
        "num.replica.fetchers=4, replica.fetch.min.bytes=9 have no effect: one node replicates nothing; several come "
        "with the cluster, which is not built",
    ]


def test_a_secret_is_not_shown_and_a_long_value_is_cut():
    changed = {"ssl.keystore.password": "s3cret", "metric.reporters": "y" * 5000}
    text = "\n".join(ignored.lines(ignored.in_file(broker.TABLE.parse({**KRAFT, **changed}))))
    assert "s3cret" not in text and "ssl.keystore.password=[hidden]" in text
    assert len(text) < 500


def test_a_config_for_one_listener_is_told_of_under_its_own_name():
    changed = {"listener.name.plaintext.ssl.protocol": "TLSv1.2", "rsm.config.bucket": "b"}
    text = "\n".join(ignored.lines(ignored.in_file(broker.TABLE.parse({**KRAFT, **changed}))))
    assert "listener.name.plaintext.ssl.protocol=TLSv1.2 has no effect" in text
    assert "rsm.config.bucket=[hidden] has no effect: tiered storage is not built" in text
