"""Rounds of compaction over real batches on a simulated disk, told one rule at a time."""

from errno import EIO

import pytest

from log_kit import clean
from odradek.log import names
from odradek.log.cleaner.clean_batches import LastRecord
from odradek.log.cleaner.clean_job import CleanerLimits, CleanTask, begin_round, clean_group
from odradek.log.config import LogConfig
from odradek.log.failure import DiskFull, LogDamaged, LogDirFailure
from odradek.log.index import transaction_index
from odradek.log.index.offset_index import OffsetIndex
from odradek.log.index.time_index import TimeIndex
from odradek.log.index.transaction_index import AbortedTransaction
from odradek.reactor.ports import Cancelled
from odradek.records.batch import batches
from odradek.records.compression import GZIP, LZ4, NONE, SNAPPY, ZSTD
from odradek.records.control import control_batch, end_transaction_marker
from odradek.records.legacy import message_set
from odradek.records.record import Record
from odradek.records.writer import BatchFields, empty_batch, record_batch
from odradek.sim.crash import LOSE_ALL
from odradek.sim.disk import SimDisk

DIR = "/logs/topic-0"
NOW_MS = 10_000
RETENTION_MS = 500
CONFIG = LogConfig.default().replace(delete_retention_ms=RETENTION_MS, index_interval_bytes=100)


def finished(job):
    while True:
        try:
            next(job)
        except StopIteration as end:
            return end.value


def in_bytes(text):
    return None if text is None else text.encode()


def in_text(data):
    return None if data is None else data.decode()


def records(first_offset, *pairs, timestamp=1):
    """Pairs of key and value, as text; None stays None."""
    return [
        Record(first_offset + delta, in_bytes(key), in_bytes(value), timestamp + delta)
        for delta, (key, value) in enumerate(pairs)
    ]


def batch(first_offset, *pairs, codec=NONE, timestamp=1, **fields):
    return record_batch(records(first_offset, *pairs, timestamp=timestamp), BatchFields(**fields), codec=codec)


class Partition:
    """Segments on a simulated disk; every round swaps its results in."""

    def __init__(self, segments, end_offset):
        self.now_ms = NOW_MS
        self.mtime_ms = 1
        self.disk = SimDisk(wall_ms=lambda: self.mtime_ms)
        self.disk.mkdir(DIR)
        for path in ("/", "/logs"):
            self.disk.fsync_dir(path)
        self.segments = {}
        self.end_offset = end_offset
        self.first_dirty_offset = 0
        self.aborted = []
        self.producers = {}
        for base_offset, data in segments.items():
            self.write(base_offset, data)

    def write(self, base_offset, data):
        file = self.disk.open(self.path(base_offset), create=True)
        file.append([data])
        file.close()
        self.segments[base_offset] = len(data)

    def path(self, base_offset, suffix=names.LOG):
        return f"{DIR}/{names.file_name(base_offset, suffix)}"

    def task(self, config=CONFIG, **options):
        return CleanTask(
            DIR,
            sorted(self.segments.items()),
            first_dirty_offset=self.first_dirty_offset,
            first_uncleanable_offset=self.end_offset,
            config=config,
            now_ms=self.now_ms,
            secret=bytes(16),
            aborted=self.aborted,
            active_producers=self.producers,
            **options,
        )

    def clean(self, **options):
        round_, replacements = finished(clean(self.disk, self.task(**options)))
        for replacement in replacements:
            for base_offset in replacement.replaced:
                del self.segments[base_offset]
            cleaned = replacement.cleaned
            for suffix in cleaned.suffixes:
                path = self.path(cleaned.base_offset, suffix)
                self.disk.rename(path + names.CLEANED, path)
            self.segments[cleaned.base_offset] = cleaned.size_bytes
        self.first_dirty_offset = round_.end_offset
        return round_, replacements

    def batches(self):
        return [each for base in sorted(self.segments) for each in batches(self.disk.read(self.path(base)))]

    def values(self):
        return [
            (record.offset, in_text(record.key), in_text(record.value))
            for each in self.batches()
            if not each.is_control
            for record in each.records()
        ]

    def read(self, base_offset, suffix):
        return self.disk.read(self.path(base_offset, suffix))


def test_the_last_value_of_each_key_stays_where_it_was():
    partition = Partition({0: batch(0, ("a", "1"), ("b", "1"), ("a", "2")) + batch(3, ("c", "1"), ("b", "2"))}, 5)
    round_, _ = partition.clean()
    assert partition.values() == [(2, "a", "2"), (3, "c", "1"), (4, "b", "2")]
    assert round_.end_offset == 5
    assert (round_.stats.records_read, round_.stats.records_kept) == (5, 3)


def test_a_record_without_a_key_goes():
    partition = Partition({0: batch(0, (None, "1"), ("a", "1"))}, 2)
    partition.clean()
    assert partition.values() == [(1, "a", "1")]


def test_an_empty_key_is_a_key():
    partition = Partition({0: batch(0, ("", "1"), ("", "2"))}, 2)
    partition.clean()
    assert partition.values() == [(1, "", "2")]


def test_a_key_of_the_clean_part_gives_way_to_the_dirty_part():
    partition = Partition({0: batch(0, ("a", "1"), ("b", "1"))}, 2)
    partition.clean()
    partition.write(2, batch(2, ("a", "2")))
    partition.end_offset = 3
    partition.clean()
    assert partition.values() == [(1, "b", "1"), (2, "a", "2")]


def test_what_is_left_of_a_batch_keeps_its_offsets_epoch_and_sequence():
    fields = {"partition_leader_epoch": 7, "producer_id": 5, "producer_epoch": 2, "base_sequence": 40}
    data = batch(0, ("a", "1"), ("b", "1"), ("a", "2"), timestamp=100, **fields) + batch(3, ("z", "1"))
    partition = Partition({0: data}, 4)
    partition.clean()
    left = partition.batches()[0]
    assert left.is_valid
    assert (left.base_offset, left.last_offset, left.count) == (0, 2, 2)
    assert (left.partition_leader_epoch, left.producer_id, left.producer_epoch, left.base_sequence) == (7, 5, 2, 40)
    assert (left.base_timestamp, left.max_timestamp) == (101, 102)
    assert [record.timestamp for record in left.records()] == [101, 102]


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_a_compressed_batch_is_compressed_again(codec):
    data = batch(0, ("a", "1" * 500), ("b", "2" * 500), ("a", "3" * 500), codec=codec)
    partition = Partition({0: data}, 3)
    partition.clean()
    (left,) = partition.batches()
    assert left.is_valid
    assert left.compression == codec
    assert partition.values() == [(1, "b", "2" * 500), (2, "a", "3" * 500)]


def test_a_compressed_batch_that_loses_nothing_keeps_its_bytes():
    first, second = batch(0, ("a", "1"), codec=GZIP), batch(1, ("b", "1"), ("b", "2"))
    partition = Partition({0: first + second}, 3)
    partition.clean()
    assert partition.read(0, names.LOG)[: len(first)] == first


def test_log_append_time_is_the_time_of_what_is_left():
    data = batch(0, ("a", "1"), ("b", "1"), ("a", "2"), timestamp=100, log_append_time=777)
    partition = Partition({0: data}, 3)
    partition.clean()
    (left,) = partition.batches()
    assert (left.base_timestamp, left.max_timestamp) == (777, 777)
    assert [record.timestamp for record in left.records()] == [777, 777]


# --- tombstones ---


def test_a_tombstone_gets_a_horizon_first_and_goes_behind_it():
    partition = Partition({0: batch(0, ("a", "1"), ("a", None), ("b", "1"), timestamp=100)}, 3)
    partition.clean()
    (left,) = partition.batches()
    assert left.delete_horizon_ms == NOW_MS + RETENTION_MS
    assert partition.values() == [(1, "a", None), (2, "b", "1")]
    assert [record.timestamp for record in left.records()] == [101, 102]
    assert left.max_timestamp == 102

    partition.now_ms = NOW_MS + RETENTION_MS - 1
    assert partition.clean()[1] == []
    partition.now_ms += 1
    partition.clean()
    assert partition.values() == [(2, "b", "1")]
    assert partition.batches()[0].delete_horizon_ms == NOW_MS + RETENTION_MS


def test_a_tombstone_of_old_messages_goes_when_its_segment_is_old():
    old = message_set(records(0, ("a", None), ("b", "1")), 1)
    partition = Partition({0: old, 2: message_set(records(2, ("c", "1")), 1)}, 3)
    config = CONFIG.replace(internal_segment_bytes=len(old))  # so that the two segments stay apart
    partition.first_dirty_offset = 0
    partition.clean(config=config)
    assert (0, "a", None) in partition.values()
    partition.mtime_ms = RETENTION_MS + 1  # the newest clean segment is older than the other by the retention
    partition.disk.unlink(partition.path(2))
    partition.write(2, message_set(records(2, ("c", "1")), 1))
    partition.first_dirty_offset = 3
    partition.clean(config=config)
    assert partition.values() == [(1, "b", "1"), (2, "c", "1")]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [NONE, GZIP])
def test_old_messages_are_compacted_too(magic, codec):
    partition = Partition({0: message_set(records(0, ("a", "1"), ("b", "1"), ("a", "2")), magic, codec=codec)}, 3)
    partition.clean()
    assert partition.values() == [(1, "b", "1"), (2, "a", "2")]
    assert {each.magic for each in partition.batches()} == {magic}
    assert all(each.is_valid for each in partition.batches())


# --- producers and the end of the round ---


def test_the_last_batch_of_a_producer_stays_if_only_empty():
    data = batch(0, ("a", "1"), timestamp=50, producer_id=9, producer_epoch=1, base_sequence=3) + batch(1, ("a", "2"))
    partition = Partition({0: data}, 2)
    partition.producers = {9: LastRecord(0, 1)}
    partition.clean()
    first, second = partition.batches()
    expected = empty_batch(BatchFields(producer_id=9, producer_epoch=1, base_sequence=3), 0, 0, 50)
    assert bytes(first.buffer) == expected
    assert second.count == 1
    assert partition.clean()[1] == []


def test_a_batch_of_an_expired_producer_goes():
    data = batch(0, ("a", "1"), producer_id=9, producer_epoch=1, base_sequence=3) + batch(1, ("a", "2"))
    partition = Partition({0: data}, 2)
    partition.producers = {9: LastRecord(5, 1)}
    partition.clean()
    assert [each.base_offset for each in partition.batches()] == [1]


def test_the_last_batch_of_the_round_stays_if_only_empty():
    """So that the end of what was cleaned is known from the log itself."""
    partition = Partition({0: batch(0, ("a", "1")) + batch(1, (None, "1"), (None, "2"))}, 3)
    partition.clean()
    assert [(each.base_offset, each.last_offset, each.count) for each in partition.batches()] == [(0, 0, 1), (1, 2, 0)]


# --- transactions ---


def transaction(first_offset, *pairs, is_commit, codec=NONE):
    """A batch of producer 4 and its marker."""
    data = batch(
        first_offset, *pairs, codec=codec, producer_id=4, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    end = first_offset + len(pairs)
    return data + end_transaction_marker(is_commit, 1, 90, producer_id=4, producer_epoch=0, base_offset=end)


@pytest.mark.parametrize("codec", [NONE, GZIP])
def test_aborted_records_go_and_do_not_count(codec):
    data = batch(0, ("a", "1")) + transaction(1, ("a", "2"), ("b", "2"), is_commit=False, codec=codec)
    partition = Partition({0: data + batch(4, ("z", "1"))}, 5)
    partition.aborted = [AbortedTransaction(4, 1, 3, 4)]
    partition.clean()
    assert partition.values() == [(0, "a", "1"), (4, "z", "1")]


def test_an_abort_marker_outlives_its_records_by_the_retention():
    aborted = AbortedTransaction(4, 0, 1, 2)
    partition = Partition({0: transaction(0, ("a", "2"), is_commit=False) + batch(2, ("z", "1"))}, 3)
    partition.aborted = [aborted]
    partition.clean()
    marker, _ = partition.batches()
    assert marker.is_control and marker.delete_horizon_ms is None
    assert transaction_index.decode(partition.read(0, names.TRANSACTION_INDEX), 0) == [aborted]

    partition.disk.unlink(partition.path(0, names.TRANSACTION_INDEX))
    partition.clean()  # nothing of the transaction is left: the horizon begins, the index entry goes
    marker, _ = partition.batches()
    assert marker.delete_horizon_ms == NOW_MS + RETENTION_MS
    assert marker.is_valid
    assert next(marker.records()).timestamp == 90
    assert not partition.disk.exists(partition.path(0, names.TRANSACTION_INDEX))

    partition.now_ms += RETENTION_MS - 1
    partition.clean()
    assert partition.batches()[0].delete_horizon_ms == NOW_MS + RETENTION_MS, "not a millisecond early"
    partition.now_ms += 1
    partition.clean()
    assert [each.is_control for each in partition.batches()] == [False]


def test_a_commit_marker_goes_like_an_abort_marker_once_its_records_are_gone():
    partition = Partition({0: transaction(0, ("a", "1"), is_commit=True) + batch(2, ("a", "2"))}, 3)
    partition.clean()
    marker, _ = partition.batches()
    assert marker.delete_horizon_ms is None
    partition.clean()
    assert partition.batches()[0].delete_horizon_ms == NOW_MS + RETENTION_MS
    partition.now_ms += RETENTION_MS
    partition.clean()
    assert [each.is_control for each in partition.batches()] == [False]


def test_a_marker_stays_while_a_record_of_its_transaction_does():
    partition = Partition({0: transaction(0, ("a", "1"), is_commit=True) + batch(2, ("b", "2"))}, 3)
    for _ in range(3):
        partition.clean()
        partition.now_ms += 10 * RETENTION_MS
    assert [each.is_control for each in partition.batches()] == [False, True, False]


def test_the_last_marker_of_a_producer_without_data_keeps_its_epoch():
    partition = Partition({0: transaction(0, ("a", "1"), is_commit=True) + batch(2, ("a", "2"))}, 3)
    partition.producers = {4: LastRecord(None, 0)}
    for _ in range(3):
        partition.clean()
        partition.now_ms += 10 * RETENTION_MS
    marker, _ = partition.batches()
    assert (marker.is_control, marker.count, marker.producer_epoch) == (True, 0, 0)


def test_control_batches_of_other_kinds_stay():
    partition = Partition({0: control_batch(2, b"whatever", 5) + batch(1, ("a", "1"))}, 2)
    for _ in range(2):
        partition.clean()
        partition.now_ms += 10 * RETENTION_MS
    assert [each.is_control for each in partition.batches()] == [True, False]


def test_an_aborted_transaction_reaches_into_the_next_group():
    first = batch(0, ("a", "1"), producer_id=4, producer_epoch=0, base_sequence=0, is_transactional=True)
    marker = end_transaction_marker(False, 1, 90, producer_id=4, producer_epoch=0, base_offset=1)
    partition = Partition({0: first, 1: marker + batch(2, ("z", "1"))}, 3)
    partition.aborted = [AbortedTransaction(4, 0, 1, 2)]
    _, replacements = partition.clean(config=CONFIG.replace(internal_segment_bytes=1))
    assert [each.replaced for each in replacements] == [[0]]  # the second holds what it held
    assert partition.values() == [(2, "z", "1")]
    assert partition.segments[0] == 0


# --- files, indexes and memory ---


def test_neighbours_that_have_shrunk_are_joined():
    partition = Partition({0: batch(0, ("a", "1")), 1: batch(1, ("b", "1")), 2: batch(2, ("a", "2"))}, 3)
    _, replacements = partition.clean()
    assert [each.replaced for each in replacements] == [[0, 1, 2]]
    assert partition.values() == [(1, "b", "1"), (2, "a", "2")]


def test_neighbours_are_joined_even_if_nothing_else_changes():
    partition = Partition({0: batch(0, ("a", "1")), 1: batch(1, ("b", "1"))}, 2)
    _, replacements = partition.clean()
    assert [each.replaced for each in replacements] == [[0, 1]]
    assert partition.read(0, names.LOG) == batch(0, ("a", "1")) + batch(1, ("b", "1"))


def test_a_group_that_would_not_change_is_left_alone():
    partition = Partition({0: batch(0, ("a", "1"), ("b", "1")), 2: batch(2, ("c", "1"), ("c", "2"))}, 4)
    _, replacements = partition.clean(config=CONFIG.replace(internal_segment_bytes=1))
    assert [each.replaced for each in replacements] == [[2]]
    assert not any(name.endswith(names.CLEANED) for name in partition.disk.list(DIR))


def test_a_segment_may_end_up_empty():
    partition = Partition({0: batch(0, ("a", "1")), 1: batch(1, ("a", "2"))}, 2)
    partition.clean(config=CONFIG.replace(internal_segment_bytes=1))
    assert partition.segments == {0: 0, 1: len(batch(1, ("a", "2")))}


def test_the_indexes_lead_to_every_batch():
    data = b"".join(batch(offset, (f"key {offset}", "v" * 60), timestamp=offset) for offset in range(40))
    partition = Partition({0: data + batch(40, ("key 3", "w"))}, 41)
    partition.clean()
    size = partition.segments[0]
    offsets = OffsetIndex.decode(partition.read(0, names.OFFSET_INDEX), 0, size)
    times = TimeIndex.decode(partition.read(0, names.TIME_INDEX), 0)
    assert len(offsets) > 10
    places = {each.last_offset: position for each, position in zip_positions(partition.read(0, names.LOG))}
    for offset in range(41):
        found, position = offsets.lookup(offset)
        assert found <= offset
        assert position == 0 or places[found] == position
    assert times.last_entry == (39, 39)


def zip_positions(data):
    position = 0
    for each in batches(data):
        yield each, position
        position += each.size


def test_a_full_map_ends_the_round_where_it_is_full():
    partition = Partition({0: batch(0, ("a", "1"), ("b", "1"), ("a", "2"), ("b", "2"), ("a", "3"))}, 5)
    limits = CleanerLimits(key_map_bytes=24 * 2, load_factor=0.5)  # one key
    ends = []
    while partition.first_dirty_offset < 5:
        round_, _ = partition.clean(limits=limits)
        ends.append(round_.end_offset)
    assert ends == sorted(set(ends)) and len(ends) > 1
    assert partition.values() == [(3, "b", "2"), (4, "a", "3")]


def test_a_full_map_leaves_the_segments_behind_it_alone():
    partition = Partition({0: batch(0, ("a", "1"), ("b", "1")), 2: batch(2, ("c", "1"), ("c", "2"))}, 4)
    round_, _ = partition.clean(limits=CleanerLimits(key_map_bytes=24 * 3, load_factor=0.7))
    assert round_.end_offset == 2
    assert [[segment.base_offset for segment in group] for group in round_.groups] == [[0]]


def test_old_messages_fill_the_map_too():
    partition = Partition({0: message_set(records(0, ("a", "1"), ("b", "1"), ("a", "2")), 1, codec=GZIP)}, 3)
    round_, _ = partition.clean(limits=CleanerLimits(key_map_bytes=24 * 2, load_factor=0.5))
    assert round_.end_offset == 1
    assert len(partition.values()) == 3


def test_the_round_ends_where_the_segments_do_even_in_a_gap():
    partition = Partition({0: batch(0, ("a", "1")), 5: batch(5, ("b", "1"))}, 10)
    round_, _ = partition.clean()
    assert round_.end_offset == 10


def test_the_round_may_read_in_chunks_smaller_than_a_batch():
    partition = Partition({0: batch(0, ("a", "1" * 300), ("a", "2" * 300)) + batch(2, ("b", "3" * 300))}, 3)
    partition.clean(limits=CleanerLimits(chunk_bytes=20))
    assert partition.values() == [(1, "a", "2" * 300), (2, "b", "3" * 300)]


def test_what_was_cleaned_is_durable_before_anyone_hears_of_it():
    partition = Partition({0: batch(0, ("a", "1"), ("a", "2"))}, 2)
    _, (replacement,) = finished(clean(partition.disk, partition.task()))
    disk = partition.disk.crash(LOSE_ALL)
    for suffix in replacement.cleaned.suffixes:
        assert disk.exists(partition.path(0, suffix) + names.CLEANED)
    (left,) = batches(disk.read(partition.path(0) + names.CLEANED))
    assert left.is_valid and left.count == 1


# --- what goes wrong ---


def test_damage_is_not_copied_under_a_new_crc():
    data = bytearray(batch(0, ("a", "1"), ("a", "2")))
    data[-3] ^= 1
    partition = Partition({0: bytes(data)}, 2)
    with pytest.raises(LogDamaged):
        partition.clean()


def test_a_batch_that_is_cut_off_is_damage():
    partition = Partition({0: batch(0, ("a", "1"))[:-1]}, 1)
    with pytest.raises(LogDamaged, match="cut off"):
        partition.clean()


def test_a_file_that_is_shorter_than_its_segment_is_damage():
    partition = Partition({0: batch(0, ("a", "1")) + batch(1, ("b", "1"))}, 2)
    file = partition.disk.open(partition.path(0))
    file.truncate(partition.segments[0] - 1)
    with pytest.raises(LogDamaged, match="cut off"):
        partition.clean()


@pytest.mark.parametrize("codec", [NONE, GZIP])
def test_damage_in_the_clean_part_is_found_too(codec):
    data = bytearray(batch(0, ("a", "1"), ("b", "1"), codec=codec))
    data[30] ^= 1  # in the base timestamp: only the crc can tell
    partition = Partition({0: bytes(data), 2: batch(2, ("a", "2"))}, 3)
    partition.first_dirty_offset = 2
    with pytest.raises(LogDamaged):
        partition.clean()


@pytest.mark.parametrize("steps", [1, 2])
def test_a_cancelled_job_leaves_nothing_behind(steps):
    data = batch(0, ("a", "1")) + batch(1, ("a", "2")) + batch(2, ("b", "1"))
    partition = Partition({0: data}, 3)
    round_ = finished(begin_round(partition.disk, partition.task(limits=CleanerLimits(chunk_bytes=80))))
    job = clean_group(partition.disk, round_, round_.groups[0])
    for _ in range(steps):
        next(job)
    assert any(name.endswith(names.CLEANED) for name in partition.disk.list(DIR))
    with pytest.raises(Cancelled):
        job.throw(Cancelled())
    assert partition.disk.list(DIR) == [names.file_name(0, names.LOG)]


def test_a_full_disk_ends_the_round_and_leaves_nothing_behind():
    partition = Partition({0: batch(0, ("a", "1"), ("b", "2" * 5000), ("a", "3"))}, 3)
    partition.disk.set_quota(partition.segments[0] + 1000)
    with pytest.raises(DiskFull):
        partition.clean()
    assert partition.disk.list(DIR) == [names.file_name(0, names.LOG)]


def test_a_write_that_went_in_only_in_part_is_a_full_disk():
    """There is nothing else to write here: without timestamps there are no index entries."""
    partition = Partition({0: batch(0, ("a", "1"), ("b", "2" * 5000), ("a", "3"), timestamp=-9)}, 3)
    partition.disk.set_quota(partition.segments[0] + 1000)
    with pytest.raises(DiskFull):
        partition.clean()


def test_a_failed_sync_is_a_failure_of_the_dir():
    partition = Partition({0: batch(0, ("a", "1"), ("a", "2"))}, 2)
    partition.disk.fail("fsync", EIO)
    with pytest.raises(LogDirFailure):
        partition.clean()
