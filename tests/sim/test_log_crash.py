"""A crash at every disk operation, at every failpoint, and between the steps of every job.

One story touches all that a log does: appends, rolls, flushes, a truncation, retention, a clean close and a reopening.
It is run again and again, each time to crash one step later. Whatever the moment: nothing that was synced is lost, no
batch fails its checksum, no offset is there twice or missing in between, and recovering twice gives what recovering
once gives (L1, L2, L7).
"""

import pytest

import failpoints
from log_kit import NOW, Partition, config, run
from odradek.log import failpoint, names
from odradek.log.dir_sync import sync_dir_job
from odradek.log.loading.loaded import SegmentFacts
from odradek.log.replace import swap_job
from odradek.sim.crash import KEEP_ALL, LOSE_ALL, MIXED, SimCrash
from odradek.sim.disk import SimDisk
from odradek.sim.rng import SimRng

PROFILES = [KEEP_ALL, LOSE_ALL, MIXED, MIXED, MIXED]
# Crossed below, and what is left of a replacement is settled in the unit tests of loading.
ELSEWHERE = ("log.recover", "log.load", "log.truncate_fully")


@pytest.fixture(autouse=True)
def disarmed():
    yield
    failpoints.disarm_all()


class Story:
    """Appends numbered values; knows which of them were synced, and what each offset has ever held."""

    def __init__(self, disk):
        self.ever = {}
        self.synced = {}
        self.number = 0
        self.partition = Partition(disk, config(segment_bytes=400, index_interval_bytes=60, retention_bytes=1000))

    def run(self):
        self.append(6, producer=5)
        self.flush()
        self.append(9)
        self.flush()
        self.append(3, producer=5)
        self.truncate(self.partition.log.log_end_offset - 2)
        self.append(4)
        self.flush()
        self.partition.log.update_high_watermark(self.partition.log.log_end_offset)
        self.retain()
        self.append(3, producer=6)
        self.close()
        self.partition.load(clean=True)
        self.append(5)
        self.flush()
        self.append(2)
        self.compact()
        self.append(2)
        self.flush()

    def append(self, count, producer=None):
        log = self.partition.log
        for _ in range(count):
            value = b"value %d" % self.number
            self.number += 1
            self.ever.setdefault(log.log_end_offset, set()).add(value)
            entry = log.producers.entry(producer) if producer is not None else None
            sequence = 0 if entry is None else entry.last_sequence + 1
            self.partition.append(
                value + b"." * 40, producer=producer, sequence=sequence, leader_epoch=self.number // 7
            )

    def flush(self):
        self.partition.flush()
        self.remember()

    def close(self):
        self.partition.close()
        self.synced = {}
        self.clean_end = self.partition.recovery_point

    def remember(self):
        self.synced = dict(self.values())

    def values(self):
        return [(offset, value.partition(b".")[0]) for offset, value in self.partition.records()]

    def truncate(self, offset):
        self.synced = {known: value for known, value in self.synced.items() if known < offset}
        self.partition.truncate(offset)

    def retain(self):
        log = self.partition.log
        deletion = log.delete_old_segments(NOW)
        assert deletion is not None
        self.synced = {known: value for known, value in self.synced.items() if known >= log.log_start_offset}
        run(deletion.rename_job(self.partition.disk))
        run(deletion.unlink_job(self.partition.disk))

    def compact(self):
        """Two sealed segments become one, byte for byte: what is replaced is told by the files alone."""
        log, disk = self.partition.log, self.partition.disk
        first, second = list(log.segments)[:2]
        stem = f"{log.directory}/{names.file_name(first.base_offset, '')}"
        parts = [disk.read(segment.path(names.LOG)) for segment in (first, second)]
        for kind, data in ((names.LOG, b"".join(parts)), (names.OFFSET_INDEX, b""), (names.TIME_INDEX, b"")):
            file = disk.open(stem + kind + names.CLEANED, create=True)
            file.append([data])
            file.fsync()
            file.close()
        run(swap_job(disk, [stem + kind for kind in names.SEGMENT_FILES[:3]], log.directory))
        facts = SegmentFacts(first.base_offset, sum(map(len, parts)), first.max_timestamp)
        deletion = log.replace_segments([facts], [first.base_offset, second.base_offset])
        run(sync_dir_job(disk, log.directory))
        log.finish_replace()
        run(deletion.unlink_job(disk))

    def check_after(self, profile):
        partition = self.partition
        partition.crash(profile)
        partition.load(clean=False)
        found = self.values()
        log = partition.log
        assert [offset for offset, _ in found] == list(range(log.log_start_offset, log.log_end_offset))
        assert all(value in self.ever[offset] for offset, value in found)
        missing = {offset: value for offset, value in self.synced.items() if dict(found).get(offset) != value}
        assert not {offset for offset in missing if offset >= log.log_start_offset}, "what was synced is lost"
        once = partition.disk.snapshot()
        partition.load(clean=False)
        assert partition.disk.snapshot() == once
        self.append(2)
        assert len(self.values()) == len(found) + 2


def crashed_story(seed, arm):
    """Runs the story until it crashes; None if it came to its end."""
    disk = SimDisk(SimRng(seed).stream("disk"))
    story = Story.__new__(Story)
    arm(disk)
    try:
        Story.__init__(story, disk)
        story.run()
    except SimCrash:
        return story
    return None


def operations_of_the_story():
    disk = SimDisk(SimRng(0).stream("disk"))
    Story(disk).run()
    return disk.operations


def test_the_story_does_all_it_should():
    story = Story(SimDisk())
    story.run()
    assert story.partition.rolls >= 3
    assert story.partition.log.log_start_offset > 0
    assert operations_of_the_story() > 150


@pytest.mark.parametrize("seed", range(4))
def test_crash_at_every_disk_operation(seed):
    total = operations_of_the_story()
    setup = 13  # the directory itself and the name of its first segment
    for nth in range(setup + seed % 2, total, 2):
        story = crashed_story(seed * 1000 + nth, lambda disk, nth=nth: disk.crash_at(nth))
        assert story is not None
        failpoints.disarm_all()
        story.check_after(PROFILES[(nth + seed) % len(PROFILES)])


@pytest.mark.parametrize("name", sorted(failpoint.NAMES))
def test_crash_at_every_failpoint(name):
    crossed = 0
    for seed in range(6):
        hits = 0

        def crash(_, seed=seed):
            nonlocal hits
            hits += 1
            if hits > seed * 2:
                raise SimCrash(name)

        failpoints.arm(name, crash)
        story = crashed_story(seed, lambda disk: None)
        failpoints.disarm_all()
        if story is None:
            continue
        crossed += 1
        story.check_after(PROFILES[seed % len(PROFILES)])
    assert crossed or name.startswith(ELSEWHERE), "a failpoint nobody crosses"


@pytest.mark.parametrize("name", sorted(name for name in failpoint.NAMES if name.startswith("log.recover")))
def test_crash_in_the_middle_of_recovery(name):
    crossed = 0
    for seed in range(12):
        story = crashed_story(seed, lambda disk, seed=seed: disk.crash_at(60 + 7 * seed))
        story.partition.crash(PROFILES[seed % len(PROFILES)])

        def crash(_):
            raise SimCrash(name)

        failpoints.arm(name, crash)
        try:
            story.partition.load(clean=False)
        except SimCrash:
            crossed += 1
        failpoints.disarm_all()
        story.check_after(PROFILES[(seed + 1) % len(PROFILES)])
    assert crossed, "a failpoint nobody crosses"


@pytest.mark.parametrize("seed", range(10))
def test_crash_while_a_log_begins_anew(seed):
    """What a follower does that is too far behind: everything goes, and the log starts at its leader's start offset."""
    partition = Partition(SimDisk(SimRng(seed).stream("disk")), config(segment_bytes=200))
    for number in range(8):
        partition.append(b"%d" % number + b"." * 60)
    partition.flush()
    partition.recovery_point = partition.log_start_offset = 0  # the manager lowers them before

    def crash(name):
        raise SimCrash(name)

    failpoints.arm("log.truncate_fully.after_delete", crash)
    with pytest.raises(SimCrash):
        partition.log.truncate_fully_and_start_at(100, NOW)
    failpoints.disarm_all()
    partition.crash(PROFILES[seed % len(PROFILES)])
    partition.load(clean=False)
    found, log = partition.records(), partition.log
    assert [offset for offset, _ in found] == list(range(log.log_start_offset, log.log_end_offset)), "no hole in it"
    assert all(value.startswith(b"%d." % offset) for offset, value in found)
    once = partition.disk.snapshot()
    partition.load(clean=False)
    assert partition.disk.snapshot() == once
    partition.append(b"next")
    assert partition.records()[-1] == (partition.log.log_end_offset - 1, b"next")
