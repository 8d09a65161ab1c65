"""A metadata log that we wrote, with snapshots, read by Apache Kafka's own DumpLogSegments to the same facts."""

import json
import re

import kafka_tools
import pytest

from odradek.raft import snapshots
from odradek.raft.batches import quorum_records
from odradek.raft.client import RaftClient
from odradek.raft.core.voters import Voter, VoterEndpoint, VoterSet
from odradek.raft.keys import ReplicaKey
from odradek.raft.settings import RaftSettings
from odradek.reactor.adapters import system_ports
from odradek.reactor.jobs import JobQueue
from odradek.reactor.loop import Loop
from odradek.records.metadata_log import control_batch, snapshot_footer, snapshot_header
from raft_kit import raft_config, record

TOOLS = {"3.3.2": "kafka.tools.DumpLogSegments", "4.3.0": "org.apache.kafka.tools.DumpLogSegments"}
DIRECTORY_ID = bytes(range(16))


@pytest.fixture(params=list(TOOLS))
def version(request):
    try:
        kafka_tools.jars(request.param)
    except kafka_tools.Unavailable as reason:
        pytest.skip(str(reason))
    return request.param


def dump(version, *paths):
    """The output, and every complaint."""
    files = ",".join(str(path) for path in paths)
    out, complaints = kafka_tools.run(version, TOOLS[version], "--files", files, "--cluster-metadata-decoder")
    return out, complaints + re.findall(r".*isvalid: false.*|.*invalid bytes.*", out, re.IGNORECASE)


def format_directory(disk, directory):
    """As kafka-storage leaves it for a quorum of one with kraft.version 1."""
    voter = Voter(1, DIRECTORY_ID, (VoterEndpoint("CONTROLLER", "localhost", 9093),))
    disk.mkdir(directory)
    head = control_batch([snapshot_header(5), *quorum_records(1, VoterSet([voter]))], 0, 0, 5)
    foot = control_batch([snapshot_footer()], 3, 0, 5)
    disk.write_atomically(f"{directory}/{snapshots.file_name(snapshots.BOOTSTRAP)}", head + foot)


def write(directory, kraft_version):
    ports = system_ports(threads=1)
    loop = Loop(ports)
    if kraft_version:
        format_directory(ports.disk, directory)
    voters = None if kraft_version else VoterSet([Voter(1)])
    settings = RaftSettings(directory, ReplicaKey(1, DIRECTORY_ID), "cluster", voters, raft_config())
    client = RaftClient(loop, JobQueue(loop), settings)

    def run(work):
        return loop.run_until(loop.spawn(work))

    run(client.start())
    client.append(1, [record("first"), record("second")])
    end = client.append(1, [record("third")])
    run(client.until(lambda: client.high_watermark > end))
    run(client.create_snapshot(end + 1, 1, [record("all of it"), record("rest")]))
    run(client.shutdown())
    ports.executor.close()
    loop.close()
    return end + 1


@pytest.mark.parametrize("kraft_version", [0, 1])
def test_kafka_reads_our_metadata_log_and_snapshot(version, kraft_version, tmp_path):
    if kraft_version and version == "3.3.2":
        pytest.skip("3.3 knows no kraft.version")
    directory = tmp_path / "__cluster_metadata-0"
    end = write(str(directory), kraft_version)
    log = directory / "00000000000000000000.log"
    out, complaints = dump(version, log)
    assert complaints == []
    assert names(out) == ["first", "second", "third"]
    control = 3 if kraft_version else 1
    assert re.search(rf"baseOffset: 0 lastOffset: {control - 1} count: {control} .*isControl: true", out)
    snapshot = directory / f"{end:020d}-0000000001.checkpoint"
    out, complaints = dump(version, snapshot)
    assert complaints == []
    assert names(out) == ["all of it", "rest"]
    assert out.count("isControl: true") == 2


def names(out):
    payloads = re.findall(r"payload: *(\{.*\})$", out, re.MULTILINE)
    found = [json.loads(payload) for payload in payloads]
    return [each["data"]["name"] for each in found if each["type"] == "FEATURE_LEVEL_RECORD"]
