"""A crash at every disk operation of a round: what loads has the last value of every key, once (L1, L7, L8)."""

from itertools import product

import pytest

from log_kit import append_as_leader
from odradek.config.broker import TABLE
from odradek.log import names
from odradek.log.cleaner.cleaner import Cleaner, CleanerConfig
from odradek.log.config import LogConfig
from odradek.log.flush import flush_job
from odradek.log.loading.load import load_log
from odradek.log.log import Log
from odradek.log.storage import Storage
from odradek.reactor.jobs import JobQueue
from odradek.reactor.loop import Loop
from odradek.reactor.ports import Ports
from odradek.records.batch import batches
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch
from odradek.sim.crash import KEEP_ALL, LOSE_ALL, MIXED, SimCrash
from odradek.sim.world import World

LOG_DIR = "/logs"
DIR = "/logs/t-0"
CONFIG = LogConfig.default().replace(
    cleanup_policy=("compact",), internal_segment_bytes=400, file_delete_delay_ms=10, min_cleanable_dirty_ratio=0.0
)
BROKER = {
    "process.roles": "broker",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "2@localhost:9093",
}
CLEANER_CONFIG = CleanerConfig.from_config(TABLE.parse(BROKER, release="4.3"))


def finished(job):
    while True:
        try:
            next(job)
        except StopIteration as end:
            return end.value


def loading(disk, recovery_point):
    return load_log(
        disk,
        DIR,
        "t-0",
        CONFIG,
        had_clean_shutdown=False,
        recovery_point=recovery_point,
        log_start_offset=0,
        now_ms=0,
    )


class InTurn:
    """Runs each job to its end when the loop takes in ended jobs: a crash in one comes out of the turn."""

    def __init__(self):
        self._jobs = []

    def notify(self, wake):
        self._wake = wake

    def submit(self, job, done):
        self._jobs.append((job, done))
        self._wake()

    def drain(self):
        ended, self._jobs = self._jobs, []
        for job, done in ended:
            done(finished(job), None)
        return len(ended)


class Machine:
    """A log of several segments, all of it synced, and a cleaner that has not begun."""

    def __init__(self, seed):
        node = World(seed).node("n").ports
        self.disk = node.disk
        self.ports = Ports(node.clock, node.rng, node.disk, node.network, InTurn())
        self.disk.mkdir(DIR)
        for path in ("/", LOG_DIR):
            self.disk.fsync_dir(path)
        self.loop = Loop(self.ports)
        jobs = JobQueue(self.loop)
        self.cleaner = Cleaner(self.loop, jobs, CLEANER_CONFIG, on_failure=self._failed)
        self.cleaner.checkpoints.add_dir(LOG_DIR, {})
        loaded = finished(loading(self.disk, 0))
        self.log = Log(Storage(self.disk, self.ports.rng), loaded, CONFIG, 0)
        self.cleaner.add(self.log)
        self._fill()

    def _failed(self, failure):
        raise failure

    def _fill(self):
        for number in range(9):
            records = [Record(0, b"a", b"%d" % number), Record(1, b"k%d" % number, b"x" * 20)]
            append_as_leader(self.log, bytearray(record_batch(records, BatchFields())), 0, 0)
            if number % 2:
                self.log.roll(0)
        self.log.update_high_watermark(self.log.log_end_offset)
        plan = self.log.begin_flush(0)
        finished(flush_job(self.disk, plan))
        self.log.flushed(plan)

    def clean(self):
        assert self.loop.run_until(self.loop.spawn(self.cleaner.clean_filthiest()))
        self.loop.run_until(self.loop.sleep(100))  # the old files go


def contents(disk):
    found = [name for name in disk.list(DIR) if name.endswith(names.LOG)]
    return [
        (record.offset, record.key, record.value)
        for name in found
        for batch in batches(disk.read(f"{DIR}/{name}"))
        for record in batch.records()
    ]


@pytest.mark.parametrize(
    ("profile", "seeds"), [(KEEP_ALL, 1), (LOSE_ALL, 1), (MIXED, 8)], ids=["kill", "power", "mixed"]
)
def test_a_crash_anywhere_leaves_the_last_value_of_every_key(profile, seeds):
    whole = Machine(0)
    last = {key: (offset, value) for offset, key, value in contents(whole.disk)}
    before = whole.disk.operations
    whole.clean()
    operations = whole.disk.operations - before
    assert operations > 30
    for nth, seed in product(range(1, operations + 1), range(seeds)):
        machine = Machine(seed)
        machine.disk.crash_at(nth)
        with pytest.raises(SimCrash):
            machine.clean()
        disk = machine.disk.crash(profile)
        loaded = finished(loading(disk, machine.log.recovery_point))
        assert loaded.log_end_offset == machine.log.log_end_offset, (nth, seed)
        found = contents(disk)
        offsets = [offset for offset, _, _ in found]
        assert offsets == sorted(set(offsets)), (nth, seed)
        assert {key: (offset, value) for offset, key, value in found} == last, (nth, seed)
        left = [name for name in disk.list(DIR) if name.endswith((names.CLEANED, names.SWAP, names.DELETED))]
        assert not left, (nth, seed)
