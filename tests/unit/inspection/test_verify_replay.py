"""Transaction indexes and producer snapshots are held against a replay of the log."""

import shutil
import struct

import pytest
from damaged_dirs import FIRST, errors_of, only_error, patch, read_snapshot, write_snapshot

from odradek.protocol.messages.producer_snapshot import ProducerEntry
from odradek.records.batch import batches
from odradek.records.control import end_transaction_marker
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch

# Transaction index

ABORTED = "txn-0/00000000000000000004.txnindex"


@pytest.mark.parametrize("field, size", [(2, 8), (10, 8), (18, 8), (26, 8)])
def test_an_aborted_transaction_that_is_not_in_the_log(log_dir, field, size):
    path = log_dir / ABORTED
    at = 34 + field
    value = int.from_bytes(path.read_bytes()[at : at + size], "big")
    patch(path, at, (value + 1).to_bytes(size, "big"))
    assert "the log has the aborted transaction of producer 2" in only_error(log_dir, "txn index", ABORTED, 34)


def test_an_aborted_transaction_that_the_index_misses(log_dir):
    path = log_dir / ABORTED
    path.write_bytes(path.read_bytes()[:34])
    assert "which is missing" in only_error(log_dir, "txn index", ABORTED, 34)


def test_a_missing_transaction_index(log_dir):
    (log_dir / ABORTED).unlink()
    assert "which is missing" in only_error(log_dir, "txn index", ABORTED, 0)


def test_a_transaction_index_for_no_aborted_transaction(log_dir):
    name = f"txn-0/{FIRST}.txnindex"
    (log_dir / name).write_bytes(struct.pack(">hqqqq", 0, 2, 0, 3, 4))
    assert "is not in the log" in only_error(log_dir, "txn index", name, 0)


@pytest.mark.parametrize("data, position", [(b"\0" * 33, 0), (struct.pack(">hqqqq", 7, 2, 5, 9, 10), 0)])
def test_a_transaction_index_that_cannot_be(log_dir, data, position):
    (log_dir / ABORTED).write_bytes(data)
    only_error(log_dir, "txn index", ABORTED, position)


# P5: producer snapshots

SNAPSHOT = "txn-0/00000000000000000034.snapshot"


def test_a_snapshot_with_a_wrong_crc(log_dir):
    path = log_dir / SNAPSHOT
    patch(path, 20, bytes([path.read_bytes()[20] ^ 1]))
    assert "crc" in only_error(log_dir, "P5", SNAPSHOT, 2)


def test_a_snapshot_that_is_cut_off(log_dir):
    path = log_dir / SNAPSHOT
    path.write_bytes(path.read_bytes()[:-8])
    only_error(log_dir, "P5", SNAPSHOT, 2)


@pytest.mark.parametrize(
    "field",
    [
        "epoch",
        "last_sequence",
        "last_offset",
        "offset_delta",
        "timestamp",
        "coordinator_epoch",
        "current_txn_first_offset",
    ],
)
def test_a_snapshot_that_differs_from_the_replay(log_dir, field):
    entries = read_snapshot(log_dir / SNAPSHOT)
    setattr(entries[0], field, getattr(entries[0], field) + 1)
    write_snapshot(log_dir / SNAPSHOT, entries)
    message = only_error(log_dir, "P5", SNAPSHOT, None)
    assert f"producer {entries[0].producer_id}: it has" in message


def test_a_snapshot_with_a_producer_that_never_wrote(log_dir):
    entries = read_snapshot(log_dir / SNAPSHOT)
    entries.append(ProducerEntry(producer_id=999, epoch=0, last_sequence=0, last_offset=1, timestamp=1))
    write_snapshot(log_dir / SNAPSHOT, entries)
    assert "producer 999: no batch of it" in only_error(log_dir, "P5", SNAPSHOT, None)


def test_a_snapshot_without_a_producer_that_wrote_lately(log_dir):
    entries = read_snapshot(log_dir / SNAPSHOT)
    missing = max(entries, key=lambda entry: entry.timestamp)
    write_snapshot(log_dir / SNAPSHOT, [entry for entry in entries if entry is not missing])
    assert f"producer {missing.producer_id} is missing" in only_error(log_dir, "P5", SNAPSHOT, None)


def test_a_snapshot_past_the_log(log_dir):
    shutil.copy(log_dir / SNAPSHOT, log_dir / "txn-0" / "00000000000000000900.snapshot")
    assert "the log ends at 63" in only_error(log_dir, "P5", "txn-0/00000000000000000900.snapshot", None)


def test_a_snapshot_inside_a_batch(log_dir):
    (log_dir / "gzip-0" / "00000000000000000040.snapshot").rename(log_dir / "gzip-0" / "00000000000000000003.snapshot")
    assert "is inside the batch 0-" in only_error(log_dir, "P5", "gzip-0/00000000000000000003.snapshot", None)


# A log that we wrote: two transactions that overlap, a compacted batch


def new_partition(log_dir, name, data, end):
    """A partition with one segment and no index entries, listed in no checkpoint."""
    directory = log_dir / name
    directory.mkdir()
    (directory / f"{FIRST}.log").write_bytes(data)
    (directory / f"{FIRST}.index").write_bytes(b"")
    last = list(batches(data))[-1]
    (directory / f"{FIRST}.timeindex").write_bytes(struct.pack(">qi", last.max_timestamp, last.last_offset))
    (directory / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    (directory / "partition.metadata").write_text("version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw")
    return directory


def overlapping_transactions():
    def data(offset, producer_id, sequence):
        fields = BatchFields(
            partition_leader_epoch=0,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=True,
        )
        return record_batch([Record(offset, b"k", b"v", 1000 + offset)], fields)

    def marker(offset, producer_id, is_commit):
        return end_transaction_marker(
            is_commit,
            5,
            1000 + offset,
            producer_id=producer_id,
            producer_epoch=0,
            base_offset=offset,
            partition_leader_epoch=0,
        )

    return data(0, 1, 0) + data(1, 2, 0) + data(2, 1, 1) + marker(3, 1, False) + marker(4, 2, False)


def test_the_last_stable_offset_of_an_aborted_transaction_is_the_first_still_open_one(log_dir):
    directory = new_partition(log_dir, "ours-0", overlapping_transactions(), 5)
    index = directory / f"{FIRST}.txnindex"
    index.write_bytes(struct.pack(">hqqqq", 0, 1, 0, 3, 1) + struct.pack(">hqqqq", 0, 2, 1, 4, 5))
    assert errors_of(log_dir) == []
    index.write_bytes(struct.pack(">hqqqq", 0, 1, 0, 3, 4) + struct.pack(">hqqqq", 0, 2, 1, 4, 5))
    assert "last stable offset 1" in only_error(log_dir, "txn index", f"ours-0/{FIRST}.txnindex", 0)


def test_an_open_transaction_is_never_missing_from_a_snapshot(log_dir):
    data = overlapping_transactions()
    cut = sum(batch.size for batch in list(batches(data))[:3])
    directory = new_partition(log_dir, "ours-0", data[:cut], 3)
    write_snapshot(directory / "00000000000000000003.snapshot", [])
    messages = {error.message for error in errors_of(log_dir)}
    assert messages == {
        "producer 1 is missing, its transaction from 0 is open",
        "producer 2 is missing, its transaction from 1 is open",
    }
