"""What was not checked since the process began is checked before it is served, once, and on the right thread (L2)."""

import pytest

from log_kit import NOW, Partition, batch, config, read_bytes, read_warm, run
from odradek.log import names
from odradek.log.failure import LogDamaged, NotInCache
from odradek.log.producers.producer_rebuild import rebuild_job
from odradek.log.read import LOG_END, read_ahead
from odradek.log.segment import unchecked
from odradek.log.soundness import soundness
from odradek.records import layout
from odradek.records.batch import batches

# The ranges.


def test_the_ranges_agree_with_a_set_of_bytes():
    bounds, left = unchecked.whole(20), set(range(20))
    for start, end in [(4, 6), (10, 12), (5, 11), (0, 1), (18, 20), (0, 4), (11, 18), (3, 20), (0, 3)]:
        bounds = unchecked.without(bounds, start, end)
        left -= set(range(start, end))
        assert left == {each for low, high in zip(bounds[::2], bounds[1::2], strict=True) for each in range(low, high)}
        for low in range(20):
            for high in range(low + 1, 21):
                expected = min((each for each in left if low <= each < high), default=None)
                assert unchecked.first_in(bounds, low, high) == expected
    assert bounds == ()


def test_ranges_that_touch_are_one_and_a_cut_takes_what_is_behind():
    bounds = unchecked.without(unchecked.whole(100), 40, 60)
    assert bounds == (0, 40, 60, 100)
    assert unchecked.clipped(bounds, 70) == (0, 40, 60, 70)
    assert unchecked.clipped(bounds, 50) == (0, 40)
    assert unchecked.clipped((), 0) == unchecked.clipped(bounds, 0) == ()
    assert unchecked.without(unchecked.without(bounds, 0, 10), 10, 40) == (60, 100)


def test_there_is_a_limit_to_what_is_remembered():
    bounds = unchecked.whole(10_000)
    for start in range(0, 10_000, 10):
        bounds = unchecked.without(bounds, start, start + 1)
    assert len(bounds) == 2 * unchecked.RANGES_MAX
    assert unchecked.without(bounds, 0, 10_000) == ()


# Reads.


@pytest.fixture
def partition():
    """Five sealed segments of two batches, an active one, four epochs; closed and opened again."""
    partition = Partition(log_config=config(segment_bytes=300, index_interval_bytes=0, retention_ms=-1))
    for number in range(12):
        partition.append(b"%02d" % number + b"." * 60, timestamp=NOW + 10 * number, leader_epoch=number // 4)
    partition.reopen()
    partition.log.update_high_watermark(12)
    return partition


def flip(partition, base_offset, position):
    path = f"{partition.directory}/{names.file_name(base_offset, names.LOG)}"
    partition.disk.flip_bit(path, position, 2)
    return path


def bounds(log):
    return [segment.unchecked for segment in log.segments]


def test_a_clean_start_has_checked_nothing_and_a_recovery_what_it_read(partition):
    sizes = [segment.size for segment in partition.log.segments]
    assert bounds(partition.log) == [(0, size) for size in sizes]
    partition.close()
    partition.recovery_point = 6
    partition.load(clean=False)
    assert bounds(partition.log) == [(0, size) for size in sizes[:3]] + [()] * 3


def test_what_is_appended_is_not_checked_again():
    partition = Partition()
    partition.append(b"old")
    size = partition.log.size
    partition.reopen()
    partition.append(b"new")
    assert bounds(partition.log) == [(0, size)]
    assert partition.records() == [(0, b"old"), (1, b"new")]
    assert bounds(partition.log) == [()]


def test_a_read_serves_whole_batches_first_and_the_rest_when_all_is_checked(partition):
    size = partition.log.segments.get(4).size
    assert len(read_bytes(partition.log, 4, size - 30, isolation=LOG_END)) == size // 2
    assert len(read_bytes(partition.log, 4, size, isolation=LOG_END)) == size // 2, "what was checked goes out first"
    assert len(read_bytes(partition.log, 5, size, isolation=LOG_END)) == size // 2
    assert len(read_bytes(partition.log, 4, size - 30, isolation=LOG_END)) == size - 30


def test_damage_is_told_with_file_and_position(partition):
    size = partition.log.segments.get(4).size
    path = flip(partition, 4, size // 2 + 70)
    assert read_bytes(partition.log, 4, 1, isolation=LOG_END)
    for _ in range(2):
        with pytest.raises(LogDamaged, match="checksum") as failure:
            partition.log.read(5, 1)
        assert (failure.value.path, failure.value.position) == (path, size // 2)


def test_the_end_of_a_replica_is_looked_up_in_sound_bytes_only(partition):
    partition.log.update_high_watermark(7)
    flip(partition, 6, partition.log.segments.get(6).size // 2 + 7)
    with pytest.raises(LogDamaged):
        partition.log.high_watermark_place()


def checked_elsewhere(log, offset, between):
    """Reads with a check in a job; `between` happens before its verdict arrives."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(soundness, "CHECK_AT_ONCE_BYTES", 0)
        with pytest.raises(NotInCache) as cold:
            log.read(offset, 1 << 20, isolation=LOG_END)
    found = cold.value
    file = found.file.acquire()
    between()
    verdict = run(read_ahead(found))
    file.release()
    return verdict


def test_a_verdict_of_a_job_is_remembered(partition):
    partition.log.note_checked(checked_elsewhere(partition.log, 4, lambda: None))
    assert bounds(partition.log)[2] == ()
    assert partition.log.read(4, 1 << 20).records.size == partition.log.segments.get(4).size


def test_damage_that_a_job_finds_is_told_on_the_reactor(partition):
    path = flip(partition, 4, 90)
    with pytest.raises(LogDamaged) as failure:
        partition.log.note_checked(checked_elsewhere(partition.log, 4, lambda: None))
    assert (failure.value.path, failure.value.position) == (path, 0)


def test_a_verdict_on_a_log_that_was_truncated_since_counts_for_nothing(partition):
    """The file was cut under the job: what it missed is no damage, and what it saw is gone."""
    log = partition.log
    verdict = checked_elsewhere(log, 10, lambda: partition.truncate(11))
    assert verdict.damage is not None
    log.note_checked(verdict)
    verdict = checked_elsewhere(log, 8, lambda: None)
    partition.truncate(9)
    partition.append(b"new")
    log.note_checked(verdict)
    assert partition.records()[-1] == (9, b"new")


def test_a_cut_leaves_no_claim_about_what_will_follow():
    partition = Partition()
    for _ in range(6):
        partition.append(b"old")
    size = partition.log.size // 6
    partition.reopen()
    partition.truncate(2)
    for _ in range(4):
        partition.append(b"new")
    assert all(bound <= 2 * size for bound in partition.log.active.unchecked)
    assert [value for _, value in partition.records()] == [b"old"] * 2 + [b"new"] * 4


def test_a_truncation_does_not_go_by_damaged_headers(partition):
    path = flip(partition, 8, 6)
    with pytest.raises(LogDamaged) as failure:
        partition.truncate(8)
    assert failure.value.path == path


@pytest.mark.parametrize("max_bytes", [1, 500_000, 1_500_000, 1 << 23])
def test_batches_larger_than_any_buffer(max_bytes):
    partition = Partition(log_config=config(max_message_bytes=1 << 23))
    for number in range(4):
        partition.append(b"%d" % number * (10 + number * 1_100_000))
    partition.reopen()
    partition.disk.evict()
    assert [value[:1] for _, value in read_all(partition.log, max_bytes)] == [b"0", b"1", b"2", b"3"]


def read_all(log, max_bytes):
    offset = 0
    while offset < log.log_end_offset:
        fetched = read_warm(log, offset, max_bytes, isolation=LOG_END)
        data = fetched.records.disk_file.pread(fetched.records.size, fetched.records.position)
        fetched.records.release()
        for one in batches(data):
            for record in one.records():
                yield record.offset, bytes(record.value)
            offset = one.last_offset + 1


# Others who read.


def test_a_time_is_not_looked_up_in_damaged_batches(partition):
    path = flip(partition, 4, 80)
    with pytest.raises(LogDamaged) as failure:
        run(partition.log.lookup_job(NOW + 45))
    assert (failure.value.path, failure.value.position) == (path, 0)


def test_producers_are_not_rebuilt_from_damaged_batches():
    partition = Partition()
    for sequence in range(4):
        partition.append(b"x", producer=1, sequence=sequence)
    plan = partition.log.truncate_to(3, NOW)
    flip(partition, 0, layout.HEADER_SIZE + 2)
    with pytest.raises(LogDamaged):
        run(rebuild_job(partition.disk, plan))


# Leader epochs, the second witness.


def epoch_of(data, leader_epoch):
    layout.LEADER_EPOCH.pack_into(data, layout.LEADER_EPOCH_OFFSET, leader_epoch)
    return data


def placed(offset, leader_epoch, *values):
    data = batch(*values)
    layout.BASE_OFFSET.pack_into(data, 0, offset)
    return epoch_of(data, leader_epoch)


def test_recovery_below_the_recovery_point_believes_the_epochs_on_disk():
    partition = Partition()
    for number in range(6):
        partition.append(b"%d" % number, leader_epoch=1)
    partition.flush()
    size = partition.log.size // 6
    path = flip(partition, 0, 2 * size + layout.LEADER_EPOCH_OFFSET + 3)
    with pytest.raises(LogDamaged, match="leader epoch 5, not 1") as failure:
        partition.load(clean=False)
    assert (failure.value.path, failure.value.position) == (path, 2 * size)


@pytest.mark.parametrize(("start", "entries"), [(8, [(0, 0), (5, 8)]), (0, [(5, 0)])])
def test_past_the_recovery_point_the_batches_tell_the_epochs(start, entries):
    """The file is of a past that was truncated; the log grew again, with the same epoch from an earlier offset on."""
    partition = Partition()
    for number in range(10):
        partition.append(b"%d" % number, leader_epoch=0 if number < start else 5)
    partition.flush()
    path = f"{partition.directory}/{names.LEADER_EPOCHS}"
    partition.disk.write_atomically(path, b"0\n2\n0 0\n5 9\n")
    partition.recovery_point = 0
    assert partition.load(clean=False).epochs.entries == entries


@pytest.mark.contract("G24")
@pytest.mark.parametrize("clean", [True, False])
def test_an_epoch_that_began_at_the_end_is_cut_off(clean):
    """No record tells of it, and whoever leads next begins another one there."""
    partition = Partition()
    partition.append(b"x", leader_epoch=1)
    partition.log.assign_epoch_start_offset(3, 1)
    partition.close()
    if not clean:
        partition.recovery_point = 0
    assert partition.load(clean=clean).epochs.entries == [(1, 0)]


def test_a_follower_learns_its_epochs_from_what_it_is_sent():
    partition = Partition()
    log = partition.log
    log.append_as_follower(placed(0, 1, b"a"), NOW)
    log.assign_epoch_start_offset(4, 1)  # it led for a moment, and wrote nothing
    log.append_as_follower(placed(1, 2, b"b"), NOW)
    assert log.epochs.entries == [(1, 0), (2, 1)]
    log.append_as_follower(placed(2, 2, b"c"), NOW)
    partition.reopen()
    assert [value for _, value in partition.records()] == [b"a", b"b", b"c"]


def test_epochs_that_began_anew_are_no_damage():
    """After the loss of a ZooKeeper: the cache drops what contradicts the new epochs, and claims too much."""
    partition = Partition()
    for number, leader_epoch in enumerate([0, 0, 5, 5, 3, 3]):
        partition.append(b"%d" % number, leader_epoch=leader_epoch)
    assert partition.log.epochs.entries == [(0, 0), (3, 4)]
    partition.reopen()
    assert len(partition.records()) == 6


def epochs_told_after(damage):
    """What a replica is told of every epoch, once the log has been read; None if the damage is found."""
    partition = Partition(log_config=config(segment_bytes=300, index_interval_bytes=0, retention_ms=-1))
    for number, leader_epoch in enumerate([0, 0, 0, 2, 2, 2, 2, 5, 5, 5, 9, 9]):
        partition.append(b"%02d" % number + b"." * 60, leader_epoch=leader_epoch)
    partition.close()
    damage(partition.disk, f"{partition.directory}/{names.LEADER_EPOCHS}")
    try:
        partition.load(clean=True)
        partition.records()
    except LogDamaged:
        return None
    return [partition.log.end_offset_for_epoch(epoch) for epoch in range(11)]


def test_no_bit_of_the_leader_epochs_changes_what_a_replica_is_told():
    expected, size = [], 0

    def measure(disk, path):
        nonlocal size
        size = len(disk.read(path))

    expected = epochs_told_after(measure)
    assert expected is not None and size > 20
    for position in range(size):
        for bit in range(8):
            told = epochs_told_after(lambda disk, path, at=position, bit=bit: disk.flip_bit(path, at, bit))
            assert told in (None, expected), (position, bit)
