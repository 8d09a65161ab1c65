"""Compaction beside Kafka's own: the same rounds over the same segments leave the same bytes.

`cleaner-rounds-3.3.2.jsonl.gz` holds, for three rounds on two topics (the second with LogAppendTime), the segments
before and after Kafka 3.3.2 has cleaned them, with its clock, its checkpoint and its producers: plain, gzip, lz4 and
snappy batches, tombstones, records without keys, committed and aborted transactions, horizons set in one round and
passed in the next.
"""

import gzip
import json
import tarfile
from pathlib import Path

import pytest

from log_kit import clean
from odradek.log import names
from odradek.log.checkpoint import parse_offsets
from odradek.log.cleaner.clean_batches import LastRecord
from odradek.log.cleaner.clean_job import CleanTask
from odradek.log.config import LogConfig
from odradek.log.index import transaction_index
from odradek.records.batch import batches
from odradek.sim.disk import SimDisk

DATA = Path(__file__).parent / "data"
DIR = "/logs/topic-0"
SECRET = bytes(16)

with gzip.open(DATA / "cleaner-rounds-3.3.2.jsonl.gz", "rt", encoding="utf-8") as lines:
    ROUNDS = [json.loads(line) for line in lines]


def finished(job):
    while True:
        try:
            next(job)
        except StopIteration as end:
            return end.value


def written(disk, suffix, files):
    for base_offset, data in files.items():
        file = disk.open(f"{DIR}/{names.file_name(base_offset, suffix)}", create=True)
        file.append([data])
        file.close()


def cleaned(disk, task, segments):
    """The log files after the round, and the transaction indexes of the segments that were replaced."""
    round_, replacements = finished(clean(disk, task))
    left = dict(segments)
    aborted = {}
    for replacement in replacements:
        for base_offset in replacement.replaced:
            del left[base_offset]
        base_offset = replacement.cleaned.base_offset
        stem = f"{DIR}/{names.file_name(base_offset, '')}"
        left[base_offset] = disk.read(stem + names.LOG + names.CLEANED)
        path = stem + names.TRANSACTION_INDEX + names.CLEANED
        aborted[base_offset] = disk.read(path) if disk.exists(path) else b""
    return round_, dict(sorted(left.items())), aborted


def by_offset(files):
    return {int(base_offset): bytes.fromhex(data) for base_offset, data in files.items()}


@pytest.mark.parametrize("case", ROUNDS, ids=lambda case: f"{case['topic']}-{case['round']}")
def test_a_round_leaves_what_kafka_left(case):
    before, after = by_offset(case["before"]), by_offset(case["after"])
    indexes = by_offset(case["txnindex_before"])
    active = max(before)
    disk = SimDisk()
    disk.mkdir(DIR)
    written(disk, names.LOG, before)
    written(disk, names.TRANSACTION_INDEX, indexes)
    task = CleanTask(
        DIR,
        [(base_offset, len(data)) for base_offset, data in before.items() if base_offset < active],
        first_dirty_offset=case["first_dirty"],
        first_uncleanable_offset=active,
        config=LogConfig.default().replace(
            internal_segment_bytes=case["segment_bytes"],
            segment_index_bytes=case["index_bytes_max"],
            delete_retention_ms=case["delete_retention_ms"],
        ),
        now_ms=case["now_ms"],
        secret=SECRET,
        aborted=[each for base, data in indexes.items() for each in transaction_index.decode(data, base)],
        active_producers={int(producer_id): LastRecord(*last) for producer_id, last in case["producers"].items()},
    )
    round_, left, aborted = cleaned(disk, task, before)
    assert round_.end_offset == case["end"]
    assert list(left) == list(after)
    assert left == after
    kept = by_offset(case["txnindex_after"])
    assert {base: data for base, data in aborted.items() if data} == {
        base: data for base, data in kept.items() if base in aborted and data
    }
    assert sum(map(len, left.values())) < sum(map(len, before.values()))


@pytest.mark.parametrize("first_dirty_offset", [0, 189])
@pytest.mark.parametrize("archive", ["kafka-3.3.2-kraft-unclean", "kafka-3.3.2-zk-clean", "kafka-4.3.0-kraft-clean"])
def test_what_kafka_has_cleaned_is_a_fixed_point(archive, first_dirty_offset):
    """Whether we begin where Kafka's cleaner stopped or clean all of it again, every batch stays as it is."""
    segments, checkpoint = compacted_partition(archive)
    assert checkpoint == {("compacted", 0): 189}
    disk = SimDisk()
    disk.mkdir(DIR)
    written(disk, names.LOG, segments)
    task = CleanTask(
        DIR,
        [(base_offset, len(data)) for base_offset, data in segments.items() if base_offset < 189],
        first_dirty_offset=first_dirty_offset,
        first_uncleanable_offset=189,
        config=LogConfig.default(),
        now_ms=0,  # before every horizon
        secret=SECRET,
    )
    round_, left, _ = cleaned(disk, task, segments)
    assert round_.end_offset == 189
    assert round_.stats.batches_rewritten == 0
    assert b"".join(left.values()) == b"".join(segments.values())
    assert any(batch.delete_horizon_ms is not None for data in left.values() for batch in batches(data))


def compacted_partition(archive):
    segments, checkpoint = {}, {}
    with tarfile.open(DATA / "logdirs" / f"{archive}.tar.gz") as tar:
        for member in tar:
            content = tar.extractfile(member)
            if content is None:
                continue
            path = Path(member.name)
            if path.parent.name == "compacted-0" and path.suffix == names.LOG:
                segments[int(path.stem)] = content.read()
            elif path.name == names.CLEANER_OFFSETS:
                checkpoint = parse_offsets(content.read())
    return dict(sorted(segments.items())), checkpoint
