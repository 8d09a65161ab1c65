"""A sealed segment that was cut where a batch ends: found out where anything speaks of what is gone, and only there."""

import pytest

from log_kit import NOW, Partition, append_as_leader, config, marker, read_records
from manager_kit import SimBroker
from odradek.log import names
from odradek.log.append import COORDINATOR
from odradek.log.failure import LogDamaged, LogDirFailure
from odradek.records.batch import batches

QUIET = {"index_interval_bytes": 1 << 20, "retention_ms": -1}  # no entry in the offset index


def closed(appends, **changes):
    """One sealed segment with what `appends` brings, and an active one with a record; all of the same time."""
    partition = Partition(log_config=config(**QUIET, **changes))
    appends(partition)
    partition.log.roll(NOW)
    partition.append(b"next", leader_epoch=1)
    partition.flush()
    partition.close()
    return partition


def cut(partition, count=1):
    """Takes the last batches of the first segment."""
    path = f"{partition.directory}/{names.file_name(0, names.LOG)}"
    kept = list(batches(partition.disk.read(path)))[:-count]
    partition.disk.write_atomically(path, b"".join(bytes(one.buffer) for one in kept))
    return path


def read_again(partition, **options):
    partition.load(clean=True)
    for name, value in options.items():
        setattr(partition.log, name, value)
    partition.log.update_high_watermark(partition.log.log_end_offset)
    return [record.offset for record in read_records(partition.log)]


def numbered(partition):
    for sequence in range(3):
        partition.append(b"value", producer=7, sequence=sequence)


def aborted(partition):
    partition.append(b"value", producer=7, transactional=True)
    data = marker(7, commit=False, timestamp=NOW - 1)
    append_as_leader(partition.log, data, 0, NOW, origin=COORDINATOR)


def anonymous(partition):
    for _ in range(3):
        partition.append(b"value")


def two_epochs(partition):
    for number in range(3):
        partition.append(b"value", leader_epoch=number // 2)


@pytest.mark.parametrize(("appends", "count"), [(numbered, 1), (numbered, 2), (aborted, 1), (two_epochs, 2)])
def test_somebody_speaks_of_what_is_gone(appends, count):
    partition = closed(appends)
    path = cut(partition, count)
    with pytest.raises(LogDamaged, match="was in it") as failure:
        read_again(partition)
    assert (failure.value.path, failure.value.position) == (path, partition.disk.size(path))
    with pytest.raises(LogDamaged, match="was in it"):
        list(read_records(partition.log))


@pytest.mark.parametrize("appends", [numbered, aborted, two_epochs, anonymous])
def test_nobody_minds_a_segment_that_is_whole(appends):
    partition = closed(appends)
    assert read_again(partition) == list(range(partition.recovery_point))


def test_where_nobody_does_the_gap_may_be_one_that_a_leader_had():
    partition = closed(anonymous)
    cut(partition)
    assert read_again(partition) == [0, 1, 3]


@pytest.mark.parametrize("appends", [numbered, aborted])
def test_in_a_log_that_was_ever_compacted_a_gap_is_none(appends):
    partition = closed(appends)
    cut(partition)
    offsets = read_again(partition, was_compacted=True)
    assert partition.recovery_point - 2 not in offsets
    partition.config = config(**QUIET, cleanup_policy=frozenset({"compact"}))
    assert read_again(partition) == offsets


@pytest.mark.parametrize("damage", ["lost", "flipped"])
def test_a_snapshot_that_cannot_be_read_claims_nothing(damage):
    partition = closed(numbered)
    cut(partition)
    path = f"{partition.directory}/{names.file_name(3, names.PRODUCER_SNAPSHOT)}"
    if damage == "lost":
        partition.disk.unlink(path)
    else:
        partition.disk.flip_bit(path, 10, 1)
    assert read_again(partition) == [0, 1, 3]


def test_a_disk_that_fails_to_tell_is_a_failed_disk():
    partition = closed(numbered)
    cut(partition)
    partition.load(clean=True)
    partition.disk.fail("read", 5, path=names.PRODUCER_SNAPSHOT, times=None)
    with pytest.raises(LogDirFailure, match="reading"):
        list(read_records(partition.log))


# What the log manager knows of a log's past.


def broker_with_a_gap():
    broker = SimBroker(dirs=["data/a"], topic_overrides={"topic": {"index.interval.bytes": 1 << 20}})
    broker.start()
    log = broker.create()
    for sequence in range(3):
        broker.append(log, "value", producer=7, sequence=sequence, timestamp=NOW)
    broker.on_reactor(lambda: log.roll(broker.manager.now_ms))
    broker.append(log, "next", timestamp=NOW)
    broker.stop()
    partition = Partition.__new__(Partition)
    partition.disk, partition.directory = broker.disk, "data/a/topic-0"
    cut(partition)
    return broker


def test_the_cleaners_checkpoint_tells_whether_a_log_was_ever_compacted():
    broker = broker_with_a_gap()
    broker.disk.write_atomically("data/a/cleaner-offset-checkpoint", b"0\n1\ntopic 0 3\n")
    log = broker.start().get("topic", 0)
    assert log.was_compacted
    assert [record.offset for record in read_records(log)] == [0, 1, 3]
    assert broker.failed == []


def test_without_one_the_log_is_set_aside():
    broker = broker_with_a_gap()
    log = broker.start().get("topic", 0)
    assert not log.was_compacted
    with pytest.raises(LogDamaged):
        list(read_records(log))
