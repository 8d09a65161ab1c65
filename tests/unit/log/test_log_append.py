"""Appends: offsets, producers (P1-P4), transactions (L6, T1), rolls, followers, and disks that refuse."""

from errno import EIO
from functools import partial

import pytest

from log_kit import NOW, Partition, append_as_leader, batch, config, marker, read_batches, read_bytes, run
from odradek.log.append import COORDINATOR
from odradek.log.failure import DiskFull, LogDirFailure, UnexpectedAppendOffset
from odradek.log.flush import flush_job
from odradek.log.producers.producer_entry import SEQUENCE_MAX
from odradek.log.read import LOG_END, TXN_COMMITTED
from odradek.protocol import errors
from odradek.records.layout import CREATE_TIME, LOG_APPEND_TIME

INTERVAL = 100


@pytest.fixture
def partition():
    return Partition(log_config=config(index_interval_bytes=INTERVAL))


@pytest.mark.contract("G33")
def test_offsets_follow_each_other_and_epochs_are_noted(partition):
    first = partition.append(b"a", b"b", leader_epoch=3)
    second = partition.append(b"c", leader_epoch=5)
    assert (first.first_offset, first.last_offset, second.first_offset) == (0, 1, 2)
    assert partition.records() == [(0, b"a"), (1, b"b"), (2, b"c")]
    assert partition.log.epochs.entries == [(3, 0), (5, 2)]
    assert [one.partition_leader_epoch for one in read_batches(partition.log)] == [3, 5]
    assert partition.log.end_offset_for_epoch(3) == (3, 2)


def test_log_append_time_is_told():
    partition = Partition(log_config=config(timestamp_type="LogAppendTime"))
    info = partition.append(b"a", timestamp=5, now=NOW + 9)
    assert info.log_append_time == NOW + 9
    assert next(read_batches(partition.log)).max_timestamp == NOW + 9


def test_the_kind_of_timestamp_may_change_while_the_log_is_open(partition):
    partition.append(b"a", timestamp=NOW - 5)
    partition.log.update_config(config(timestamp_type="LogAppendTime"))
    appended = partition.append(b"b", timestamp=NOW - 5, now=NOW + 9)
    partition.log.update_config(config(timestamp_type="CreateTime"))
    created = partition.append(b"c", timestamp=NOW - 5, now=NOW + 10)
    assert (appended.log_append_time, created.log_append_time) == (NOW + 9, -1)
    kept = [(each.timestamp_type, each.max_timestamp) for each in read_batches(partition.log)]
    assert kept == [(CREATE_TIME, NOW - 5), (LOG_APPEND_TIME, NOW + 9), (CREATE_TIME, NOW - 5)]


@pytest.mark.contract("F23", "F24")
def test_a_batch_that_comes_again_gets_its_old_offset(partition):
    for sequence in range(7):
        partition.append(b"x", producer=1, sequence=sequence)
    for sequence in range(2, 7):
        info = partition.append(b"x", producer=1, sequence=sequence)
        assert info.is_duplicate and info.first_offset == sequence
    with pytest.raises(errors.OutOfOrderSequenceNumber):
        partition.append(b"x", producer=1, sequence=1)  # older than the five that are remembered
    assert partition.log.log_end_offset == 7


def test_a_gap_in_the_sequence_is_refused_and_changes_nothing(partition):
    partition.append(b"x", producer=1, sequence=0)
    with pytest.raises(errors.OutOfOrderSequenceNumber):
        partition.append(b"x", producer=1, sequence=2)
    assert partition.append(b"x", producer=1, sequence=1).first_offset == 1


def test_sequences_wrap(partition):
    partition.append(b"x", producer=1, sequence=SEQUENCE_MAX - 1)
    partition.append(b"x", b"y", producer=1, sequence=SEQUENCE_MAX)
    assert partition.append(b"x", producer=1, sequence=1).first_offset == 3
    assert partition.append(b"x", b"y", producer=1, sequence=SEQUENCE_MAX).is_duplicate


def test_an_old_epoch_is_fenced_and_a_new_one_begins_at_zero(partition):
    partition.append(b"x", producer=1, epoch=4, sequence=9)
    with pytest.raises(errors.InvalidProducerEpoch):
        partition.append(b"x", producer=1, epoch=3, sequence=10)
    with pytest.raises(errors.OutOfOrderSequenceNumber):
        partition.append(b"x", producer=1, epoch=5, sequence=10)
    partition.append(b"x", producer=1, epoch=5, sequence=0)
    with pytest.raises(errors.InvalidProducerEpoch):
        partition.append(b"x", producer=1, epoch=4, sequence=10)


def test_producers_survive_a_clean_restart_and_a_crash(partition):
    partition.append(b"x", producer=1, sequence=0)
    partition.reopen()
    assert partition.append(b"x", producer=1, sequence=0).is_duplicate
    partition.append(b"y", producer=1, sequence=1)
    partition.flush()
    partition.crash()
    partition.load(clean=False)
    assert partition.append(b"y", producer=1, sequence=1).is_duplicate


def test_silent_producers_expire_but_not_with_an_open_transaction(partition):
    partition.append(b"x", producer=1, sequence=0)
    partition.append(b"x", producer=2, sequence=0, transactional=True)
    assert partition.log.remove_expired_producers(NOW + partition.log.producer_id_expiration_ms) == 1
    assert [entry.producer_id for entry in partition.log.producers.entries] == [2]
    assert partition.append(b"x", producer=1, sequence=55).first_offset == 2  # unknown: any sequence may begin


@pytest.mark.contract("B99")
def test_an_open_transaction_holds_the_last_stable_offset(partition):
    log = partition.log
    partition.append(b"plain")
    partition.append(b"t1", producer=1, sequence=0, transactional=True)
    partition.append(b"t2", producer=2, sequence=0, transactional=True)
    log.update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == 1
    with pytest.raises(errors.InvalidTxnState):
        partition.append(b"loose", producer=1, sequence=1)
    append_as_leader(log, marker(1, commit=True), 0, NOW, origin=COORDINATOR)
    log.update_high_watermark(3)
    assert log.last_stable_offset == 1  # the marker is not replicated yet
    log.update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == 2
    append_as_leader(log, marker(2, commit=False), 0, NOW, origin=COORDINATOR)
    log.update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == log.high_watermark == 5


def test_read_committed_gets_the_aborted_transactions_of_its_range(partition):
    log = partition.log
    partition.append(b"t1", producer=1, sequence=0, transactional=True)
    partition.append(b"t2", producer=2, sequence=0, transactional=True)
    append_as_leader(log, marker(2, commit=False), 0, NOW, origin=COORDINATOR)
    log.roll(NOW)
    append_as_leader(log, marker(1, commit=False), 0, NOW, origin=COORDINATOR)
    log.update_high_watermark(log.log_end_offset)
    for _ in range(2):
        log = partition.log
        fetched = log.read(0, 1 << 20, isolation=TXN_COMMITTED)
        assert [(entry.producer_id, entry.first_offset) for entry in fetched.aborted_transactions] == [(2, 1), (1, 0)]
        fetched.records.release()
        fetched = log.read(3, 1 << 20, isolation=TXN_COMMITTED)
        assert [entry.producer_id for entry in fetched.aborted_transactions] == [1]
        fetched.records.release()
        partition.reopen().update_high_watermark(log.log_end_offset)


def test_a_marker_of_an_older_coordinator_is_fenced(partition):
    partition.append(b"t", producer=1, sequence=0, transactional=True)
    append = partial(append_as_leader, partition.log)
    append(marker(1, commit=True, coordinator_epoch=3), 0, NOW, origin=COORDINATOR)
    with pytest.raises(errors.TransactionCoordinatorFenced):
        append(marker(1, commit=True, coordinator_epoch=2), 0, NOW, origin=COORDINATOR)
    with pytest.raises(errors.InvalidRecord):
        append(marker(1, commit=True, coordinator_epoch=3), 0, NOW)  # clients write no markers


def test_an_open_transaction_survives_a_restart(partition):
    partition.append(b"t", producer=1, sequence=0, transactional=True)
    log = partition.reopen()
    log.update_high_watermark(1)
    assert log.last_stable_offset == 0
    append_as_leader(log, marker(1, commit=False), 0, NOW, origin=COORDINATOR)
    assert [entry.last_offset for entry in log.active.aborted_transactions()] == [1]


@pytest.mark.contract("G46")
def test_roll_by_size(partition):
    size = len(batch(b"x" * 100))
    partition.log.update_config(config(segment_bytes=2 * size))
    for _ in range(5):
        partition.append(b"x" * 100)
    assert partition.log.segments.base_offsets == [0, 2, 4]
    assert partition.rolls == 2
    with pytest.raises(errors.RecordListTooLarge):
        partition.append(b"x" * 1000)


@pytest.mark.contract("G46")
def test_roll_by_the_time_of_the_records(partition):
    partition.log.update_config(config(segment_ms=1000))
    for timestamp in (NOW, NOW + 1000, NOW + 1001):
        partition.append(b"x", timestamp=timestamp)
    assert partition.log.segments.base_offsets == [0, 2]


def test_roll_by_the_time_of_the_records_after_a_restart():
    """The age of the segment counts from its first record, wherever the clock has gone meanwhile."""
    partition = Partition(log_config=config(segment_ms=1000))
    partition.append(b"x", timestamp=NOW)
    partition.reopen()
    for timestamp in (NOW + 1000, NOW + 1001):
        partition.append(b"x", timestamp=timestamp)
    assert partition.log.segments.base_offsets == [0, 2]


def test_roll_by_the_clock_where_records_have_no_time(partition):
    partition.log.update_config(config(segment_ms=1000))
    partition.append(b"x", timestamp=-1, now=NOW)
    partition.append(b"x", timestamp=-1, now=NOW + 1000)
    partition.append(b"x", timestamp=-1, now=NOW + 1001)
    assert partition.log.segments.base_offsets == [0, 2]


def test_jitter_brings_a_roll_forward():
    partition = Partition(log_config=config(segment_ms=1000, segment_jitter_ms=1000))
    partition.append(b"x", timestamp=NOW)
    jitter = partition.log.active.jitter_ms
    assert 0 < jitter < 1000
    partition.append(b"x", timestamp=NOW + 1000 - jitter)
    partition.append(b"x", timestamp=NOW + 1001 - jitter)
    assert partition.log.segments.base_offsets == [0, 2]


@pytest.mark.contract("G46")
def test_roll_by_a_full_index():
    partition = Partition(log_config=config(index_interval_bytes=0, segment_index_bytes=24))
    for number in range(6):
        partition.append(b"x", timestamp=NOW + number)
    assert partition.log.segments.base_offsets == [0, 2, 4]


def test_roll_where_relative_offsets_end(partition):
    partition.append(b"x")
    far = batch(b"y")
    far[0:8] = (2**31).to_bytes(8, "big")
    partition.log.append_as_follower(far, NOW)
    assert partition.log.segments.base_offsets == [0, 2**31]
    assert partition.log.log_end_offset == 2**31 + 1


@pytest.mark.contract("G40")
def test_the_indexes_of_a_sealed_segment_are_complete(partition):
    for number in range(10):
        partition.append(b"x" * 50, timestamp=NOW + number)
    segment = partition.log.active
    partition.log.roll(NOW)
    assert segment.time_index().last_entry == (NOW + 9, 9)
    on_disk = partition.disk.read(segment.path(".index"))
    assert on_disk == segment.offset_index().encode() and on_disk


@pytest.mark.parametrize("end", ["roll", "close"])
def test_the_largest_timestamp_is_in_the_time_index_in_the_end(end):
    partition = Partition()
    for timestamp in (NOW, NOW + 7, NOW + 3):
        partition.append(b"x", timestamp=timestamp)
    path = partition.log.active.path(".timeindex")
    assert partition.disk.read(path) == b""
    partition.log.roll(NOW) if end == "roll" else partition.close()
    assert partition.disk.read(path) == (NOW + 7).to_bytes(8, "big") + (1).to_bytes(4, "big")
    partition.load(clean=end == "close")
    assert partition.log.segments.first.max_timestamp == NOW + 7


def follower_of(leader):
    partition = Partition(log_config=leader.config)
    data = b"".join(bytes(one.buffer) for one in read_batches(leader.log))
    partition.log.append_as_follower(data, NOW)
    return partition


@pytest.mark.contract("F37")
def test_a_follower_holds_what_its_leader_holds(partition):
    partition.append(b"a", leader_epoch=1)
    partition.append(b"t", producer=1, sequence=0, transactional=True, leader_epoch=2)
    append_as_leader(partition.log, marker(1, commit=False), 2, NOW, origin=COORDINATOR)
    follower = follower_of(partition)
    follower.close(), partition.close()
    assert follower.disk.snapshot() == partition.disk.snapshot()


@pytest.mark.contract("F36")
def test_a_follower_takes_only_what_follows(partition):
    partition.append(b"a")
    partition.append(b"b")
    follower = follower_of(partition)
    whole = read_bytes(partition.log, 0, isolation=LOG_END)
    with pytest.raises(UnexpectedAppendOffset):
        follower.log.append_as_follower(whole, NOW)
    cut = bytearray(batch(b"c", b"d"))
    cut[0:8] = (7).to_bytes(8, "big")
    follower.log.append_as_follower(bytes(cut) + whole[:40], NOW)  # a gap is fine, a batch that is cut off is left
    assert follower.log.log_end_offset == 9
    damaged = bytearray(cut)
    damaged[0:8] = (9).to_bytes(8, "big")
    damaged[-1] ^= 1
    with pytest.raises(errors.CorruptMessage):
        follower.log.append_as_follower(damaged, NOW)
    assert follower.log.log_end_offset == 9


def test_a_full_disk_takes_nothing(partition):
    partition.append(b"a" * 100)
    size = partition.disk.size(partition.log.active.path(".log"))
    used = sum(len(data) for data in partition.disk.snapshot().values())
    partition.disk.set_quota(used + 40)
    for _ in range(3):
        with pytest.raises(DiskFull):
            partition.append(b"b" * 100, producer=1, sequence=0)
    assert partition.disk.size(partition.log.active.path(".log")) == size
    assert partition.log.log_end_offset == 1 and not partition.log.producers.entries
    partition.disk.set_quota(None)
    assert partition.append(b"c").first_offset == 1
    partition.flush()
    partition.crash()
    assert [value for _, value in partition.records(partition.load(clean=False))] == [b"a" * 100, b"c"]


def test_a_full_disk_at_a_roll_leaves_the_old_segment(partition):
    partition.append(b"a" * 100)
    partition.log.update_config(config(segment_bytes=200))
    partition.disk.fail("create", 28, times=None, path=".log")
    with pytest.raises(DiskFull):
        partition.append(b"b" * 100)
    partition.disk.heal()
    assert partition.append(b"b" * 100).first_offset == 1
    assert partition.log.segments.base_offsets == [0, 1]


def test_an_abort_counts_although_there_is_no_space_for_its_index_entry(partition):
    log = partition.log
    partition.append(b"t", producer=1, sequence=0, transactional=True)
    partition.disk.fail("create", 28, times=None, path=".txnindex")
    append_as_leader(log, marker(1, commit=False), 0, NOW, origin=COORDINATOR)
    log.update_high_watermark(2)
    fetched = log.read(0, 1000, isolation=TXN_COMMITTED)
    assert [entry.producer_id for entry in fetched.aborted_transactions] == [1]
    fetched.records.release()
    partition.disk.heal()
    partition.flush()
    assert len(partition.disk.read(log.active.path(".txnindex"))) == 34


def test_an_error_of_the_disk_fails_the_dir(partition):
    partition.append(b"a")
    partition.append(b"b")
    partition.disk.fail("write", EIO)
    with pytest.raises(LogDirFailure, match=r"00000000000000000000\.log"):
        partition.append(b"c")
    partition.disk.heal()
    partition.disk.fail("read", EIO, times=None)
    with pytest.raises(LogDirFailure):
        partition.log.read(0, 10, isolation=LOG_END)


def test_a_failed_fsync_never_moves_the_recovery_point(partition):
    partition.append(b"a")
    partition.disk.fail("fsync", EIO)
    plan = partition.log.begin_flush(NOW)
    with pytest.raises(LogDirFailure):
        run(flush_job(partition.disk, plan))
    plan.release()
    assert partition.log.recovery_point == 0


def test_a_flush_of_another_generation_changes_nothing(partition):
    partition.append(b"a")
    plan = partition.log.begin_flush(NOW)
    run(flush_job(partition.disk, plan))
    partition.truncate(0)
    assert not partition.log.flushed(plan)
    assert partition.log.recovery_point == 0


def test_a_closed_log_takes_no_appends(partition):
    partition.append(b"a")
    partition.close()
    with pytest.raises(errors.KafkaStorageError):
        partition.append(b"b")
    assert partition.log.is_closed
