"""Metrics of a running broker beside the catalogue of Kafka's: we export no name that Kafka does not have."""

import gzip
import json
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from broker_kit import SimBroker, SimClient
from odradek.metrics import help as help_lines
from odradek.metrics.text import prometheus_text
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from odradek.sim.world import World

DATA = Path(__file__).parent / "data"
PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
VERSIONS = {"3.3": "3.3.2", "4.3": "4.3.0"}


def beans(release):
    """(group, type, name or attribute) of every bean of Kafka's; one without a name has one for each attribute."""
    found = set()
    for bean in json.loads(gzip.decompress((DATA / "metrics.json.gz").read_bytes()))[VERSIONS[release]]:
        group, _, rest = bean["name"].partition(":")
        keys = dict(re.findall(r"([\w-]+)=([^,]*)", rest))
        names = [keys["name"]] if "name" in keys else list(bean["attributes"])
        found |= {(group, keys.get("type", ""), name) for name in names}
    return found


@pytest.fixture(params=["3.3", "4.3"])
def broker(request):
    return started(request.param)


def started(release):
    broker = SimBroker(World(seed=2), release=release).wait_until_ready()
    client = SimClient(broker.world, "client", broker.address)
    client.ask(MetadataRequest(topics=[MetadataRequestTopic(name="t")], allow_auto_topic_creation=True), 9)
    broker.world.run_for(2000)
    return broker


def exported(broker):
    return {(name.group, name.type, name.name or name.attribute) for name, _ in broker.server.shared.metrics}


def test_every_name_is_kafkas(broker):
    """Of either release: a profile decides what a broker does, not what it counts."""
    ours = {metric for metric in exported(broker) if metric[0].startswith("odradek.")}
    assert exported(broker) - ours - beans("3.3") - beans("4.3") == set()
    unsaid = [metric for metric in ours if "{}:type={},name={}`".format(*metric) not in PAGE.read_text()]
    assert unsaid == [], "what is ours is on the page"


def not_counted():
    """The table of docs/metrics.md: patterns of (group, type, name)."""
    rows = re.findall(r"^\| `([\w.]+):type=([^`]+)` \| ([^|]+) \| [^|]+ \|$", PAGE.read_text(), re.MULTILINE)
    for group, type_, names in rows:
        for name in names.replace("\\", "").split(", "):
            yield group, type_, "*" if name == "all" else name


def is_one(metric, pattern):
    return metric[:2] == pattern[:2] and fnmatchcase(metric[2], pattern[2])


@pytest.mark.parametrize("release", ["3.3", "4.3"])
def test_what_kafka_counts_is_counted_or_the_page_says_why_not(release):
    broker = started(release)
    missing = beans(release) - exported(broker)
    unsaid = {metric for metric in missing if not any(is_one(metric, pattern) for pattern in not_counted())}
    assert unsaid == set()


def test_the_page_names_nothing_that_is_counted_or_that_kafka_does_not_have():
    counted = exported(started("4.3"))
    kafkas = beans("3.3") | beans("4.3")
    for pattern in not_counted():
        assert any(is_one(metric, pattern) for metric in kafkas), pattern
        if "*" not in pattern[2]:
            assert not any(is_one(metric, pattern) for metric in counted), pattern


def test_the_ones_that_dashboards_need_are_there(broker):
    wanted = {
        ("kafka.server", "BrokerTopicMetrics", "MessagesInPerSec"),
        ("kafka.server", "BrokerTopicMetrics", "BytesInPerSec"),
        ("kafka.server", "BrokerTopicMetrics", "BytesOutPerSec"),
        ("kafka.server", "ReplicaManager", "UnderReplicatedPartitions"),
        ("kafka.server", "ReplicaManager", "PartitionCount"),
        ("kafka.server", "ReplicaManager", "LeaderCount"),
        ("kafka.controller", "KafkaController", "ActiveControllerCount"),
        ("kafka.controller", "KafkaController", "OfflinePartitionsCount"),
        ("kafka.network", "RequestMetrics", "TotalTimeMs"),
        ("kafka.network", "RequestMetrics", "RequestsPerSec"),
        ("kafka.server", "KafkaRequestHandlerPool", "RequestHandlerAvgIdlePercent"),
        ("kafka.log", "Log", "Size"),
        ("kafka.log", "LogManager", "OfflineLogDirectoryCount"),
        ("kafka.server", "KafkaServer", "BrokerState"),
    }
    assert wanted - exported(broker) == set()


# What Prometheus reads

HELP = re.compile(r"# HELP (?P<family>[a-zA-Z_:][a-zA-Z0-9_:]*) (?P<told>(?:[^\\\n]|\\\\|\\n)+)")
TYPE = re.compile(r"# TYPE (?P<family>[a-zA-Z_:][a-zA-Z0-9_:]*) (?P<kind>counter|gauge)")
SAMPLE = re.compile(
    r"(?P<family>[a-zA-Z_:][a-zA-Z0-9_:]*)"
    r'(?P<labels>\{[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"(?:,[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*")*\})?'
    r" (?P<value>[-+]?[0-9.]+(?:e[-+]?[0-9]+)?|NaN|[+-]Inf)"
)


def families(page):
    """The samples of each family; an error where the page breaks a rule of the format (text, version 0.0.4).

    A family is one block: its HELP, its TYPE, its samples, of which no two have the same labels.
    """
    found, current = {}, None
    lines = iter(page.removesuffix("\n").split("\n"))
    for line in lines:
        if line.startswith("# "):
            told, kind = HELP.fullmatch(line), TYPE.fullmatch(next(lines))
            current = told["family"]
            assert kind["family"] == current
            assert current not in found, "a family comes once"
            found[current] = {}
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample["family"] == current, line
            assert sample["labels"] not in found[current], line
            found[current][sample["labels"]] = float(sample["value"])
    return found


def test_the_page_is_what_prometheus_reads(broker):
    found = families(prometheus_text(broker.server.shared.metrics).decode())
    assert len(found) > 200
    assert all(found.values()), "no family is without a sample"
    assert found["kafka_server_kafkaserver_brokerstate"] == {None: 3.0}


def test_every_metric_is_explained_and_nothing_else(broker):
    names = {name for name, _ in broker.server.shared.metrics}
    assert [name for name in names if help_lines.sentence_of(name) is None] == []
    known = {(type_, name) for release in VERSIONS for _, type_, name in beans(release)}
    explained = {(type_, name) for type_, sentences in help_lines._SENTENCES.items() for name in sentences}
    ours = {("Log", "DamagedAtByte"), ("LogManager", "DamagedPartitionCount")}  # Kafka takes the whole dir offline
    assert explained - known - ours == set(), "of metrics that nobody has"
