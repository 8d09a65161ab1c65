"""Each way to damage a log, its indexes or its producer snapshots is found, with file and place."""

import shutil
import struct

import pytest
from damaged_dirs import FIRST, check, errors_of, only_error, patch, positions, reframed

from odradek.records import layout
from odradek.records.batch import batches
from odradek.records.legacy import message_set
from odradek.records.record import Record

# L2: checksums and records


@pytest.mark.parametrize("name", ["gzip-0", "snappy-0", "lz4-0", "zstd-0", "plain-0", "headers-0", "logappend-0"])
def test_a_flipped_bit_in_the_records(log_dir, name):
    path = log_dir / name / f"{FIRST}.log"
    at = layout.HEADER_SIZE + 5
    patch(path, at, bytes([path.read_bytes()[at] ^ 1]))
    assert "crc" in only_error(log_dir, "L2", f"{name}/{FIRST}.log", 0)


@pytest.mark.parametrize("byte", range(17, layout.HEADER_SIZE, 3))
def test_a_flipped_bit_in_the_header_of_a_middle_batch(log_dir, byte):
    path = log_dir / "segments-0" / f"{FIRST}.log"
    at = positions(path)[5]
    patch(path, at + byte, bytes([path.read_bytes()[at + byte] ^ 0x40]))
    errors = errors_of(log_dir)
    assert (errors[0].rule, errors[0].file, errors[0].position) == ("L2", f"segments-0/{FIRST}.log", at)


def test_a_length_that_leads_past_the_end(log_dir):
    path = log_dir / "segments-0" / f"{FIRST}.log"
    at = positions(path)[5]
    patch(path, at + layout.LENGTH_OFFSET, struct.pack(">i", 0x7FFFFFF0))
    errors = errors_of(log_dir)
    assert (errors[0].rule, errors[0].position) == ("L2", at)
    assert "ends inside a batch of 2147483644 bytes" in errors[0].message


def test_a_length_below_any_batch(log_dir):
    path = log_dir / "plain-0" / f"{FIRST}.log"
    patch(path, layout.LENGTH_OFFSET, struct.pack(">i", -5))
    assert "size -5" in only_error(log_dir, "L2", f"plain-0/{FIRST}.log", 0)


def test_a_cut_off_last_batch(log_dir):
    path = log_dir / "keyed-0" / f"{FIRST}.log"
    path.write_bytes(path.read_bytes()[:-1])
    errors = errors_of(log_dir)
    assert (errors[0].rule, errors[0].file, errors[0].position) == ("L2", f"keyed-0/{FIRST}.log", 0)


def test_a_zeroed_page_in_a_sealed_segment(log_dir):
    path = log_dir / "segments-0" / "00000000000000000023.log"
    at = positions(path)[10]
    patch(path, at, bytes(path.stat().st_size - at))
    errors = errors_of(log_dir)
    assert (errors[0].rule, errors[0].position) == ("L2", at)
    assert "zeros" in errors[0].message


def test_zeros_at_the_end_of_the_active_segment_are_preallocation(log_dir):
    path = log_dir / "plain-0" / "00000000000000000031.log"
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + bytes(4096))
    found, summary = check(log_dir)
    assert summary.errors == 0
    assert ("L2", "plain-0/00000000000000000031.log", size) in [(f.rule, f.file, f.position) for f in found]


def test_a_record_count_that_does_not_fit(log_dir):
    path = log_dir / "plain-0" / f"{FIRST}.log"
    reframed(path, 0, lambda batch: struct.pack_into(">i", batch, layout.RECORD_COUNT_OFFSET, 3))
    errors = errors_of(log_dir)
    assert (errors[0].rule, errors[0].file, errors[0].position) == ("L2", f"plain-0/{FIRST}.log", 0)


# L1: offsets


def test_an_offset_that_comes_twice(log_dir):
    path = log_dir / "segments-0" / f"{FIRST}.log"
    at = positions(path)[3]
    patch(path, at, struct.pack(">q", 2))
    errors = errors_of(log_dir)
    assert (errors[0].rule, errors[0].position) == ("L1", at)
    assert "begins with offset 2, expected 3 or more" in errors[0].message


def test_an_offset_below_the_segments(log_dir):
    path = log_dir / "segments-0" / "00000000000000000023.log"
    patch(path, 0, struct.pack(">q", 22))
    errors = errors_of(log_dir)
    assert (errors[0].rule, errors[0].file) == ("L1", "segments-0/00000000000000000023.log")
    assert "below the segment's 23" in errors[0].message


def test_a_segment_that_runs_into_the_next(log_dir):
    path = log_dir / "segments-0" / f"{FIRST}.log"
    at = positions(path)[-1]
    patch(path, at, struct.pack(">q", 30))
    errors = errors_of(log_dir)
    assert (errors[0].rule, errors[0].position) == ("L1", at)
    assert "the next segment begins with 23" in errors[0].message


def test_a_last_offset_before_the_first(log_dir):
    path = log_dir / "segments-0" / f"{FIRST}.log"
    reframed(path, 0, lambda batch: struct.pack_into(">i", batch, layout.LAST_OFFSET_DELTA_OFFSET, -1))
    errors = errors_of(log_dir)
    assert (errors[0].rule, errors[0].position) == ("L1", 0)
    assert "ends before it begins" in errors[0].message


def test_an_offset_too_far_for_the_indexes(log_dir):
    path = log_dir / "segments-0" / "00000000000000000114.log"
    at = positions(path)[-1]
    patch(path, at, struct.pack(">q", 114 + (1 << 31)))
    assert "too far from the segment's 114" in only_error(log_dir, "L1", f"segments-0/{path.name}", at)


def test_records_outside_the_offsets_of_their_batch(log_dir):
    path = log_dir / "plain-0" / f"{FIRST}.log"
    reframed(path, 0, lambda batch: struct.pack_into(">i", batch, layout.LAST_OFFSET_DELTA_OFFSET, 1))
    errors = errors_of(log_dir)
    assert (errors[0].rule, errors[0].position) == ("L1", 0)
    assert "a record of the batch 0-1 has offset 2 after 1" in errors[0].message


def test_a_segment_that_is_gone(log_dir):
    for path in (log_dir / "segments-0").glob("00000000000000000114.*"):
        path.unlink()
    errors = errors_of(log_dir)
    assert {(error.rule, error.file) for error in errors} == {
        ("P5", "segments-0/00000000000000000120.snapshot"),
        ("checkpoint", "recovery-point-offset-checkpoint"),
        ("checkpoint", "replication-offset-checkpoint"),
    }


@pytest.mark.parametrize("partition", ["plain-0", "segments-0", "txn-0", "deleted-0", "compacted-0"])
def test_a_sealed_segment_that_lost_its_last_batch(log_dir, partition):
    """What is left is whole; the indexes, the snapshot or the transactions tell of what is gone."""
    sealed = [path for path in sorted((log_dir / partition).glob("*.log"))[:-1] if path.stat().st_size]
    assert sealed
    for path in sealed:
        data = path.read_bytes()
        path.write_bytes(data[: positions(path)[-1]])
        errors = errors_of(log_dir)
        path.write_bytes(data)
        assert errors and all(error.file.startswith(partition) for error in errors), path
    assert errors_of(log_dir) == []


# L3: leader epochs


def test_an_epoch_file_that_disagrees_with_the_batches(log_dir):
    (log_dir / "segments-0" / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n3 60\n")
    errors = errors_of(log_dir)
    assert (errors[0].rule, errors[0].file) == ("L3", "segments-0/00000000000000000046.log")
    assert "gives offset 60 the epoch 3" in errors[0].message


def test_a_batch_of_an_older_epoch(log_dir):
    path = log_dir / "__cluster_metadata-0" / f"{FIRST}.log"
    at = positions(path)[-1]
    patch(path, at + layout.LEADER_EPOCH_OFFSET, struct.pack(">i", 1))
    message = only_error(log_dir, "L3", f"__cluster_metadata-0/{FIRST}.log", at)
    assert "leader epoch 1, after a batch of 2" in message


@pytest.mark.parametrize(
    "text, line",
    [
        ("0\n2\n1 0\n1 128\n", 4),
        ("0\n2\n2 128\n1 0\n", 4),
        ("0\n3\n1 0\n2 128\n", 2),
        ("1\n0\n", 1),
        ("0\n1\n1 x\n", 3),
        ("0\n2\n1 0\n2 500\n", 4),
        ("0\n1\n\xff\n", 3),
    ],
)
def test_an_epoch_file_that_cannot_be(log_dir, text, line):
    (log_dir / "__cluster_metadata-0" / "leader-epoch-checkpoint").write_bytes(text.encode("latin-1"))
    errors = errors_of(log_dir)
    assert ("L3", "__cluster_metadata-0/leader-epoch-checkpoint", line) in [
        (e.rule, e.file, e.position) for e in errors
    ]


def test_a_missing_epoch_file(log_dir):
    (log_dir / "plain-0" / "leader-epoch-checkpoint").unlink()
    only_error(log_dir, "L3", "plain-0/leader-epoch-checkpoint", None)


# L5: indexes


def index_path(log_dir):
    return log_dir / "segments-0" / f"{FIRST}.index"


def test_an_index_entry_where_no_batch_begins(log_dir):
    path = index_path(log_dir)
    offset, position = struct.unpack(">ii", path.read_bytes()[8:16])
    patch(path, 8, struct.pack(">ii", offset, position + 1))
    assert "no batch begins at" in only_error(log_dir, "L5", f"segments-0/{FIRST}.index", 8)


def test_an_index_entry_with_the_offset_of_another_batch(log_dir):
    path = index_path(log_dir)
    (first,) = struct.unpack(">i", path.read_bytes()[:4])
    patch(path, 0, struct.pack(">i", first - 1))
    assert "begins with offset" in only_error(log_dir, "L5", f"segments-0/{FIRST}.index", 0)


def test_an_index_entry_with_an_offset_inside_a_batch(log_dir):
    path = log_dir / "lz4-0" / f"{FIRST}.log"
    _, second = positions(path)
    last = list(batches(path.read_bytes()))[-1].last_offset
    index = log_dir / "lz4-0" / f"{FIRST}.index"
    index.write_bytes(struct.pack(">ii", last, second))
    assert errors_of(log_dir) == []
    index.write_bytes(struct.pack(">ii", last - 1, second))
    assert f"offset {last - 1} ends no batch" in only_error(log_dir, "L5", f"lz4-0/{FIRST}.index", 0)


def test_index_entries_out_of_order(log_dir):
    path = index_path(log_dir)
    data = path.read_bytes()
    path.write_bytes(data[:8] + data[16:24] + data[8:16] + data[24:])
    assert "does not follow" in only_error(log_dir, "L5", f"segments-0/{FIRST}.index", 16)


def test_an_index_past_the_end_of_the_log(log_dir):
    path = log_dir / "segments-0" / "00000000000000000114.index"
    path.write_bytes(path.read_bytes() + struct.pack(">ii", 50, 5000))
    assert "the last batch ends at 540" in only_error(log_dir, "L5", "segments-0/00000000000000000114.index", 8)


def test_an_index_of_odd_size(log_dir):
    path = index_path(log_dir)
    path.write_bytes(path.read_bytes() + b"\x01\x02\x03")
    assert "too few for an entry" in only_error(log_dir, "L5", f"segments-0/{FIRST}.index", 56)


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
def test_an_index_that_was_not_trimmed_at_a_clean_stop(log_dir, suffix):
    path = log_dir / "gzip-0" / f"{FIRST}.{suffix}"
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + bytes(24))
    assert "24 bytes of zeros" in only_error(log_dir, "L5", f"gzip-0/{FIRST}.{suffix}", size)


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
def test_a_missing_index(log_dir, suffix):
    (log_dir / "segments-0" / f"{FIRST}.{suffix}").unlink()
    only_error(log_dir, "L5", f"segments-0/{FIRST}.{suffix}", None)


def test_a_time_index_entry_with_another_timestamp(log_dir):
    path = log_dir / "segments-0" / f"{FIRST}.timeindex"
    (timestamp,) = struct.unpack(">q", path.read_bytes()[:8])
    patch(path, 0, struct.pack(">q", timestamp - 1))
    assert f"timestamp {timestamp - 1} of offset" in only_error(log_dir, "L5", f"segments-0/{FIRST}.timeindex", 0)


def test_time_index_entries_out_of_order(log_dir):
    path = log_dir / "segments-0" / f"{FIRST}.timeindex"
    data = path.read_bytes()
    path.write_bytes(data[12:24] + data[:12] + data[24:])
    assert "does not follow" in only_error(log_dir, "L5", f"segments-0/{FIRST}.timeindex", 12)


def test_a_time_index_entry_that_comes_twice(log_dir):
    path = log_dir / "segments-0" / f"{FIRST}.timeindex"
    path.write_bytes(path.read_bytes() + path.read_bytes()[-12:])
    assert "does not follow" in only_error(log_dir, "L5", f"segments-0/{FIRST}.timeindex", 96)


def test_a_time_index_entry_of_a_batch_that_is_not_the_latest_so_far(log_dir):
    path = log_dir / "txn-0" / "00000000000000000004.timeindex"
    entries = list(struct.iter_unpack(">qi", path.read_bytes()))
    timestamp, offset = entries[0]
    patch(path, 0, struct.pack(">qi", timestamp, offset + 1))
    message = only_error(log_dir, "L5", "txn-0/00000000000000000004.timeindex", 0)
    assert f"timestamp {timestamp} of offset {offset + 5}: its batch has 17" in message


def test_a_time_index_entry_past_the_log(log_dir):
    path = log_dir / "gzip-0" / f"{FIRST}.timeindex"
    patch(path, 8, struct.pack(">i", 1000))
    assert "past the last batch" in only_error(log_dir, "L5", f"gzip-0/{FIRST}.timeindex", 0)


def test_a_time_index_that_was_not_closed(log_dir):
    path = log_dir / "segments-0" / f"{FIRST}.timeindex"
    path.write_bytes(path.read_bytes()[:-12])
    assert "the segment's largest is" in only_error(log_dir, "L5", f"segments-0/{FIRST}.timeindex", 84)


def test_an_index_without_its_segment(log_dir):
    shutil.copy(index_path(log_dir), log_dir / "segments-0" / "00000000000000000500.index")
    assert "no such segment" in only_error(log_dir, "names", "segments-0/00000000000000000500.index", None)


def test_a_log_of_magic_1_needs_no_epoch_file(log_dir):
    """Kafka makes the file when there are epochs to write down."""
    directory = log_dir / "empty-0"
    (directory / "leader-epoch-checkpoint").unlink()
    (directory / f"{FIRST}.log").write_bytes(message_set([Record(0, b"k", b"v", 7)], 1))
    (directory / f"{FIRST}.timeindex").write_bytes(struct.pack(">qi", 7, 0))
    assert errors_of(log_dir) == []
