"""Short stories of one mishap each. The first six are there to notice a step that is left out:

| the step that is left out | the story that notices |
|---|---|
| `swap_job` does not sync the directory | `test_what_was_replaced_goes_only_after_its_replacement_is_durable` |
| `sync_dir_job` does not sync | `test_a_replacement_gets_its_name_only_after_what_it_replaces_has_lost_its_own` |
| loading keeps the segments that a finished replacement stands for | `test_loading_finishes_a_replacement` |
| `_quiet` does not wait (truncation.py) | `test_a_truncation_waits_for_a_rename_that_is_under_way` |
| `flushed` does not look at the generation | `test_a_flush_from_before_a_truncation_moves_nothing` |
| `_drop` does not sync the directory (recovery.py) | `test_what_lay_behind_a_damaged_batch_never_comes_back` |
"""

from contextlib import suppress
from itertools import pairwise

import pytest

from log_jobs_model import SteppedBroker
from log_kit import NOW, Partition, append_as_leader, batch, config, marker, read_records, run
from manager_kit import SimBroker, values
from odradek.log import names
from odradek.log.append import COORDINATOR
from odradek.log.dir_sync import sync_dir_job
from odradek.log.flush import flush_job
from odradek.log.loading.loaded import SegmentFacts
from odradek.log.producers.producer_rebuild import rebuild_job
from odradek.log.read import TXN_COMMITTED
from odradek.log.replace import swap_job
from odradek.records.batch import batches
from odradek.sim.crash import KEEP_ALL, LOSE_ALL, MIXED, SimCrash
from odradek.sim.disk import SimDisk
from odradek.sim.rng import SimRng

SEEDS = range(40)


class Replacing:
    """Two of four synced segments are about to be replaced by one of the same batches."""

    def __init__(self, seed=0):
        self.partition = Partition(
            SimDisk(SimRng(seed).stream("disk")), config(segment_bytes=300, index_interval_bytes=0, retention_ms=-1)
        )
        for number in range(8):
            self.partition.append(b"%02d" % number + b"." * 60)
        self.partition.flush()
        self.log, self.disk = self.partition.log, self.partition.disk
        assert self.log.segments.base_offsets == [0, 2, 4, 6]
        self.size = 0
        self.write_cleaned()

    def write_cleaned(self):
        data = b"".join(self.disk.read(segment.path(names.LOG)) for segment in list(self.log.segments)[:2])
        self.size = len(data)
        for stem, content in zip(self.stems(), (data, b"", b""), strict=True):
            file = self.disk.open(stem + names.CLEANED, create=True)
            file.append([content])
            file.fsync()
            file.close()
        self.disk.fsync_dir(self.log.directory)

    def stems(self):
        return [f"{self.log.directory}/{names.file_name(0, kind)}" for kind in names.SEGMENT_FILES[:3]]

    def swap(self):
        run(swap_job(self.disk, self.stems(), self.log.directory))

    def replace(self):
        self.log.replace_segments([SegmentFacts(0, self.size, NOW, 3)], [0, 2])

    def settle(self):
        run(sync_dir_job(self.disk, self.log.directory))
        self.log.finish_replace()

    def offsets_after(self, profile):
        self.partition.crash(profile)
        self.partition.load(clean=False)
        return [offset for offset, _ in self.partition.records()]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_lay_behind_a_damaged_batch_never_comes_back(seed):
    """In a compacted log a gap says nothing: segments behind the end must be gone for good before it is cut there."""
    partition = Partition(SimDisk(SimRng(seed).stream("disk")), config(segment_bytes=300, cleanup_policy={"compact"}))
    for number in range(8):
        partition.append(b"%02d" % number + b"." * 60)
    partition.flush()
    partition.recovery_point = 0  # the checkpoint was not written yet
    partition.disk.flip_bit(f"{partition.directory}/{names.file_name(2, names.LOG)}", 200)
    for nth in range(1, 30):
        again = Partition.__new__(Partition)
        again.__dict__ |= partition.__dict__ | {"disk": partition.disk.clone(SimRng(seed * 100 + nth).stream("disk"))}
        again.disk.crash_at(nth)
        with suppress(SimCrash):
            again.load(clean=False)
        again.crash(MIXED)
        again.load(clean=False)
        assert [offset for offset, _ in again.records()] == [0, 1, 2]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_replaced_goes_only_after_its_replacement_is_durable(seed):
    story = Replacing(seed)
    story.swap()
    story.replace()
    assert story.offsets_after(MIXED) == list(range(8))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_replacement_gets_its_name_only_after_what_it_replaces_has_lost_its_own(seed):
    story = Replacing(seed)
    story.swap()
    story.replace()
    story.settle()
    assert story.offsets_after(MIXED) == list(range(8))
    for segment, following in pairwise(story.partition.log.segments):
        held = batches(story.partition.disk.read(segment.path(names.LOG)))
        assert all(one.last_offset < following.base_offset for one in held), "no offset is there twice"


def test_loading_finishes_a_replacement():
    story = Replacing()
    story.swap()
    assert story.offsets_after(KEEP_ALL) == list(range(8))
    assert story.partition.log.segments.base_offsets == [0, 4, 6]
    left = [name for name in story.partition.disk.list(story.log.directory) if name.startswith(f"{2:020d}.")]
    assert [name for name in left if not name.endswith(names.PRODUCER_SNAPSHOT)] == []


def test_a_truncation_waits_for_a_rename_that_is_under_way():
    """Retention has taken segments out of the log and is about to rename them; one name is needed again."""
    overrides = {"internal.segment.bytes": 300, "retention.ms": -1, "file.delete.delay.ms": 10}
    broker = SteppedBroker(1, dirs=["data/a"], topic_overrides={"topic": overrides}, log_cleaner_enable="false")
    broker.start()
    log = broker.create()
    for number in range(8):
        broker.append(log, f"{number:02d}" + "." * 60)
    broker.sleep(100)
    assert log.segments.base_offsets == [0, 2, 4, 6]
    broker.executor.is_free = False
    broker.on_reactor(lambda: log.increment_log_start_offset(6))
    broker.spawn(broker.manager.schedules.delete_old_segments())
    renaming = list(broker.executor.standing)
    assert renaming and log.segments.base_offsets == [6]
    truncation = broker.spawn(broker.manager.truncate_fully_and_start_at("topic", 0, 2))
    while others := [each for each in broker.executor.standing if each not in renaming]:
        broker.executor.step(broker.executor.standing.index(others[0]))
        broker.sleep(1)
    assert not truncation.is_done, "the new segment would have a name that is about to be taken away"
    broker.executor.set_free()
    broker.sleep(100)
    assert truncation.is_done
    broker.append(log, "anew")
    assert values(broker.restart().get("topic", 0)) == ["anew"]


def test_a_flush_from_before_a_truncation_moves_nothing():
    partition = Partition()
    for number in range(6):
        partition.append(b"%d" % number)
    plan = partition.log.begin_flush(NOW)
    partition.truncate(3)
    partition.append(b"new")
    run(flush_job(partition.disk, plan))
    assert not partition.log.flushed(plan)
    assert partition.log.recovery_point <= 3
    partition.checkpoint()
    partition.crash(LOSE_ALL)
    log = partition.load(clean=False)  # a recovery point past the end would be refused
    assert log.log_end_offset <= 4


@pytest.mark.parametrize("seed", SEEDS)
def test_a_log_of_which_nothing_was_synced_begins_where_it_began(seed):
    """A crash may keep the name of a later segment and lose that of the first: then records would seem deleted."""
    overrides = {"internal.segment.bytes": 300}
    broker = SteppedBroker(seed, dirs=["data/a"], topic_overrides={"topic": overrides}, log_cleaner_enable="false")
    broker.start()
    log = broker.create()
    broker.executor.is_free = False  # no flush follows the rolls
    for number in range(10):
        broker.append(log, f"{number:02d}" + "." * 60)
    assert len(log.segments) > 3 and log.recovery_point == 0
    broker.crash(MIXED)
    log = broker.start().get("topic", 0)
    assert log.log_start_offset == 0
    assert [record.offset for record in read_records(log)] == list(range(log.log_end_offset))


def test_records_of_a_transaction_whose_marker_was_cut_off_are_not_taken_for_committed():
    """From the cut until the producers have been read again nobody knows which transactions are open (T1, L6)."""
    partition = Partition()
    log = partition.log
    partition.append(b"before")
    for sequence in range(3):
        append_as_leader(log, batch(b"x", producer=7, sequence=sequence, transactional=True), 0, NOW)
    append_as_leader(log, marker(7, commit=True), 0, NOW, origin=COORDINATOR)
    log.update_high_watermark(5)
    assert log.last_stable_offset == 5
    plan = log.truncate_to(4, NOW)
    assert log.high_watermark == 4
    log.update_high_watermark(4)
    assert log.last_stable_offset <= 1
    assert log.read(1, 1000, isolation=TXN_COMMITTED).records is None
    assert log.install(plan, run(rebuild_job(partition.disk, plan)))
    assert log.last_stable_offset == 1, "open since offset 1"
    append_as_leader(log, marker(7, commit=False), 0, NOW, origin=COORDINATOR)
    log.update_high_watermark(5)
    assert log.last_stable_offset == 5


def test_a_truncation_that_cuts_no_replicated_marker_leaves_the_last_stable_offset():
    partition = Partition()
    log = partition.log
    for sequence in range(3):
        partition.append(b"x", producer=7, sequence=sequence)
    log.update_high_watermark(2)
    plan = log.truncate_to(2, NOW)
    assert plan is not None and log.last_stable_offset == 2


@pytest.mark.parametrize(
    "asks", [lambda manager: manager.schedules.delete_old_segments(), lambda manager: manager.cleaner.clean_filthiest()]
)
def test_the_age_of_a_segment_that_cannot_be_asked_for_fails_the_dir(asks):
    overrides = {"cleanup.policy": "compact,delete", "min.compaction.lag.ms": 1000, "file.delete.delay.ms": 10}
    broker = SimBroker(dirs=["data/a"], topic_overrides={"topic": overrides}, log_cleaner_enable="false")
    broker.start()
    log = broker.create()
    broker.append(log, "no time", timestamp=-1)
    broker.on_reactor(lambda: log.roll(broker.manager.now_ms))
    broker.sleep(100)
    segment = log.segments.first
    segment.release()
    broker.disk.unlink(segment.path(names.LOG))
    assert segment.max_timestamp < 0
    broker.run(asks(broker.manager))
    assert broker.failed == [("data/a", True)]
