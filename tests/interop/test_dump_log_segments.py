"""Directories that we wrote, read by Apache Kafka's own DumpLogSegments without a complaint, and to the same facts."""

import json
import re
import struct

import kafka_tools
import pytest

from log_kit import append_as_leader, keyed_batch
from log_kit import marker as end_marker
from manager_kit import RealBroker
from odradek.cli.main import main
from odradek.config import topic
from odradek.log.append import CLIENT, COORDINATOR
from odradek.log.config import LogConfig
from odradek.log.flush import flush_job
from odradek.log.loading.load import load_log
from odradek.log.log import Log
from odradek.log.storage import Storage
from odradek.protocol.messages.control_records import LeaderChangeMessage
from odradek.protocol.messages.producer_snapshot import ProducerEntry, ProducerSnapshot
from odradek.reactor.adapters.disk import SystemDisk
from odradek.reactor.adapters.rng import SystemRng
from odradek.records import compression, control
from odradek.records.batch import batches
from odradek.records.crc import crc32c
from odradek.records.legacy import message_set
from odradek.records.record import Record
from odradek.records.writer import BatchFields, empty_batch, record_batch

VERSION = "3.3.2"
NOW = 1_700_000_000_000
# Gaps, and entries of the time index for batches that were kept empty, in which the tool looks for a record in vain.
SAID_OF_COMPACTED = (
    r"Non-consecutive offsets in |  \d+ is followed by \d+"
    r"|Found timestamp mismatch in :|  Index timestamp: \d+, log timestamp: -1$"
)
DUMPED = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")


@pytest.fixture(scope="module")
def dump():
    try:
        kafka_tools.jars(VERSION)
    except kafka_tools.Unavailable as reason:
        pytest.skip(str(reason))

    def dump(*paths):
        """The output, and every complaint."""
        files = ",".join(str(path) for path in paths)
        out, complaints = kafka_tools.run(
            VERSION, "kafka.tools.DumpLogSegments", "--files", files, "--deep-iteration", "--print-data-log"
        )
        return out, complaints + re.findall(r".*isvalid: false.*|.*invalid bytes.*", out, re.IGNORECASE)

    return dump


class Segment:
    """Batches, and the index files that belong to them, an entry for every batch but the first."""

    def __init__(self, base_offset=0):
        self.base_offset = base_offset
        self.data = bytearray()
        self.index = bytearray()
        self.time_index = bytearray()
        self.largest = -1

    def add(self, data):
        for batch in batches(data):
            if self.data:
                self.index += struct.pack(">ii", batch.last_offset - self.base_offset, len(self.data))
            if batch.max_timestamp > self.largest and batch.count != 0:
                self.largest = batch.max_timestamp
                self.time_index += struct.pack(">qi", batch.max_timestamp, batch.last_offset - self.base_offset)
            self.data += batch.buffer
        return self

    def write(self, directory):
        stem = f"{self.base_offset:020d}"
        for suffix, content in (("log", self.data), ("index", self.index), ("timeindex", self.time_index)):
            (directory / f"{stem}.{suffix}").write_bytes(content)
        return [directory / f"{stem}.{suffix}" for suffix in ("log", "index", "timeindex")]


def some_records(first, count, headers=()):
    return [Record(first + at, b"key-%d" % at, b"value " * at, NOW + first + at, headers) for at in range(count)]


def plain(first, count, *, codec=compression.NONE, headers=(), **fields):
    return record_batch(
        some_records(first, count, headers), BatchFields(partition_leader_epoch=3, **fields), codec=codec
    )


def every_codec():
    return b"".join(plain(10 * codec, 10, codec=codec, headers=[("h", b"x"), ("none", None)]) for codec in range(5))


def idempotent():
    first = plain(0, 5, producer_id=7, producer_epoch=2, base_sequence=0)
    return first + plain(5, 3, producer_id=7, producer_epoch=2, base_sequence=5)


def transactional():
    data = plain(0, 2, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    data += control.end_transaction_marker(
        True, 4, NOW, producer_id=7, producer_epoch=0, base_offset=2, partition_leader_epoch=3
    )
    data += plain(3, 2, producer_id=7, producer_epoch=1, base_sequence=0, is_transactional=True)
    return data + control.end_transaction_marker(
        False, 4, NOW, producer_id=7, producer_epoch=1, base_offset=5, partition_leader_epoch=3
    )


def append_time():
    return plain(0, 4, log_append_time=NOW + 99) + plain(4, 4, log_append_time=NOW + 100, codec=compression.LZ4)


def compacted():
    """Holes, a delete horizon, and what is left of a producer's last batch."""
    kept = record_batch(
        some_records(2, 1) + some_records(4, 1),
        BatchFields(partition_leader_epoch=1, delete_horizon_ms=NOW + 5),
        base_offset=0,
        last_offset=6,
    )
    producer = BatchFields(partition_leader_epoch=1, producer_id=9, producer_epoch=0, base_sequence=3)
    return kept + empty_batch(producer, 7, 9, NOW + 9)


def quorum():
    message = LeaderChangeMessage(version=0, leader_id=1)
    return control.control_batch(control.LEADER_CHANGE, message.to_bytes(0), NOW, partition_leader_epoch=1)


KINDS = {
    "every codec": every_codec,
    "idempotent": idempotent,
    "transactional": transactional,
    "append time": append_time,
    "compacted": compacted,
    "quorum": quorum,
    "magic 0": lambda: message_set(some_records(0, 3), 0),
    "magic 0 gzip": lambda: message_set(some_records(0, 3), 0, codec=compression.GZIP),
    "magic 1 snappy": lambda: message_set(some_records(0, 3), 1, codec=compression.SNAPPY),
    "magic 1 lz4": lambda: message_set(some_records(0, 3), 1, codec=compression.LZ4),
}


def test_every_kind_of_batch_and_its_indexes(tmp_path, dump, capsys):
    """One call for all: a Java machine takes a second to start."""
    paths, written = [], {}
    for number, (kind, make) in enumerate(KINDS.items()):
        directory = tmp_path / f"{kind.replace(' ', '-')}-{number}"
        directory.mkdir()
        segment = Segment().add(make())
        paths += segment.write(directory)
        written[str(directory / f"{0:020d}.log")] = bytes(segment.data)
    out, complaints = dump(*paths)
    # A compacted segment has holes, and that is all there is to say.
    assert [re.sub("/.*/", "", line) for line in complaints] == [
        "Non-consecutive offsets in 00000000000000000000.log",
        "  2 is followed by 4",
    ]
    said = {part.partition("\n")[0]: part for part in out.split("Dumping ")[1:]}
    for path, data in written.items():
        assert said[path].count("isvalid: true") >= len(list(batches(data)))
    assert main(["log", "dump", "--json", *written]) == 0
    for line in capsys.readouterr().out.splitlines():
        form = json.loads(line)
        offsets = [record["offset"] for batch in form["batches"] for record in batch["records"]]
        theirs = [int(found) for found in re.findall(r"^\| offset: (\d+)", said[form["file"]], re.MULTILINE)]
        assert theirs == offsets, form["file"]


def test_a_transaction_index_and_a_producer_snapshot(tmp_path, dump):
    directory = tmp_path / "txn-0"
    directory.mkdir()
    paths = Segment().add(transactional()).write(directory)
    aborted = directory / f"{0:020d}.txnindex"
    aborted.write_bytes(struct.pack(">hqqqq", 0, 7, 3, 5, 6))
    entry = ProducerEntry(
        producer_id=7,
        epoch=1,
        last_sequence=1,
        last_offset=4,
        offset_delta=1,
        timestamp=NOW,
        coordinator_epoch=4,
        current_txn_first_offset=-1,
    )
    body = ProducerSnapshot(crc=0, producer_entries=[entry]).to_bytes(1)[4:]
    snapshot = directory / f"{6:020d}.snapshot"
    snapshot.write_bytes(struct.pack(">hI", 1, crc32c(body)) + body)
    out, complaints = dump(*paths, aborted, snapshot)
    assert complaints == []
    assert "version: 0 producerId: 7 firstOffset: 3 lastOffset: 5 lastStableOffset: 6" in out
    assert "producerId: 7 producerEpoch: 1 coordinatorEpoch: 4" in out
    assert "firstSequence: 0 lastSequence: 1 lastOffset: 4 offsetDelta: 1" in out
    assert "endTxnMarker: ABORT coordinatorEpoch: 4" in out


def finished(job):
    while True:
        try:
            next(job)
        except StopIteration as end:
            return end.value


def written_through_the_log(directory, **configs):
    """A partition with every kind of record that a leader takes, in several segments, stopped cleanly."""
    disk = SystemDisk()
    config = LogConfig.from_config(topic.TABLE.parse({"index.interval.bytes": "100", **configs}, release="4.3"))
    options = {"had_clean_shutdown": True, "recovery_point": 0, "log_start_offset": 0, "now_ms": NOW}
    loaded = finished(load_log(disk, str(directory), directory.name, config, **options))
    log = Log(Storage(disk, SystemRng()), loaded, config, NOW)
    for epoch, data, origin in appended():
        append_as_leader(log, bytearray(data), epoch, NOW, origin=origin)
    plan = log.begin_close(NOW)
    finished(flush_job(disk, plan))
    log.closed(plan)
    return log.log_end_offset


def appended():
    """(leader epoch, batch, who sends it)"""
    for codec in range(5):
        yield 3, plain(0, 10, codec=codec, headers=[("h", b"x"), ("none", None)]), CLIENT
    for turn in range(4):
        identity = {"producer_id": 7, "producer_epoch": turn, "is_transactional": True}
        yield 3 + turn, plain(0, 3, base_sequence=0, **identity), CLIENT
        yield 3 + turn, plain(0, 2, base_sequence=3, **identity), CLIENT
        yield 3 + turn, marker(turn), COORDINATOR
    yield 6, plain(0, 2, producer_id=8, producer_epoch=0, base_sequence=0, is_transactional=True), CLIENT
    yield 6, plain(0, 4, producer_id=9, producer_epoch=5, base_sequence=2**31 - 2), CLIENT


def marker(turn):
    return control.end_transaction_marker(turn % 2 == 1, 4, NOW, producer_id=7, producer_epoch=turn)


def test_a_partition_written_through_the_log(tmp_path, dump, capsys):
    directory = tmp_path / "log" / "ours-0"
    directory.mkdir(parents=True)
    end_offset = written_through_the_log(directory, **{"internal.segment.bytes": "1000"})
    files = sorted(directory.glob("*.*"))
    assert len([path for path in files if path.suffix == ".log"]) > 2
    assert {".log", ".index", ".timeindex", ".txnindex", ".snapshot"} <= {path.suffix for path in files}
    out, complaints = dump(*(path for path in files if path.suffix != ".metadata"))
    assert complaints == []
    offsets = [int(found) for found in re.findall(r"^\| offset: (\d+)", out, re.MULTILINE)]
    assert offsets == list(range(end_offset))
    assert re.search(r"producerId: 8 .* currentTxnFirstOffset: Some\(\d+\)", out)
    assert out.count("endTxnMarker: ABORT") == out.count("lastStableOffset: ") == 2
    # The verifier has nothing to say of it either, but for what is not there: a broker around it.
    (tmp_path / "log" / ".kafka_cleanshutdown").touch()
    main(["log", "check", "--json", str(tmp_path / "log")])
    findings = [json.loads(line) for line in capsys.readouterr().out.splitlines()[:-1]]
    assert [
        finding for finding in findings if finding["file"].startswith("ours-0/") and finding["severity"] == "error"
    ] == []


def compacted_by_us(log_dir, codec_name):
    """A partition with superseded records, tombstones and an aborted transaction, after two rounds of the cleaner."""
    overrides = {
        "cleanup.policy": "compact",
        "internal.segment.bytes": 2000,
        "index.interval.bytes": 100,
        "min.cleanable.dirty.ratio": 0.0,
        "delete.retention.ms": 0,
        "compression.type": codec_name,
    }
    broker = RealBroker(log_dir, topic_overrides={"ours": overrides}, log_cleaner_enable="false")
    broker.run(broker.manager.start())
    log = broker.run(broker.manager.get_or_create("ours", 0, bytes(range(16))))
    for number in range(60):
        pairs = [
            (b"key-%d" % (each % 13), None if each % 7 == 3 else b"%d" % each * 20)
            for each in range(number, number + 4)
        ]
        is_transactional = number % 10 == 5
        identity = {"producer": 7, "sequence": number // 10 * 4, "transactional": True} if is_transactional else {}
        append_as_leader(log, keyed_batch(pairs, timestamp=NOW + number, **identity), 0, NOW)
        if is_transactional:
            data = end_marker(7, commit=number % 20 == 5, timestamp=NOW + number)
            append_as_leader(log, data, 0, NOW, origin=COORDINATOR)
    log.roll(NOW)
    log.update_high_watermark(log.log_end_offset)
    before = log.size
    for _ in range(2):
        broker.run(broker.manager.cleaner.clean_filthiest())
    assert log.size < before / 2 and len(log.segments) > 1
    broker.run(broker.manager.stop())
    broker.close()


@pytest.mark.parametrize("codec_name", ["producer", "lz4"])
def test_what_our_cleaner_leaves(codec_name, tmp_path, dump):
    """The tool has to say of it what it says of the work of Kafka's cleaner, and nothing else."""
    compacted_by_us(tmp_path, codec_name)
    directory = tmp_path / "ours-0"
    files = [path for path in sorted(directory.glob("0*")) if path.suffix in DUMPED]
    assert {".log", ".index", ".timeindex", ".snapshot"} <= {path.suffix for path in files}
    out, complaints = dump(*files)
    assert [line for line in complaints if not re.match(SAID_OF_COMPACTED, line)] == []
    assert out.count("isvalid: true") > 5


def test_indexes_that_recovery_has_built(tmp_path, dump):
    """A partition whose index files are lost, and whose broker was killed."""
    directory = tmp_path / "ours-0"
    directory.mkdir()
    end_offset = written_through_the_log(directory, **{"internal.segment.bytes": "1000"})
    before = {path.name: path.read_bytes() for path in directory.glob("0*") if path.suffix != ".snapshot"}
    for path in directory.glob("0*"):
        if path.suffix != ".log":
            path.unlink()
    config = LogConfig.from_config(topic.TABLE.parse({"index.interval.bytes": "100"}, release="4.3"))
    options = {"had_clean_shutdown": False, "recovery_point": 0, "log_start_offset": 0, "now_ms": NOW}
    loaded = finished(load_log(SystemDisk(), str(directory), directory.name, config, **options))
    assert loaded.log_end_offset == end_offset
    files = sorted(directory.glob("0*"))
    assert {path.name for path in files} >= set(before)
    assert dump(*files)[1] == []


def test_the_test_can_fail(tmp_path, dump):
    """A flipped bit and an index entry that is one byte off are complaints."""
    directory = tmp_path / "bad-0"
    directory.mkdir()
    segment = Segment().add(idempotent())
    segment.data[-3] ^= 1
    _, complaints = dump(segment.write(directory)[0])
    assert any("isvalid: false" in line for line in complaints)
    segment.data[-3] ^= 1
    segment.index = bytearray(struct.pack(">ii", 4, 0))
    segment.time_index = bytearray(struct.pack(">qi", NOW, 4))
    _, complaints = dump(*segment.write(directory))
    assert any("mismatch" in line for line in complaints)
