"""What changes the past: truncation, retention, deletion of records, replaced segments; and lookups by time."""

import pytest

from log_kit import NOW, Partition, config, read_bytes, read_warm, run
from odradek.log import names
from odradek.log.dir_sync import sync_dir_job
from odradek.log.failure import NotInCache
from odradek.log.loading.loaded import SegmentFacts
from odradek.log.lookup import FoundOffset
from odradek.log.producers.producer_rebuild import rebuild_job
from odradek.log.read import HIGH_WATERMARK, LOG_END
from odradek.log.replace import swap_job
from odradek.protocol import errors
from odradek.reactor.ports import Cancelled


@pytest.fixture
def partition():
    """Ten segments of two batches, one record each; timestamps ten milliseconds apart."""
    partition = Partition(log_config=config(segment_bytes=300, index_interval_bytes=0, retention_ms=-1))
    for number in range(20):
        partition.append(b"%02d" % number + b"." * 60, timestamp=NOW + 10 * number, leader_epoch=number // 8)
    assert partition.log.segments.base_offsets == list(range(0, 20, 2))
    partition.log.update_high_watermark(20)
    return partition


def numbers(partition):
    return [int(value[:2]) for _, value in partition.records()]


def files(partition):
    return partition.disk.list(partition.directory)


def test_truncation_cuts_records_epochs_and_the_high_watermark(partition):
    generation = partition.log.generation
    partition.truncate(11)
    log = partition.log
    assert numbers(partition) == list(range(11))
    assert (log.log_end_offset, log.high_watermark, log.recovery_point) == (11, 11, 0)
    assert log.epochs.entries == [(0, 0), (1, 8)]
    assert log.segments.base_offsets == [0, 2, 4, 6, 8, 10] and log.generation > generation
    assert partition.append(b"again").first_offset == 11
    assert log.active.time_index().last_entry[1] <= 11


@pytest.mark.parametrize("offset", [11, 12, 0])
def test_truncation_takes_the_recovery_point_along(partition, offset):
    """Else the next recovery would pass over what is appended there again, and nobody has ever synced that."""
    partition.flush()
    assert partition.log.recovery_point == 20
    partition.truncate(offset)
    assert (partition.log.log_end_offset, partition.log.recovery_point) == (offset, offset)


def test_a_log_that_begins_anew_below_its_recovery_point_takes_it_along(partition):
    partition.flush()
    partition.log.truncate_fully_and_start_at(5, NOW)
    assert partition.log.recovery_point == 5


def test_truncation_past_the_end_only_forgets_an_epoch_without_records(partition):
    partition.log.assign_epoch_start_offset(9, 20)
    assert partition.log.truncate_to(20, NOW) is None
    assert partition.log.epochs.latest_epoch == 2
    assert len(numbers(partition)) == 20


def test_truncation_leaves_files_that_are_dead_at_once(partition):
    partition.truncate(3)
    dead = [name for name in files(partition) if name.endswith(names.DELETED)]
    assert f"{4:020d}.log.deleted" in dead
    for deletion in partition.log.deletions:
        run(deletion.unlink_job(partition.disk))
    assert not [name for name in files(partition) if name.endswith(names.DELETED)]


def test_truncation_rebuilds_the_producers_and_holds_appends_until_then():
    partition = Partition(log_config=config(segment_bytes=300))
    for sequence in range(6):
        partition.append(b"x" * 60, producer=1, sequence=sequence)
    plan = partition.log.truncate_to(3, NOW)
    with pytest.raises(errors.KafkaStorageError):
        partition.append(b"x" * 60, producer=1, sequence=3)
    with pytest.raises(errors.KafkaStorageError):
        partition.append(b"x" * 60)
    state = run(rebuild_job(partition.disk, plan))
    assert partition.log.install(plan, state)
    assert partition.append(b"x" * 60, producer=1, sequence=3).first_offset == 3
    assert partition.append(b"x" * 60, producer=1, sequence=2).is_duplicate


def test_a_rebuild_of_another_generation_is_refused():
    partition = Partition()
    partition.append(b"x", producer=1, sequence=0)
    partition.append(b"x", producer=1, sequence=1)
    plan = partition.log.truncate_to(1, NOW)
    state = run(rebuild_job(partition.disk, plan))
    partition.log.truncate_fully_and_start_at(50, NOW)
    assert not partition.log.install(plan, state)
    assert partition.append(b"x").first_offset == 50


def test_truncate_fully_begins_anew(partition):
    partition.log.truncate_fully_and_start_at(1000, NOW)
    log = partition.log
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark, log.epochs.entries) == (1000, 1000, 1000, [])
    partition.append(b"77")
    assert partition.records() == [(1000, b"77")]
    partition.reopen()
    assert partition.records() == [(1000, b"77")]


def test_retention_by_bytes_keeps_what_fits(partition):
    partition.log.update_config(partition.config.replace(retention_bytes=3 * partition.log.segments.first.size))
    deletion = partition.log.delete_old_segments(NOW)
    assert partition.log.log_start_offset == 14 and numbers(partition) == list(range(14, 20))
    assert f"{0:020d}.log" in files(partition)  # renamed by a job, not on the reactor's thread
    run(deletion.rename_job(partition.disk))
    assert f"{0:020d}.log.deleted" in files(partition)
    run(deletion.unlink_job(partition.disk))
    assert not [name for name in files(partition) if name.startswith("0" * 19 + "0.")]


def test_retention_by_time_counts_from_the_largest_timestamp(partition):
    partition.log.update_config(partition.config.replace(retention_ms=100))
    partition.log.delete_old_segments(NOW + 150)
    assert partition.log.log_start_offset == 4  # the segment of 4 and 5 has NOW + 50, which is 100 ago


def test_retention_never_passes_the_high_watermark(partition):
    partition.log.update_high_watermark(5)
    partition.log.update_config(partition.config.replace(retention_bytes=0))
    partition.log.delete_old_segments(NOW)
    assert partition.log.log_start_offset == 4


def test_retention_of_everything_leaves_an_empty_log(partition):
    partition.log.update_config(partition.config.replace(retention_ms=0))
    partition.log.delete_old_segments(NOW + 10**6)
    assert (partition.log.log_start_offset, partition.log.log_end_offset) == (20, 20)
    assert partition.append(b"99").first_offset == 20


def test_a_compacted_log_is_not_deleted_by_age_but_below_its_start(partition):
    partition.log.update_config(partition.config.replace(retention_ms=0, cleanup_policy=("compact",)))
    assert partition.log.delete_old_segments(NOW + 10**6) is None
    partition.log.increment_log_start_offset(5)
    partition.log.delete_old_segments(NOW + 10**6)
    assert partition.log.segments.base_offsets[0] == 4


def test_deleted_records_are_out_of_range_at_once(partition):
    assert partition.log.increment_log_start_offset(7)
    assert not partition.log.increment_log_start_offset(3)
    assert partition.log.log_start_offset == 7
    with pytest.raises(errors.OffsetOutOfRange):
        partition.log.read(6, 100)
    with pytest.raises(errors.OffsetOutOfRange):
        partition.log.increment_log_start_offset(21)
    assert partition.log.epochs.entries[0] == (0, 7)
    assert partition.log.increment_log_start_offset(partition.log.high_watermark)
    assert partition.log.log_start_offset == 20


def test_a_range_outlives_the_deletion_of_its_file(partition):
    fetched = partition.log.read(0, 50)
    partition.truncate(0)
    for deletion in partition.log.deletions:
        run(deletion.unlink_job(partition.disk))
    file = fetched.records.disk_file
    assert file.pread(8, fetched.records.position) is not None
    fetched.records.release()


def test_reads_stop_at_the_high_watermark_and_begin_with_a_whole_batch(partition):
    partition.log.update_high_watermark(5)
    fetched = partition.log.read(4, 1 << 20)
    assert fetched.records.size == partition.log.segments.get(4).size // 2
    fetched.records.release()
    assert partition.log.read(5, 100).records is None
    assert partition.log.read(4, 1, min_one_message=False).first_is_incomplete
    with pytest.raises(errors.OffsetOutOfRange):
        partition.log.read(21, 100)


def test_a_read_ends_where_its_bytes_end_though_that_is_within_a_batch(partition):
    batch_bytes = partition.log.segments.get(4).size // 2
    fetched = partition.log.read(4, batch_bytes + 10)
    assert fetched.records.size == batch_bytes + 10 and not fetched.first_is_incomplete
    fetched.records.release()


@pytest.mark.parametrize(
    ("timestamp", "offset"),
    [(0, 0), (NOW, 0), (NOW + 1, 1), (NOW + 10, 1), (NOW + 95, 10), (NOW + 190, 19), (NOW + 191, None)],
)
def test_the_first_record_at_or_after_a_time(partition, timestamp, offset):
    for _ in range(2):
        found = run(partition.log.lookup_job(timestamp))
        assert (found.offset if found else None) == offset
        if found:
            assert found == FoundOffset(NOW + 10 * offset, offset, offset // 8)
        partition.reopen()


def test_a_time_lookup_leaves_out_deleted_records(partition):
    partition.log.increment_log_start_offset(7)
    assert run(partition.log.lookup_job(0)).offset == 7


def test_special_offsets(partition):
    partition.log.increment_log_start_offset(9)
    answers = {at: partition.log.special_offset(at) for at in (-1, -2, -4, -5, -6)}
    assert answers == {
        -1: FoundOffset(-1, 20, 2),
        -2: FoundOffset(-1, 9, 1),
        -4: FoundOffset(-1, 9, 1),
        -5: FoundOffset(-1, -1, -1),
        -6: FoundOffset(-1, -1, -1),
    }
    assert partition.log.special_offset(-3) is partition.log.special_offset(5) is None


def test_the_record_with_the_largest_timestamp():
    partition = Partition()
    assert run(partition.log.lookup_job(-3)) is None
    partition.append(b"a", b"b", b"c", timestamp=NOW)
    partition.append(b"d", timestamp=NOW - 5)
    assert run(partition.log.lookup_job(-3)) == FoundOffset(NOW + 2, 2, 0)
    partition.log.roll(NOW)
    partition.append(b"e", timestamp=NOW - 9)
    assert run(partition.log.lookup_job(-3)).offset == 2


def test_the_largest_timestamp_has_the_epoch_of_its_batch_and_in_a_3_3_the_newest():
    partition = Partition()
    partition.append(b"a", b"b", timestamp=NOW)
    partition.append(b"c", timestamp=NOW - 9, leader_epoch=4)
    assert run(partition.log.lookup_job(-3)) == FoundOffset(NOW + 1, 1, 0)
    assert run(partition.log.lookup_job(-3, tells_own_epoch=False)) == FoundOffset(NOW + 1, 1, 4)


def test_of_a_batch_dated_at_its_append_the_first_record_is_the_largest_and_in_a_3_3_the_last():
    partition = Partition(log_config=config(timestamp_type="LogAppendTime"))
    partition.append(b"a", b"b", b"c", now=NOW + 50)
    assert run(partition.log.lookup_job(-3)) == FoundOffset(NOW + 50, 0, 0)
    assert run(partition.log.lookup_job(-3, tells_own_epoch=False)) == FoundOffset(NOW + 50, 2, 0)


def test_a_lookup_can_be_cancelled_and_closes_its_file(partition):
    job = partition.log.lookup_job(NOW + 191 - 1)
    next(job, None)
    with pytest.raises((Cancelled, StopIteration)):
        job.throw(Cancelled())


def test_reading_an_index_that_leads_astray_falls_back_to_the_log(partition):
    partition.reopen()
    segment = partition.log.segments.get(4)
    path = segment.path(names.OFFSET_INDEX)
    partition.disk.damage(path, 4, (7).to_bytes(4, "big"))
    assert b"05" in read_bytes(partition.log, 5, 10, isolation=LOG_END)
    assert segment.indexes.needs_rebuild


def test_cold_pages_are_told_not_waited_for(partition):
    partition.reopen()
    partition.log.update_high_watermark(20)
    partition.disk.evict()
    with pytest.raises(NotInCache) as cold:
        partition.log.read(5, 10)
    assert cold.value.file.disk_file.path == partition.log.segments.get(4).path(names.OFFSET_INDEX)
    fetched = read_warm(partition.log, 5, 10)
    assert fetched.records.size == partition.log.segments.get(4).size // 2
    fetched.records.release()


def test_a_closed_log_holds_no_file_open(partition):
    read_warm(partition.log, 3, 10).records.release()
    partition.flush()
    assert sum(segment.is_active for segment in partition.log.segments) == 1
    assert partition.log.unflushed == {}
    partition.close()
    assert not any(segment.is_active for segment in partition.log.segments)
    assert len(partition.storage.files) == 0


def replace(partition, data, old, last_offset):
    """Puts a segment with these bytes in the place of the old ones, as a compaction does; what is to be deleted."""
    disk = partition.disk
    for kind, content in ((names.LOG, data), (names.OFFSET_INDEX, b""), (names.TIME_INDEX, b"")):
        disk.open(f"{partition.directory}/{names.file_name(4, kind)}{names.CLEANED}", create=True).append([content])
    stems = [f"{partition.directory}/{names.file_name(4, kind)}" for kind in names.SEGMENT_FILES[:3]]
    run(swap_job(disk, stems, partition.directory))
    facts = SegmentFacts(4, len(data), NOW + 10 * last_offset, last_offset)
    return partition.log.replace_segments([facts], old)


def test_nobody_reads_past_the_end_of_a_segment_that_was_replaced_below_the_high_watermark(partition):
    """The high watermark was known to lie where the old segment ended: the new one is shorter."""
    log, old = partition.log, partition.log.segments.get(4)
    log.update_high_watermark(6, (4, old.size))
    data = partition.disk.read(old.path(names.LOG))[: old.size // 2]
    assert read_bytes(log, 4, isolation=HIGH_WATERMARK)[: len(data)] == data
    replace(partition, data, [4], 4)
    fetched = read_warm(log, 4, 1 << 20, isolation=HIGH_WATERMARK)
    assert fetched.records.size == len(data)
    fetched.records.release()


def test_replaced_segments_are_read_under_their_new_names(partition):
    log, disk = partition.log, partition.disk
    deletion = replace(partition, disk.read(log.segments.get(4).path(names.LOG)), [4, 6], 5)
    expected = [number for number in range(20) if number not in (6, 7)]
    assert numbers(partition) == expected
    run(sync_dir_job(disk, partition.directory))
    log.finish_replace()
    assert numbers(partition) == expected
    run(deletion.unlink_job(disk))
    partition.reopen()
    assert numbers(partition) == expected


def test_snapshots_past_a_truncation_are_gone_before_the_log_grows_again():
    partition = Partition(log_config=config(segment_bytes=300))
    for sequence in range(6):
        partition.append(b"x" * 60, producer=1, sequence=sequence)
    assert partition.log.snapshots == [2, 4]
    partition.truncate(3)
    assert partition.log.snapshots == [2]
    assert not partition.disk.exists(f"{partition.directory}/{names.file_name(4, names.PRODUCER_SNAPSHOT)}")
    for sequence in range(3):
        partition.append(b"y" * 60, producer=2, sequence=sequence)
    assert partition.log.snapshots == [2, 4]
    partition.flush()
    partition.crash()
    log = partition.load(clean=False)
    assert [log.producers.entry(producer).last_sequence for producer in (1, 2)] == [2, 2]
