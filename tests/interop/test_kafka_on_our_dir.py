"""A directory goes from us to Apache Kafka and back: each serves all that the other has left there.

Ours formats it and writes of every kind: topics, configs, ACLs, quotas, credentials, records in every codec, an
idempotent producer, a compacted log, deleted records, metadata snapshots; then it stops or is killed. Kafka starts on a
copy, tells the same, writes more. Ours starts on that.
"""

import json
import re
import shutil
import socket
import time

import kafka_tools
import pytest
from kafka_server import kafka

from doing import Doing
from odradek.metadata.snapshot_file import read_snapshot
from odradek.records.writer import BatchFields
from started import broker
from told import BROKER, CLIENT_METRICS, GROUP, TOPIC, Told

NOW = 1_794_000_000_000
CODECS = {"plain": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
# What ours ended like, what Kafka ended like.
CASES = [
    ("3.3", "3.3.2", "SIGTERM", "SIGTERM"),
    ("3.3", "4.3.0", "SIGTERM", "SIGKILL"),
    ("4.3", "4.3.0", "SIGTERM", "SIGTERM"),
    ("3.3", "3.3.2", "SIGKILL", "SIGKILL"),
    ("4.3", "4.3.0", "SIGKILL", "SIGKILL"),
]
DUMP = {"3.3.2": "kafka.tools.DumpLogSegments", "4.3.0": "org.apache.kafka.tools.DumpLogSegments"}
PAIRS = sorted({case[:2] for case in CASES})
SHELL = "org.apache.kafka.shell.MetadataShell"
TOPICS_NODE = {"3.3.2": "topics", "4.3.0": "/image/topics/byName"}
# Gaps are what compaction leaves.
IS_TALK = re.compile("log4j|SLF4J|Non-consecutive offsets|is followed by")
# What the two say of themselves and not of the data.
OWN_CONFIGS = {"log.dirs", "listeners", "advertised.listeners"}


@pytest.fixture(autouse=True, scope="module")
def tools():
    try:
        for version in DUMP:
            kafka_tools.jars(version)
            kafka_tools.jars(version, "-shell")
    except kafka_tools.Unavailable as reason:
        pytest.skip(str(reason))


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


PROPERTIES = """\
process.roles=broker,controller
node.id=1
{quorum}:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={data}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
super.users=User:ANONYMOUS
auto.create.topics.enable=false
log.retention.ms=-1
log.cleaner.backoff.ms=100
log.segment.delete.delay.ms=1000
log.index.size.max.bytes=65536
metadata.log.max.record.bytes.between.snapshots=3000
offsets.topic.num.partitions=2
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""
QUORUM = {"3.3": "controller.quorum.voters=1@127.0.0.1", "4.3": "controller.quorum.bootstrap.servers=127.0.0.1"}


class Directory:
    """A log dir with its settings; the ports stay the same, as the metadata names them."""

    def __init__(self, path, release, ports=None):
        self.release = release
        self.ports = ports or free_ports(2)
        self.data = path / "data"
        self.properties = path / "server.properties"
        path.mkdir(exist_ok=True)
        text = PROPERTIES.format(quorum=QUORUM[release], port=self.ports[0], controller=self.ports[1], data=self.data)
        self.properties.write_text(text)

    def copy(self, path):
        other = Directory(path, self.release, self.ports)
        shutil.copytree(self.data, other.data)
        return other

    def told(self):
        return Told("127.0.0.1", self.ports[0])


def everything(told, *, is_same_release):
    """All that a broker tells of its data, as one comparable value; to another release, only what is set counts."""
    topics = told.topics()
    resources = [(BROKER, "1"), (BROKER, ""), *((TOPIC, name) for name in sorted(topics))]
    found = {
        "topics": topics,
        "features": {name: level for name, level in told.features().items() if name != "kraft.version"},
        "acls": told.acls(),
        "quotas": told.quotas(),
    }
    if found["features"]["metadata.version"] > 7:
        found["scram"] = told.scram()
        resources += told.config_resources()
    for kind, name in resources:
        configs = told.configs(kind, name) if is_same_release else told.set_configs(kind, name)
        found[kind, name] = {key: row for key, row in configs.items() if key not in OWN_CONFIGS}
    for topic, partition in told.partitions():
        if topic.startswith("__"):
            continue  # the coordinators go on with their work when a broker starts
        found[topic, partition] = {
            "ends": (told.log_start(topic, partition), told.end(topic, partition)),
            "records": told.records(topic, partition),
            "producers": told.producers(topic, partition),
        }
    return found


def differences(left, right):
    """The smallest parts in which the two differ, by their path."""
    if left == right:
        return {}
    if not (isinstance(left, dict) and isinstance(right, dict)):
        return {(): (left, right)}
    return {
        (key, *path): pair
        for key in {*left, *right}
        for path, pair in differences(left.get(key), right.get(key)).items()
    }


# What we write


def write_of_every_kind(told, release, ended):
    doing = Doing(told)
    describe_cluster(doing, release)
    for name, codec in CODECS.items():
        doing.create_topic(name, partitions=2, index_interval_bytes=100)
        for number in range(3):
            rows = [(b"k%d" % at, b"%s %d %d" % (name.encode(), number, at) * 20, NOW + at) for at in range(50)]
            doing.produce(name, number % 2, rows, codec=codec)
    write_idempotently(doing)
    write_compacted(doing, told)
    doing.create_topic("cut")
    doing.produce("cut", 0, [(None, b"%d" % at, NOW + at, ((f"h{at}", None), ("x", b"y"))) for at in range(20)])
    if ended == "SIGTERM":
        doing.delete_records("cut", 0, 7)  # where a log starts is not on disk at once, in either of the two
    doing.add_partitions("plain", 5)
    doing.create_topic("gone")
    doing.produce("gone", 0, [(b"a", b"b", NOW)])
    doing.delete_topic("gone")


def describe_cluster(doing, release):
    doing.create_topic("configured", partitions=3, retention_ms=123456789, max_message_bytes=100000)
    doing.set_config(TOPIC, "configured", "cleanup.policy", "compact,delete")
    doing.set_config(TOPIC, "configured", "max.message.bytes", None)
    doing.set_config(BROKER, "", "message.max.bytes", "1200000")
    doing.set_config(BROKER, "1", "log.cleaner.threads", "2")
    doing.allow(2, "acl-topic", 3, "User:bob", "*", 3, 3)
    doing.allow(2, "pre-", 4, "User:eve", "10.0.0.1", 4, 2)
    doing.allow(3, "*", 3, "User:*", "*", 2, 3)
    doing.forget_acls_of("User:bob")
    doing.set_quota({"user": "bob", "client-id": "app"}, "producer_byte_rate", 1048576.0)
    doing.set_quota({"client-id": None}, "request_percentage", 55.5)
    doing.set_quota({"client-id": None}, "consumer_byte_rate", 1.0)
    doing.set_quota({"client-id": None}, "consumer_byte_rate", None)
    doing.set_quota({"ip": "10.1.1.1"}, "connection_creation_rate", 9.0)
    if release != "3.3":
        doing.set_password("admin", 1, 4096)
        doing.set_config(CLIENT_METRICS, "metrics", "interval.ms", "60000")
        doing.set_config(GROUP, "group", "consumer.session.timeout.ms", "45001")


def write_idempotently(doing):
    doing.create_topic("idempotent")
    producer, epoch = doing.producer_id()
    now = int(time.time() * 1000)  # a producer whose last record is days old is forgotten
    for sequence in range(0, 30, 3):
        fields = BatchFields(producer_id=producer, producer_epoch=epoch, base_sequence=sequence)
        rows = [(b"k", b"%d" % (sequence + at), now) for at in range(3)]
        assert doing.produce("idempotent", 0, rows, fields=fields) == sequence
        assert doing.produce("idempotent", 0, rows, fields=fields) == sequence, "a retry"


def write_compacted(doing, told):
    """Until the cleaner has been there: Kafka must read what it leaves.

    Segments are cut by time: a 4.3.0 does not start on a topic whose segments a 3.3 was allowed to keep small.
    """
    doing.create_topic("compacted", cleanup_policy="compact", min_cleanable_dirty_ratio=0.01, segment_ms=5)
    for number in range(60):
        rows = [(b"k%d" % (number % 5), b"%d" % number * 20, NOW + number), (b"gone", None, NOW)]
        doing.produce("compacted", 0, rows)
    deadline = time.monotonic() + 20
    while len(told.records("compacted", 0)) > 60:
        assert time.monotonic() < deadline, "the cleaner did not come"


def write_a_little_more(told, mark):
    doing = Doing(told)
    doing.create_topic(f"by-{mark}", partitions=2, retention_ms=987654321)
    for name, codec in CODECS.items():
        doing.produce(name, 0, [(b"key", b"%s by %s" % (name.encode(), mark.encode()), NOW)], codec=codec)
        doing.produce(f"by-{mark}", 1, [(b"key", name.encode() * 100, NOW)], codec=codec)
    doing.set_config(TOPIC, "configured", "retention.ms", "55555")
    doing.set_config(BROKER, "", "message.max.bytes", "1300000")
    doing.allow(4, "kafka-cluster", 3, f"User:{mark}", "*", 8, 3)
    doing.set_quota({"user": mark}, "consumer_byte_rate", 77.0)
    doing.delete_topic("idempotent")


def consume_as_group(directory):
    """Makes Kafka create its internal topic, and commit."""
    from kafka import KafkaConsumer

    consumer = KafkaConsumer(
        "plain",
        bootstrap_servers=f"127.0.0.1:{directory.ports[0]}",
        group_id="g",
        auto_offset_reset="earliest",
        consumer_timeout_ms=20_000,
        enable_auto_commit=False,
    )
    seen = [next(consumer).value for _ in range(10)]
    consumer.commit()
    consumer.close()
    return seen


# The tests


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """(the directory, what ours told of it to its own release, and to another); each is written once."""
    made = {}

    def directory_of(release, ended):
        if (release, ended) not in made:
            directory = Directory(tmp_path_factory.mktemp(f"ours-{release}-{ended}") / "dir", release)
            with broker(release, config=directory.properties, data=directory.data, ends=ended) as address:
                told = Told(*address)
                write_of_every_kind(told, release, ended)
                wait_for(lambda: snapshots(directory), "a snapshot of the metadata")
                both = everything(told, is_same_release=True), everything(told, is_same_release=False)
                made[release, ended] = directory, *both
                told.close()
        return made[release, ended]

    return directory_of


def wait_for(condition, what):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, f"{what} was not made"
        time.sleep(0.05)


def snapshots(directory):
    """Those made while it ran, the oldest first."""
    found = sorted((directory.data / "__cluster_metadata-0").glob("*.checkpoint"))
    return [path for path in found if int(path.name[:20])]


@pytest.mark.parametrize(("release", "version", "ours_ended", "kafka_ended"), CASES, ids=lambda value: value)
def test_there_and_back(release, version, ours_ended, kafka_ended, written, tmp_path):
    original, to_its_own, to_another = written(release, ours_ended)
    is_same_release = version.startswith(release)
    directory = original.copy(tmp_path / "copy")
    with kafka(version, directory.properties, directory.ports[0], ends=kafka_ended):
        told = directory.told()
        by_us = to_its_own if is_same_release else to_another
        assert differences(by_us, everything(told, is_same_release=is_same_release)) == {}
        write_a_little_more(told, "kafka")
        assert len(consume_as_group(directory)) == 10
        by_kafka = everything(told, is_same_release=is_same_release)
        committed = told.records("__consumer_offsets", 0) + told.records("__consumer_offsets", 1)
        told.close()
    with broker(None, config=directory.properties, data=directory.data) as address:
        told = Told(*address)
        assert differences(by_kafka, everything(told, is_same_release=is_same_release)) == {}
        kept = told.records("__consumer_offsets", 0) + told.records("__consumer_offsets", 1)
        assert committed and all(row in kept for row in committed)
        write_a_little_more_ours(told)
        told.close()


def write_a_little_more_ours(told):
    doing = Doing(told)
    doing.create_topic("by-us-again")
    doing.produce("by-us-again", 0, [(b"k", b"v", NOW)])
    assert doing.produce("plain", 0, [(b"k", b"v", NOW)]) == told.end("plain", 0) - 1
    assert [row[3] for row in told.records("by-us-again", 0)] == [b"v"]


@pytest.mark.parametrize(("release", "version"), PAIRS)
def test_kafka_dumps_our_metadata(release, version, written):
    directory, by_us, _ = written(release, "SIGTERM")
    log = sorted((directory.data / "__cluster_metadata-0").glob("*.log"))
    out = dump(version, "--cluster-metadata-decoder", [*log, *snapshots(directory)])
    payloads = [json.loads(text) for text in re.findall(r"payload: (\{.*\})", out)]
    named = {payload["data"]["name"] for payload in payloads if payload["type"] == "TOPIC_RECORD"}
    assert named == {*by_us["topics"], "gone"}
    assert {"ACCESS_CONTROL_ENTRY_RECORD", "CLIENT_QUOTA_RECORD", "PRODUCER_IDS_RECORD", "REMOVE_TOPIC_RECORD"} <= {
        payload["type"] for payload in payloads
    }


@pytest.mark.parametrize(("release", "version"), PAIRS)
def test_kafka_dumps_our_data(release, version, written):
    directory, by_us, _ = written(release, "SIGTERM")
    partitions = [(topic, 0) for topic in (*CODECS, "compacted", "cut", "idempotent")]
    files = [path for part in partitions for path in segments(directory, *part, "*.log")]
    dumped = dump(version, "--deep-iteration", files).split("Dumping ")[1:]
    offsets = {part: [] for part in partitions}
    for text in dumped:
        topic = text.partition("-0/")[0].rpartition("/")[2]
        offsets[topic, 0] += [int(offset) for offset in re.findall(r"^\| offset: (\d+)", text, re.MULTILINE)]
    for part in partitions:
        start = by_us[part]["ends"][0]
        assert [at for at in offsets[part] if at >= start] == [row[0] for row in by_us[part]["records"]], part
    indexes = [path for part in partitions for path in segments(directory, *part, "*.index")]
    verdicts = re.findall("passed sanity check|is empty", dump(version, "--index-sanity-check", indexes))
    assert len(verdicts) == len(indexes)
    assert verdicts.count("passed sanity check") >= len(CODECS)
    dump(version, "--verify-index-only", [path.with_suffix(".timeindex") for path in indexes])
    dump(
        version, "--print-data-log", [path for part in partitions for path in segments(directory, *part, "*.snapshot")]
    )


def segments(directory, topic, partition, pattern):
    return sorted((directory.data / f"{topic}-{partition}").glob(pattern))


def dump(version, flag, files):
    out, complaints = kafka_tools.run(version, DUMP[version], flag, "--files", ",".join(map(str, files)))
    assert not [line for line in complaints if not IS_TALK.search(line)], complaints
    assert not re.search("isvalid: false|Could not|Error|corrupt", out), out[-3000:]
    return out


@pytest.mark.parametrize(("release", "version"), PAIRS)
def test_kafkas_metadata_shell_reads_our_snapshots(release, version, written):
    directory, by_us, _ = written(release, "SIGTERM")
    newest = snapshots(directory)[-1]
    found = ""
    deadline = time.monotonic() + 30
    while not found.strip() and time.monotonic() < deadline:  # on a busy machine it may look before it has read
        found, _ = kafka_tools.run(version, SHELL, "--snapshot", newest, "ls", TOPICS_NODE[version], part="-shell")
    image = read_snapshot(newest.read_bytes())
    names = {record.name for record, _ in image.records if type(record).__name__ == "TopicRecord"}
    assert set(found.split()) == names
    assert names <= {*by_us["topics"], "gone"} and "configured" in names
