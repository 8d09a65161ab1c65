"""Loading: what a crash may leave, what damage may do, and that nothing unsound is ever served (L2, L5, L7)."""

import pytest

import failpoints
from log_kit import NOW, Partition, batch, config, read_batches
from odradek.log import failpoint, names
from odradek.log.failure import LogDamaged
from odradek.log.producers import producer_snapshot
from odradek.sim.crash import KEEP_ALL, LOSE_ALL, MIXED, SimCrash
from odradek.sim.disk import SimDisk
from odradek.sim.rng import SimRng

VALUE = b"." * 60
SIZE = len(batch(b"00" + VALUE, producer=1, sequence=0))  # of a batch; a segment holds two


@pytest.fixture
def partition():
    return filled()


def filled(count=20, disk=None, **changes):
    """Segments of two batches, all flushed; the recovery point is the end."""
    log_config = config(**{"segment_bytes": 300, "index_interval_bytes": 0, "retention_ms": -1, **changes})
    partition = Partition(disk, log_config)
    for number in range(count):
        partition.append(b"%02d" % number + VALUE, timestamp=NOW + 10 * number, producer=1, sequence=number)
    partition.flush()
    return partition


def numbers(partition):
    return [int(value[:2]) for _, value in partition.records()]


def path(partition, offset, kind=names.LOG):
    return f"{partition.directory}/{names.file_name(offset, kind)}"


def test_a_clean_load_reads_only_the_tail_and_opens_nothing(partition):
    partition.close()
    reads = []
    partition.disk.before_operation = lambda kind, path: reads.append((kind, path))
    log = partition.load(clean=True)
    assert not [kind for kind, _ in reads if kind in ("write", "truncate", "unlink")]
    assert not any(segment.is_active for segment in log.segments)
    assert len(partition.storage.files) == 0 and len(partition.storage.indexes) == 0
    assert numbers(partition) == list(range(20))


def test_a_flush_makes_the_snapshots_of_a_recovery_durable(partition):
    """The next recovery begins behind them, and would not write them again."""
    partition.recovery_point = 0
    partition.crash(KEEP_ALL)
    partition.load(clean=False)
    offsets = list(partition.log.snapshots)
    assert len(offsets) == 10
    partition.flush()
    partition.crash(LOSE_ALL)
    for offset in offsets:
        (entry,) = producer_snapshot.read(partition.disk, partition.directory, offset)
        assert entry.last_sequence == offset - 1


@pytest.mark.contract("G41")
@pytest.mark.parametrize("kind", [names.OFFSET_INDEX, names.TIME_INDEX])
@pytest.mark.parametrize("clean", [True, False])
def test_a_missing_index_is_rebuilt(partition, kind, clean):
    partition.close()
    before = partition.disk.snapshot()
    for offset in (4, 18):
        partition.disk.unlink(path(partition, offset, kind))
    partition.load(clean=clean)
    after = partition.disk.snapshot()
    assert {name: data for name, data in after.items() if not name.endswith(".snapshot")} == {
        name: data for name, data in before.items() if not name.endswith(".snapshot")
    }


@pytest.mark.parametrize("data", [b"\1", b"\xff" * 8, b"\0\0\0\1\x7f\0\0\0"])
def test_an_index_that_does_not_fit_is_rebuilt(partition, data):
    partition.close()
    before = partition.disk.snapshot()
    file = partition.disk.open(path(partition, 4, names.OFFSET_INDEX))
    file.truncate(0)
    file.append([data])
    partition.load(clean=True)
    assert partition.disk.snapshot() == before


@pytest.mark.contract("G21")
def test_an_index_without_a_log_goes(partition):
    partition.close()
    partition.disk.open(path(partition, 999, names.OFFSET_INDEX), create=True)
    partition.load(clean=True)
    assert not partition.disk.exists(path(partition, 999, names.OFFSET_INDEX))


def test_a_damaged_snapshot_is_passed_over(partition):
    partition.close()
    partition.disk.flip_bit(path(partition, 20, names.PRODUCER_SNAPSHOT), 12)
    log = partition.load(clean=True)
    assert log.producers.entry(1).last_sequence == 19
    assert 20 not in log.snapshots


def test_damaged_leader_epochs_fail_the_dir(partition):
    partition.close()
    partition.disk.damage(f"{partition.directory}/{names.LEADER_EPOCHS}", 0, b"9")
    with pytest.raises(LogDamaged, match="leader epochs"):
        partition.load(clean=True)


@pytest.mark.parametrize("bit", range(0, 8, 3))
def test_any_flipped_bit_past_the_recovery_point_ends_the_log_there(bit):
    for position in range(12, 2 * SIZE, 7):
        if position % SIZE < 16:
            continue  # base offset, length and leader epoch have tests of their own
        partition = filled()
        partition.recovery_point = 18
        partition.disk.flip_bit(path(partition, 18), position, bit)
        log = partition.load(clean=False)
        size = partition.disk.size(path(partition, 18))
        assert log.log_end_offset == (18 if position < SIZE else 19) and size in (0, SIZE)
        assert numbers(partition) == list(range(log.log_end_offset))


@pytest.mark.parametrize("position", [0, 3, 7, 8, 9, 10, 11])
def test_a_flipped_offset_or_length_past_the_recovery_point_ends_the_log(position):
    """They stand before the checksum: an offset that is too large is known by the gap before it."""
    partition = filled()
    partition.recovery_point = 18
    partition.disk.flip_bit(path(partition, 18), position, 7)
    log = partition.load(clean=False)
    assert log.log_end_offset == 18
    assert numbers(partition) == list(range(18))


def test_a_flipped_bit_below_the_recovery_point_fails_the_dir(partition):
    partition.recovery_point = 20
    partition.disk.flip_bit(path(partition, 18), 100)
    before = partition.disk.snapshot()
    with pytest.raises(LogDamaged) as failure:
        partition.load(clean=False)
    assert failure.value.path == path(partition, 18) and failure.value.position == 0
    assert partition.disk.snapshot()[f"/{path(partition, 18)}"] == before[f"/{path(partition, 18)}"]


@pytest.mark.parametrize("cut", [1, SIZE - 1, SIZE, SIZE + 1, 2 * SIZE - 1])
def test_a_file_cut_short_below_the_recovery_point_fails_the_dir(partition, cut):
    partition.disk.open(path(partition, 18)).truncate(2 * SIZE - cut)
    for clean in (False, True):
        with pytest.raises(LogDamaged):
            partition.load(clean=clean)


@pytest.mark.parametrize("cut", [1, SIZE - 1, SIZE, SIZE + 1, 2 * SIZE - 1, 2 * SIZE])
def test_a_file_cut_short_past_it_ends_the_log_and_drops_what_follows(partition, cut):
    partition.recovery_point = 4
    partition.disk.open(path(partition, 6)).truncate(2 * SIZE - cut)
    log = partition.load(clean=False)
    assert log.log_end_offset == 6 + (cut <= SIZE)
    assert numbers(partition) == list(range(log.log_end_offset))
    assert not partition.disk.exists(path(partition, 8))


def test_a_hole_with_good_batches_behind_it_ends_the_log(partition):
    partition.recovery_point = 4
    partition.disk.damage(path(partition, 6), 0, bytes(145))
    log = partition.load(clean=False)
    assert log.log_end_offset == 6 and numbers(partition) == list(range(6))


def test_a_preallocated_tail_is_cut_off(partition):
    partition.disk.open(path(partition, 18)).append([bytes(5000)])
    for kind in (names.OFFSET_INDEX, names.TIME_INDEX):
        partition.disk.open(path(partition, 18, kind)).append([bytes(1200)])
    log = partition.load(clean=False)
    assert (log.log_end_offset, log.active.size) == (20, 2 * SIZE)
    assert len(partition.disk.read(path(partition, 18, names.OFFSET_INDEX))) == 8


def test_bytes_behind_the_end_of_a_clean_log_are_cut_off(partition):
    partition.close()
    partition.disk.open(path(partition, 18)).append([b"garbage behind the last batch, for whatever reason"])
    log = partition.load(clean=True)
    assert (log.log_end_offset, log.active.size) == (20, 2 * SIZE)
    assert partition.append(b"20" + VALUE).first_offset == 20
    assert numbers(partition)[-1] == 20


def test_records_that_lie_below_the_log_start_are_not_part_of_the_log(partition):
    partition.log_start_offset = partition.recovery_point = 100
    log = partition.load(clean=False)
    assert (log.log_start_offset, log.log_end_offset) == (100, 100)
    assert numbers(partition) == [] and partition.append(b"00").first_offset == 100


def test_zero_byte_segments_are_accepted(partition):
    partition.close()
    for offset in (4, 8):
        for kind in names.SEGMENT_FILES[:3]:
            partition.disk.open(path(partition, offset, kind)).truncate(0)
    partition.config = partition.config.replace(cleanup_policy=("compact",))
    expected = [number for number in range(20) if number not in (4, 5, 8, 9)]
    for clean in (True, False):
        partition.recovery_point = 20 if clean else 0
        partition.load(clean=clean)
        assert numbers(partition) == expected
    assert [one.base_offset for one in read_batches(partition.log)] == expected


def test_progress_is_told(partition):
    partition.recovery_point = 0
    told = []
    partition.load(clean=False, progress=lambda directory, done, total: told.append((directory, done, total)))
    assert told[-1] == (partition.directory, 20 * SIZE, 20 * SIZE)


# The replacement of segments, interrupted anywhere.

STATES = ("", names.CLEANED, names.SWAP, names.DELETED)


def replacing(disk):
    """Segments 4 and 6 are about to be replaced by one that lacks offset 5: its files, complete, by kind."""
    partition = filled(disk=disk, cleanup_policy=("compact",))
    partition.close()
    kept = (4, 6, 7)
    log = b"".join(bytes(one.buffer) for one in read_batches(partition.load(clean=True)) if one.base_offset in kept)
    partition.log.abandon()
    return partition, {names.LOG: log, names.OFFSET_INDEX: b"", names.TIME_INDEX: b""}


def put(partition, files, suffix):
    for kind, data in files.items():
        file = partition.disk.open(path(partition, 4, kind) + suffix, create=True)
        file.truncate(0)
        file.append([data])
        file.fsync()
    partition.disk.fsync_dir(partition.directory)


ALL = list(range(20))
REPLACED = [number for number in ALL if number != 5]


@pytest.mark.contract("G17")
def test_unfinished_cleaning_leaves_the_old():
    partition, files = replacing(None)
    put(partition, files, names.CLEANED)
    partition.load(clean=True)
    assert numbers(partition) == ALL
    assert not [name for name in partition.disk.list(partition.directory) if name.endswith(names.CLEANED)]


@pytest.mark.contract("G18")
def test_a_partly_decided_replacement_leaves_the_old():
    partition, files = replacing(None)
    put(partition, {names.LOG: files.pop(names.LOG)}, names.SWAP)
    put(partition, files, names.CLEANED)
    partition.load(clean=True)
    assert numbers(partition) == ALL


@pytest.mark.contract("G16", "G19", "G20")
@pytest.mark.parametrize("old_gone", [(), (4,), (6,), (4, 6)])
@pytest.mark.parametrize("renamed", [(), (names.LOG,), (names.LOG, names.OFFSET_INDEX)])
def test_a_decided_replacement_is_finished(old_gone, renamed):
    partition, files = replacing(None)
    put(partition, files, names.SWAP)
    if renamed:
        old_gone = (4, 6)  # the final names come after the old ones are durably gone
    for offset in old_gone:
        for kind in names.SEGMENT_FILES[:3]:
            partition.disk.rename(path(partition, offset, kind), path(partition, offset, kind) + names.DELETED)
    for kind in renamed:
        partition.disk.rename(path(partition, 4, kind) + names.SWAP, path(partition, 4, kind))
    log = partition.load(clean=True)
    assert numbers(partition) == REPLACED
    assert 6 not in log.segments
    assert not [name for name in partition.disk.list(partition.directory) if name.endswith(STATES[1:])]


@pytest.mark.parametrize("name", sorted(name for name in failpoint.NAMES if name.startswith("log.load")))
@pytest.mark.parametrize("profile", [KEEP_ALL, LOSE_ALL])
@pytest.mark.parametrize("suffix", [names.SWAP, names.CLEANED])
def test_settling_it_can_be_interrupted_too(name, profile, suffix):
    partition, files = replacing(SimDisk(SimRng(3).stream("disk")))
    put(partition, files, suffix)

    def crash(_):
        raise SimCrash(name)

    crossed = False
    failpoints.arm(name, crash)
    try:
        partition.load(clean=True)
    except SimCrash:
        crossed = True
    finally:
        failpoints.disarm_all()
    assert crossed or suffix == names.CLEANED, "a failpoint nobody crosses"
    partition.crash(profile)
    partition.load(clean=True)
    assert numbers(partition) == (REPLACED if suffix == names.SWAP else ALL)


def test_no_file_that_was_replaced_comes_back_when_the_power_goes_after_the_renames():
    """What is removed must be gone for good before a new file has its name: the disk writes back in any order."""
    for seed in range(50):
        partition, files = replacing(SimDisk(SimRng(seed).stream("disk")))
        put(partition, files, names.SWAP)
        renamed = []

        def crash(kind, file_path, renamed=renamed):
            if kind == "rename":
                renamed.append(file_path)
            elif renamed:
                raise SimCrash(file_path)

        partition.disk.before_operation = crash
        with pytest.raises(SimCrash):
            partition.load(clean=True)
        assert len(renamed) == len(files)
        partition.crash(MIXED)
        log = partition.load(clean=True)
        assert numbers(partition) == REPLACED and 6 not in log.segments, seed


def test_a_snapshot_file_is_kafkas():
    partition = filled(4)
    partition.close()
    entries = producer_snapshot.read(partition.disk, partition.directory, 4)
    assert [(entry.producer_id, entry.last_sequence, entry.last_data_offset) for entry in entries] == [(1, 3, 3)]


def test_an_empty_segment_that_a_failed_roll_left_is_dropped(partition):
    partition.close()
    for kind in names.SEGMENT_FILES[:3]:
        partition.disk.open(path(partition, 19, kind), create=True)
    for clean in (True, False):
        assert partition.load(clean=clean).log_end_offset == 20
        assert 19 not in partition.log.segments


def test_a_stale_batch_that_goes_back_in_offsets_ends_the_log(partition):
    stale = batch(b"99" + VALUE)
    stale[0:8] = (3).to_bytes(8, "big")
    partition.disk.open(path(partition, 18)).append([stale])
    assert partition.load(clean=False).log_end_offset == 20
    assert numbers(partition) == list(range(20))


def test_the_names_of_a_roll_are_durable_before_the_recovery_point_moves():
    partition = filled(2)
    partition.append(b"02" + VALUE)
    partition.flush()
    assert partition.log.segments.base_offsets == [0, 2] and partition.recovery_point == 3
    partition.crash(LOSE_ALL)
    partition.load(clean=False)
    assert numbers(partition) == [0, 1, 2]
    assert partition.log.snapshots[0] == 2
