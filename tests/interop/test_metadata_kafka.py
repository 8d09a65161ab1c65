"""Directories and snapshots that we wrote: Apache Kafka's tools read them, its brokers start on them."""

import json
import re
import socket
import time

import kafka_server
import kafka_tools
import pytest

from metadata_kit import Snapshot, broker, change, config, image_of, level, log_batches, topic, topic_id
from odradek.cli import storage
from odradek.metadata.loader import MetadataLoader
from odradek.metadata.snapshot_file import read_snapshot, snapshot_bytes
from odradek.protocol import releases
from odradek.protocol.json_form import to_json
from odradek.protocol.messages import metadata_brokers as brokers
from odradek.protocol.messages import metadata_cluster as cluster
from odradek.reactor.loop import Loop
from odradek.sim.world import World

DUMP = {"3.3.2": "kafka.tools.DumpLogSegments", "4.3.0": "org.apache.kafka.tools.DumpLogSegments"}
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
START_SECONDS_MAX = 60
NOW = 1_700_000_000_000


# Level 7 is the one that both open.
PAIRS = [("3.3.2", releases.RELEASE_3_3), ("4.3.0", releases.RELEASE_3_3), ("4.3.0", releases.RELEASE_4_3)]


@pytest.fixture(scope="module", params=PAIRS, ids=lambda pair: f"{pair[0]}-at-{pair[1].name}")
def pair(request):
    try:
        kafka_tools.jars(request.param[0])
    except kafka_tools.Unavailable as reason:
        pytest.skip(str(reason))
    return request.param


@pytest.fixture
def version(pair):
    return pair[0]


@pytest.fixture
def release(pair):
    return pair[1]


def everything(metadata_version):
    """One of each, as far as the level allows it."""
    records = [
        level("metadata.version", metadata_version),
        broker(1, fenced=False, rack="r", log_dirs=[topic_id(5)]),
        *topic(1, partitions=3, replicas=(1, 2)),
        change(1, 1, leader=2, isr=[2]),
        config(2, "topic-1", "retention.ms", "1000"),
        config(4, "", "message.max.bytes", "1200000"),
        cluster.ClientQuotaRecord(
            entity=[cluster.EntityData(entity_type="user", entity_name=None)], key="producer_byte_rate", value=2.5
        ),
        cluster.ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=2000),
        cluster.AccessControlEntryRecord(
            id=topic_id(9), resource_type=2, resource_name="t", pattern_type=3, principal="User:a", host="*",
            operation=3, permission_type=3,
        ),
    ]  # fmt: skip
    if metadata_version >= 30:
        records += [
            level("eligible.leader.replicas.version", 1),
            change(1, 2, eligible_leader_replicas=[2], last_known_elr=[1]),
            brokers.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=1, cordoned_log_dirs=[topic_id(5)]),
            brokers.RegisterControllerRecord(controller_id=1, incarnation_id=topic_id(3)),
            cluster.UserScramCredentialRecord(
                name="u", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096
            ),
            cluster.DelegationTokenRecord(token_id="t", owner="User:o", requester="User:o", renewers=["User:r"]),
        ]
    return image_of(records)


def dumped(version, path):
    """What kafka-dump-log reads, as (version, data) of each record."""
    out, complaints = kafka_tools.run(version, DUMP[version], "--cluster-metadata-decoder", "--files", path)
    assert not [line for line in complaints if "log4j" not in line]
    assert not re.search("isvalid: false|Could not|Error", out)
    payloads = [json.loads(text) for text in re.findall(r"payload: (\{.*\})", out)]
    return [(payload["version"], payload["data"]) for payload in payloads]


def test_kafka_dumps_our_snapshots(version, release, tmp_path):
    image = everything(release.finalized_at_format["metadata.version"])
    records = list(image.records(release))
    path = tmp_path / "00000000000000000042-0000000001.checkpoint"
    path.write_bytes(snapshot_bytes(records, NOW, epoch=1, last_contained_log_timestamp=NOW))
    ours = [(at, to_json(record, at)) for record, at in records]
    assert dumped(version, path) == ours


def test_kafka_dumps_our_bootstrap(version, formatted, tmp_path):
    path = tmp_path / "00000000000000000000-0000000000.checkpoint"
    path.write_bytes((formatted.data / "bootstrap.checkpoint").read_bytes())
    expected = [(at, to_json(record, at)) for record, at in read_snapshot(path.read_bytes()).records]
    assert dumped(version, path) == expected
    features = {name: level for name, level in formatted.release.finalized_at_format.items() if level > 0}
    features.pop("kraft.version", None)  # of the quorum: it stands in a record of its own
    assert {value["name"]: value["featureLevel"] for _, value in expected} == features


# Kafka on a directory that we formatted


class Formatted:
    def __init__(self, release, directory):
        self.release = release
        self.port, controller_port = free_ports(2)
        self.data = directory / "data"
        self.properties = directory / "server.properties"
        fixed = f"controller.quorum.voters=1@127.0.0.1:{controller_port}"
        dynamic = f"controller.quorum.bootstrap.servers=127.0.0.1:{controller_port}"
        lines = [
            "process.roles=broker,controller",
            "node.id=1",
            fixed if release is releases.RELEASE_3_3 else dynamic,
            f"listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller_port}",
            f"advertised.listeners=PLAINTEXT://127.0.0.1:{self.port}",
            "controller.listener.names=CONTROLLER",
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            f"log.dirs={self.data}",
        ]
        self.properties.write_text("\n".join(lines))
        how = ["-r", "3.3"] if release is releases.RELEASE_3_3 else ["--standalone"]
        assert storage.main(["format", "-t", CLUSTER, "-c", str(self.properties), *how]) == 0


@pytest.fixture
def formatted(release, tmp_path):
    return Formatted(release, tmp_path)


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def image_on_disk(metadata_log):
    """What our own loader makes of the newest snapshot and the log behind it."""
    loader = MetadataLoader(Loop(World(1).node("n").ports))
    start = 0
    snapshots = sorted(path for path in metadata_log.glob("*.checkpoint") if int(path.name[:20]))
    if snapshots:
        start = int(snapshots[-1].name[:20])
        records = [record for record, _ in read_snapshot(snapshots[-1].read_bytes()).records]
        loader.handle_load_snapshot(Snapshot(start, [records]))
    for path in sorted(metadata_log.glob("*.log")):
        for batch in log_batches(path):
            if batch.base_offset >= start:
                loader.handle_commit(batch)
    return loader.image


def serves(image):
    """Whether the broker has registered and was let in."""
    return any(not found.fenced for found in image.cluster.brokers.values())


def test_kafka_starts_on_what_we_formatted(version, formatted):
    metadata_log = formatted.data / "__cluster_metadata-0"
    deadline = time.monotonic() + START_SECONDS_MAX
    with kafka_server.started(version, formatted.properties) as (process, output):
        while not serves(image := image_on_disk(metadata_log)):
            assert process.poll() is None, output.read_text()[-3000:]
            assert time.monotonic() < deadline, output.read_text()[-3000:]
            time.sleep(0.1)
        process.terminate()
        process.wait(START_SECONDS_MAX)
    at_format = {
        name: at for name, at in formatted.release.finalized_at_format.items() if at and name != "kraft.version"
    }
    assert image.features.finalized == at_format
    assert list(image.cluster.brokers) == [1]
    assert image.cluster.brokers[1].endpoint("PLAINTEXT").port == formatted.port


def test_kafkas_storage_tool_knows_our_directory(version, formatted):
    out, _ = kafka_tools.run(version, "kafka.tools.StorageTool", "info", "-c", formatted.properties)
    assert f"Found metadata: {{cluster.id={CLUSTER}, " in out
    assert "Found problem" not in out
