"""The metadata logs of real KRaft nodes: opened, read and carried on; and our bytes beside theirs."""

import gzip
import json
import re

import pytest

from logdirs import DATA, segments, unpack
from odradek.protocol.frames import METADATA
from odradek.protocol.uuids import parse_uuid
from odradek.raft import election_state, snapshots
from odradek.raft.batches import leader_change, quorum_records
from odradek.raft.client import RaftClient
from odradek.raft.core.voters import Voter, VoterEndpoint, VoterSet
from odradek.raft.election_state import ElectionState
from odradek.raft.keys import NO_DIRECTORY, OffsetAndEpoch, ReplicaKey
from odradek.raft.settings import RaftSettings
from odradek.reactor.adapters import system_ports
from odradek.reactor.jobs import JobQueue
from odradek.reactor.loop import Loop
from odradek.records.batch import batches
from odradek.records.metadata_log import control_batch, snapshot_footer, snapshot_header
from raft_kit import Recorder, raft_config

DIRS = ["kafka-3.3.2-kraft-clean", "kafka-3.3.2-kraft-unclean", "kafka-4.3.0-kraft-clean"]
CLUSTER_METADATA = "__cluster_metadata-0"


class RawRecorder(Recorder):
    """Keeps what it is told as bytes."""

    def __init__(self):
        super().__init__()
        self.batches = []
        self.snapshot = None

    def handle_commit(self, batch):
        self.batches.append(batch)

    def handle_load_snapshot(self, snapshot):
        self.snapshot = snapshot


def directory_id(path):
    found = re.search(r"^directory\.id=(.*)$", (path / "meta.properties").read_text().replace("\\", ""), re.MULTILINE)
    return parse_uuid(found[1]) if found else None


class RealNode:
    def __init__(self, path, name):
        self.ports = system_ports(threads=2)
        self.loop = Loop(self.ports)
        static = VoterSet([Voter(1)]) if "3.3" in name else None
        me = ReplicaKey(1, directory_id(path) or NO_DIRECTORY)
        settings = RaftSettings(str(path / CLUSTER_METADATA), me, None, static, raft_config())
        self.client = RaftClient(self.loop, JobQueue(self.loop), settings)
        self.listener = RawRecorder()
        self.client.register(self.listener)

    def run(self, work):
        return self.loop.run_until(self.loop.spawn(work))

    def close(self):
        self.run(self.client.shutdown())
        self.ports.executor.close()
        self.loop.close()


def kafkas(name, suffix):
    """The batches of each file, as Kafka reads them."""
    files = {file: line["batches"] for file, line in segments(name).items() if file.startswith(CLUSTER_METADATA)}
    return {file: found for file, found in files.items() if file.endswith(suffix)}


def values(found):
    return [record["value"] for batch in found if not batch["control"] for record in batch["records"]]


@pytest.mark.parametrize("name", DIRS)
def test_a_metadata_log_of_kafka_is_read_and_carried_on(name, tmp_path):
    path = unpack(name, tmp_path)
    files = {file.name: file.read_bytes() for file in (path / CLUSTER_METADATA).iterdir()}
    state = election_state.decode(files["quorum-state"])
    (log,) = kafkas(name, ".log").values()
    end_offset = log[-1]["last_offset"] + 1
    node = RealNode(path, name)
    try:
        node.run(node.client.start())
        assert node.client.leader_and_epoch == (1, state.epoch + 1)
        assert node.client.log_end_offset == node.client.high_watermark == end_offset + 1
        while not node.listener.told:
            node.loop.turn(100)
        assert node.listener.told == [("leader", 1, state.epoch + 1)]
        check_records(name, node.listener, log)
        assert node.client.kraft_version == (1 if "4.3" in name else 0)
    finally:
        node.close()
    after = {file.name: file.read_bytes() for file in (path / CLUSTER_METADATA).iterdir()}
    assert after["00000000000000000000.log"].startswith(files["00000000000000000000.log"].rstrip(b"\0"))
    assert {key for key in files if key.endswith(".checkpoint")} <= set(after)
    assert after["quorum-state"] == files["quorum-state"].replace(
        f'"leaderEpoch":{state.epoch}'.encode(), f'"leaderEpoch":{state.epoch + 1}'.encode()
    )
    assert after["leader-epoch-checkpoint"].endswith(f"{state.epoch + 1} {end_offset}\n".encode())


def check_records(name, listener, log):
    """The latest snapshot and then the log, record for record what Kafka itself reads there."""
    newest = max(kafkas(name, ".checkpoint").items())
    snapshot_id = snapshots.id_of(newest[0].rpartition("/")[2])
    assert (listener.snapshot.offset, listener.snapshot.epoch) == snapshot_id
    found = [record for batch in listener.snapshot.batches for record in batch]
    assert len(found) == len(values(newest[1]))
    expected = [METADATA.decode(bytes.fromhex(value))[0] for value in values(newest[1])]
    assert list(map(repr, found)) == list(map(repr, expected))
    later = [batch for batch in log if batch["base_offset"] >= snapshot_id.offset]
    told = [batch for batch in listener.batches if batch.last_offset <= later[-1]["last_offset"]]
    assert [(batch.base_offset, batch.last_offset, batch.epoch) for batch in told] == [
        (batch["base_offset"], batch["last_offset"], batch["partition_leader_epoch"]) for batch in later
    ]
    expected = [METADATA.decode(bytes.fromhex(value))[0] for value in values(later)]
    assert list(map(repr, (record for batch in told for record in batch.records))) == list(map(repr, expected))


# Our bytes beside Kafka's.


def voters_of(name):
    if "3.3" in name:
        return VoterSet([Voter(1)]), 0
    formatted = kafkas(name, "0000000000.checkpoint").popitem()[1]
    value = bytes.fromhex(formatted[0]["records"][2]["value"])  # version 2, count 1, id 4, directory id 16, ...
    voter = Voter(1, value[7:23], (VoterEndpoint("CTL", "127.0.0.1", 29291),))
    return VoterSet([voter]), 1


def diskfiles(name):
    with gzip.open(DATA.parent / "diskfiles.jsonl.gz") as lines:
        return [line for line in map(json.loads, lines) if line["dir"] == name and CLUSTER_METADATA in line["path"]]


def our_batch(kind, batch, voters, kraft_version):
    place = (batch["base_offset"], batch["partition_leader_epoch"], batch["max_timestamp"])
    quorum = quorum_records(kraft_version, voters)
    if kind == "LEADER_CHANGE":
        more = quorum if batch["count"] > 1 else []
        return control_batch([leader_change(1, voters, [1]), *more], *place)
    if kind == "SNAPSHOT_HEADER":
        timestamp = int(batch["records"][0]["value"][4:20], 16)
        return control_batch([snapshot_header(timestamp), *quorum], *place)
    return control_batch([snapshot_footer()], *place)


@pytest.mark.parametrize("name", DIRS)
def test_every_control_batch_is_kafkas_to_the_byte(name):
    voters, kraft_version = voters_of(name)
    seen = set()
    for found in [*kafkas(name, ".log").values(), *kafkas(name, ".checkpoint").values()]:
        for batch in (batch for batch in found if batch["control"]):
            kind = batch["records"][0]["control_type"]
            seen.add(kind)
            ours = next(batches(our_batch(kind, batch, voters, kraft_version)))
            assert (ours.crc, ours.size, ours.base_offset) == (batch["crc"], batch["size"], batch["base_offset"]), kind
    assert seen == {"LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER"}


@pytest.mark.parametrize("name", DIRS)
def test_the_state_of_the_quorum_is_written_as_kafka_writes_it(name):
    (text,) = [line["text"] for line in diskfiles(name) if line["path"].endswith("quorum-state")]
    state = election_state.decode(text.encode())
    assert isinstance(state, ElectionState) and state.leader_id == 1
    assert election_state.encode(state, 1 if "4.3" in name else 0, [1]).decode() == text


def test_a_snapshot_file_is_kafkas_to_the_byte(tmp_path):
    name = "kafka-4.3.0-kraft-clean"
    voters, kraft_version = voters_of(name)
    file, found = max(kafkas(name, ".checkpoint").items())
    theirs = (unpack(name, tmp_path) / file).read_bytes()
    records = [METADATA.decode(bytes.fromhex(value)) for value in values(found)]
    ports = system_ports(threads=1)
    snapshot_id = snapshots.id_of(file.rpartition("/")[2])
    timestamp = int(found[0]["records"][0]["value"][4:20], 16)
    quorum = quorum_records(kraft_version, voters)
    job = snapshots.write_job(ports.disk, str(tmp_path), snapshot_id, "x.part", records, quorum, timestamp, 0, 1 << 20)
    while next(job, None) is not None:
        pass
    ours = (tmp_path / snapshots.file_name(snapshot_id)).read_bytes()
    assert snapshot_id == OffsetAndEpoch(281, 2)
    assert len(ours) == len(theirs)
    for mine, kafkas_batch in zip(batches(ours), batches(theirs), strict=True):
        kafkas_records = [(record.offset, record.key, record.value) for record in kafkas_batch.records()]
        assert [(record.offset, record.key, record.value) for record in mine.records()] == kafkas_records
    ports.executor.close()
