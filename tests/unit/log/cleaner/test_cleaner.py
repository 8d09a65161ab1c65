"""The cleaner over whole logs, on real and on simulated ports: which log it takes, and what makes it give up."""

import pytest

import log_kit
from log_kit import append_as_leader
from odradek.config.broker import TABLE
from odradek.log import names
from odradek.log.checkpoint import read_offsets
from odradek.log.cleaner.cleanable import filthiest, first_dirty_offset, first_uncleanable_offset, log_to_clean
from odradek.log.cleaner.cleaner import Cleaner, CleanerConfig
from odradek.log.config import LogConfig
from odradek.log.failure import LogDamaged, LogDirFailure
from odradek.log.loading.load import load_log
from odradek.log.log import Log
from odradek.log.read import LOG_END
from odradek.log.storage import Storage
from odradek.reactor.adapters import system_ports
from odradek.reactor.jobs import JobQueue
from odradek.reactor.loop import Loop
from odradek.records.batch import batches
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch
from odradek.sim.world import World

CONFIG = LogConfig.default().replace(
    cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.5, delete_retention_ms=1000
)
BROKER = {
    "process.roles": "broker",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "2@localhost:9093",
}
CLEANER_CONFIG = CleanerConfig.from_config(TABLE.parse(BROKER, release="4.3"))


class Broker:
    """A loop, a job queue, a cleaner and the logs of one log dir."""

    def __init__(self, ports, log_dir, config=CLEANER_CONFIG):
        self.ports = ports
        self.loop = Loop(ports)
        self.jobs = JobQueue(self.loop)
        self.log_dir = log_dir
        self.failures = []
        self.storage = Storage(ports.disk, ports.rng)
        self.cleaner = Cleaner(self.loop, self.jobs, config, on_failure=self.failures.append)
        self.cleaner.checkpoints.add_dir(log_dir, {})

    def log(self, topic, config=CONFIG):
        directory = f"{self.log_dir}/{topic}-0"
        self.ports.disk.mkdir(directory)
        log = self.load(topic, config)
        self.cleaner.add(log)
        return log

    def load(self, topic, config=CONFIG, had_clean_shutdown=True):
        job = load_log(
            self.ports.disk,
            f"{self.log_dir}/{topic}-0",
            f"{topic}-0",
            config,
            had_clean_shutdown=had_clean_shutdown,
            recovery_point=0,
            log_start_offset=0,
            now_ms=self.now_ms,
        )
        return Log(self.storage, self.loop.run_until(self.loop.submit(job)), config, self.now_ms)

    @property
    def now_ms(self):
        return self.ports.clock.wall_ms()

    def append(self, log, *pairs, timestamp=None, roll=True):
        """One batch; then the next segment."""
        records = [
            Record(delta, key.encode(), None if value is None else value.encode(), timestamp or self.now_ms)
            for delta, (key, value) in enumerate(pairs)
        ]
        append_as_leader(log, bytearray(record_batch(records, BatchFields())), 0, self.now_ms)
        if roll:
            log.roll(self.now_ms)
        log.update_high_watermark(log.log_end_offset)

    def clean(self):
        return self.loop.run_until(self.loop.spawn(self.cleaner.clean_filthiest()))

    def close(self):
        self.ports.executor.close()
        self.loop.close()


@pytest.fixture(params=["real", "sim"])
def broker(request, tmp_path):
    made = Broker(system_ports(threads=2), str(tmp_path)) if request.param == "real" else simulated()
    yield made
    made.close()


@pytest.fixture
def sim_broker():
    made = simulated()
    yield made
    made.close()


def simulated(**options):
    return Broker(World(seed=3).node("n").ports, "/logs", **options)


def values(log):
    """What a consumer reads from the first to the last offset."""
    found = []
    offset = log.log_start_offset
    while (fetched := log.read(offset, 1 << 20, isolation=LOG_END)).records is not None:
        piece = fetched.records
        data = piece.disk_file.pread(piece.size, piece.position)
        piece.release()
        for batch in batches(data):
            found += [(record.offset, record.key.decode(), record.value) for record in batch.records()]
            offset = batch.next_offset
    return found


def test_it_cleans_a_log_and_remembers_how_far(broker):
    log = broker.log("t")
    broker.append(log, ("a", "1"), ("b", "1"))
    broker.append(log, ("a", "2"))
    broker.append(log, ("c", "1"), roll=False)
    assert broker.clean() is True
    assert values(log) == [(1, "b", b"1"), (2, "a", b"2"), (3, "c", b"1")]
    assert log.segments.base_offsets == [0, 3]
    path = f"{broker.log_dir}/{names.CLEANER_OFFSETS}"
    assert read_offsets(broker.ports.disk, path) == {("t", 0): 3}
    assert broker.clean() is False
    assert not broker.failures


def test_the_old_segments_are_gone_and_the_new_ones_have_their_names(broker):
    log = broker.log("t", CONFIG.replace(file_delete_delay_ms=0))
    broker.append(log, ("a", "1"))
    broker.append(log, ("a", "2"))
    broker.clean()
    broker.loop.run_until(broker.loop.sleep(50))
    found = broker.ports.disk.list(log.directory)
    assert [name for name in found if name.endswith(names.LOG)] == [names.file_name(at, names.LOG) for at in (0, 2)]
    assert not [name for name in found if name.endswith((names.CLEANED, names.SWAP, names.DELETED))]


def test_what_it_left_loads_again(broker):
    log = broker.log("t")
    for number in range(5):
        broker.append(log, ("a", str(number)), (f"k{number}", "x"))
    broker.clean()
    expected = values(log)
    assert values(broker.load("t", had_clean_shutdown=False)) == expected


def test_the_filthiest_log_comes_first(broker):
    less, more = broker.log("less"), broker.log("more")
    broker.append(less, ("a", "x" * 1000))
    broker.append(more, ("a", "x" * 1000))
    broker.clean()
    broker.clean()
    broker.append(less, ("b", "1" * 1200))
    broker.append(more, ("b", "1" * 5000))
    assert filthiest(broker.cleaner.assess(broker.now_ms)).log is more


def test_a_log_of_another_policy_is_left_alone(broker):
    log = broker.log("t", CONFIG.replace(cleanup_policy=("delete",)))
    broker.append(log, ("a", "1"))
    broker.append(log, ("a", "2"))
    assert broker.clean() is False


def test_compact_and_delete_is_compacted(broker):
    log = broker.log("t", CONFIG.replace(cleanup_policy=("compact", "delete")))
    broker.append(log, ("a", "1"))
    broker.append(log, ("a", "2"))
    assert broker.clean() is True


# --- what can be cleaned ---


def test_the_dirty_ratio_decides(broker):
    log = broker.log("t")
    broker.append(log, ("a", "1" * 1000))
    assert log_to_clean(log, None, broker.now_ms).is_due
    assert not log_to_clean(log, log.active.base_offset, broker.now_ms).is_due
    broker.append(log, ("a", "2" * 500))
    assert not log_to_clean(log, 1, broker.now_ms).is_due
    broker.append(log, ("a", "3" * 700))
    found = log_to_clean(log, 1, broker.now_ms)
    assert found.is_due and 0.5 < found.cleanable_ratio < 0.6


def test_the_active_segment_is_never_cleaned(broker):
    log = broker.log("t")
    broker.append(log, ("a", "1"), roll=False)
    assert first_uncleanable_offset(log, 0, broker.now_ms) == 0
    assert not log_to_clean(log, None, broker.now_ms).is_due


def test_nothing_at_or_past_the_last_stable_offset_is_cleaned(broker):
    log = broker.log("t")
    for value in "123":
        broker.append(log, ("a", value))
    log.update_high_watermark(2)
    assert log.last_stable_offset == 2
    assert first_uncleanable_offset(log, 0, broker.now_ms) == 2
    log.update_high_watermark(1)
    assert first_uncleanable_offset(log, 0, broker.now_ms) == 1


def test_an_open_transaction_below_the_high_watermark_ends_what_is_cleaned(broker):
    """L8: the last value of a key may still be aborted."""
    log = broker.log("t")
    broker.append(log, ("a", "1"))
    append_as_leader(log, log_kit.batch(b"2", producer=7, transactional=True), 0, broker.now_ms)
    log.roll(broker.now_ms)
    broker.append(log, ("a", "3"))
    assert (log.last_stable_offset, log.high_watermark) == (1, 3)
    assert first_uncleanable_offset(log, 0, broker.now_ms) == 1


def test_a_young_segment_waits_for_the_lag(broker):
    log = broker.log("t", CONFIG.replace(min_compaction_lag_ms=500))
    now_ms = broker.now_ms + 10_000
    for age_ms in (900, 501, 400, 100):
        broker.append(log, ("a", "1"), timestamp=now_ms - age_ms)
    assert first_uncleanable_offset(log, 0, now_ms) == 2
    assert first_uncleanable_offset(log, 0, now_ms + 500) == 4


def test_a_log_that_has_waited_too_long_is_due_whatever_its_ratio(broker):
    log = broker.log("t", CONFIG.replace(max_compaction_lag_ms=500))
    broker.append(log, ("a", "1" * 1000), timestamp=1000)
    broker.append(log, ("b", "1"), timestamp=2000)
    assert not log_to_clean(log, 1, 2500).is_due
    found = log_to_clean(log, 1, 2501)
    assert (found.is_due, found.compaction_delay_ms) == (True, 1)


def test_the_age_of_a_segment_is_read_from_its_file_after_a_restart(broker):
    config = CONFIG.replace(max_compaction_lag_ms=500)
    log = broker.log("t", config)
    broker.append(log, ("a", "1" * 1000), timestamp=1000)
    broker.append(log, ("b", "1"), timestamp=2000)
    broker.append(log, ("c", "1"), timestamp=3000)
    reloaded = broker.load("t", config)
    reloaded.update_high_watermark(reloaded.log_end_offset)
    broker.cleaner.remove(log)
    broker.cleaner.add(reloaded)
    broker.cleaner.checkpoints.set(broker.log_dir, ("t", 0), 2)
    assert broker.clean() is True  # by now the records of 1970 have waited long enough


def test_a_checkpoint_outside_of_the_log_is_dropped(broker):
    log = broker.log("t")
    broker.append(log, ("a", "1"))
    assert first_dirty_offset(log, 99) == 0
    assert first_dirty_offset(log, None) == 0
    assert first_dirty_offset(log, 1) == 1
    broker.cleaner.checkpoints.set(broker.log_dir, ("t", 0), 99)
    broker.cleaner.assess(broker.now_ms)
    assert broker.cleaner.checkpoints.get(broker.log_dir, ("t", 0)) == 0


def test_the_segment_in_which_a_round_stopped_is_still_dirty(broker):
    log = broker.log("t")
    broker.append(log, ("a", "1"), ("b", "1"))
    found = log_to_clean(log, 1, broker.now_ms)
    assert found.cleanable_bytes == found.clean_bytes > 0


# --- what makes it give up ---


def test_a_damaged_log_is_told_with_file_and_position_and_the_others_go_on(broker):
    bad, good = broker.log("bad"), broker.log("good")
    for log in (bad, good):
        broker.append(log, ("a", "1"))
        broker.append(log, ("a", "2"))
    file = broker.ports.disk.open(bad.segments.first.path(names.LOG))
    file.pwrite(b"\xff", bad.segments.first.size - 2)
    file.close()
    results = {broker.clean(), broker.clean()}
    assert results == {True, False}
    (damage,) = broker.failures
    assert isinstance(damage, LogDamaged) and "crc" in damage.reason
    assert (damage.path, damage.position) == (bad.segments.first.path(names.LOG), 0)
    assert len(good.segments) == 2


def test_a_paused_log_is_not_cleaned_until_it_was_resumed_as_often(broker):
    log = broker.log("t")
    broker.append(log, ("a", "1"))
    broker.append(log, ("a", "2"))
    broker.cleaner.pause(log)
    broker.cleaner.pause(log)
    broker.cleaner.resume(log)
    assert broker.clean() is False
    broker.cleaner.resume(log)
    assert broker.clean() is True


def steps_of(broker, log):
    """How many turns of the loop a whole round takes in simulation."""
    task = broker.loop.spawn(broker.cleaner.clean_filthiest())
    count = 0
    while not task.is_done:
        broker.loop.turn()
        count += 1
    return count


def prepared(broker):
    log = broker.log("t", CONFIG.replace(internal_segment_bytes=90))  # each segment is a group of its own
    for number in range(4):
        broker.append(log, ("a", str(number)), (f"k{number}", "x"))
    return log


@pytest.mark.parametrize("event", ["pause", "truncate", "retention"])
def test_a_log_that_changes_under_a_round_is_given_up_at_any_point(event):
    """Whatever the round had swapped in by then, the log is sound and nothing is left over from the rest."""
    probe = simulated()
    total = steps_of(probe, prepared(probe))
    assert total > 5
    for turns in range(total + 1):
        broker = simulated()
        log = prepared(broker)
        last = {key: value for _, key, value in values(log)}
        task = broker.loop.spawn(broker.cleaner.clean_filthiest())
        for _ in range(turns):
            if not task.is_done:
                broker.loop.turn()
        was_done = task.is_done
        change(broker, log, event)
        cleaned = broker.loop.run_until(task)
        assert cleaned is True or not was_done
        left = {key: value for _, key, value in values(log)}
        assert left.items() <= last.items() or event == "truncate"
        if event == "pause":
            assert left == last
        elif event == "truncate":
            assert max(offset for offset, _, _ in values(log)) < 5
        broker.loop.run_until(broker.loop.sleep(CONFIG.file_delete_delay_ms + 1000))
        found = broker.ports.disk.list(log.directory)
        assert not [name for name in found if names.CLEANED in name or names.SWAP in name], (event, turns, found)
        assert not broker.failures and not broker.cleaner.uncleanable
        broker.close()


def change(broker, log, event):
    if event == "pause":
        broker.cleaner.pause(log)
    elif event == "truncate":
        log.truncate_to(5, broker.now_ms)
        broker.cleaner.truncated(log, 5)
    elif event == "retention":
        log.increment_log_start_offset(4)
        deletion = log.delete_old_segments(broker.now_ms)
        if deletion is not None:
            broker.jobs.submit(log.directory, deletion.rename_job(broker.ports.disk))
            broker.jobs.submit(log.directory, deletion.unlink_job(broker.ports.disk))


def test_a_truncation_lowers_the_checkpoint(broker):
    log = broker.log("t")
    for value in "1234":
        broker.append(log, ("a", value))
    broker.clean()
    assert broker.cleaner.checkpoints.get(broker.log_dir, ("t", 0)) == 4
    broker.cleaner.truncated(log, 2)
    assert broker.cleaner.checkpoints.get(broker.log_dir, ("t", 0)) == 2


def test_a_failing_disk_is_reported_with_its_dir(sim_broker):
    log = sim_broker.log("t")
    sim_broker.append(log, ("a", "1"))
    sim_broker.append(log, ("a", "2"))
    sim_broker.ports.disk.fail("fsync", path=names.CLEANED)
    assert sim_broker.clean() is False
    assert [type(failure) for failure in sim_broker.failures] == [LogDirFailure]


def test_a_full_disk_is_tried_again(sim_broker):
    log = sim_broker.log("t")
    for number in range(4):
        sim_broker.append(log, (f"k{number}", "x" * 2000), ("a", "1"))
    sim_broker.ports.disk.set_quota(9000)
    assert sim_broker.clean() is False
    assert not sim_broker.failures and not sim_broker.cleaner.uncleanable
    sim_broker.ports.disk.set_quota(None)
    assert sim_broker.clean() is True


def test_the_rate_is_kept():
    rate = 20_000
    broker = simulated(config=CLEANER_CONFIG.replace(io_max_bytes_per_second=float(rate)))
    log = broker.log("t")
    for number in range(20):
        broker.append(log, (f"k{number}", "x" * 5000))
    began_ms = broker.ports.clock.mono_ms()
    broker.clean()
    moved = broker.cleaner.stats.bytes_read * 2 + broker.cleaner.stats.bytes_written
    took_ms = broker.ports.clock.mono_ms() - began_ms
    assert took_ms >= 0.8 * moved / rate * 1000
    broker.close()


def test_workers_clean_until_nothing_is_due_and_look_again_later(sim_broker):
    log = sim_broker.log("t")
    sim_broker.append(log, ("a", "1"))
    sim_broker.append(log, ("a", "2"))
    sim_broker.cleaner.start()
    sim_broker.loop.run_until(sim_broker.loop.sleep(1000))
    assert sim_broker.cleaner.rounds == 1
    sim_broker.append(log, ("b", "1" * 500))
    sim_broker.loop.run_until(sim_broker.loop.sleep(CLEANER_CONFIG.backoff_ms))
    assert sim_broker.cleaner.rounds == 2
    sim_broker.loop.run_until(sim_broker.loop.spawn(sim_broker.cleaner.stop()))
    sim_broker.append(log, ("c", "1" * 5000))
    sim_broker.loop.run_until(sim_broker.loop.sleep(2 * CLEANER_CONFIG.backoff_ms))
    assert sim_broker.cleaner.rounds == 2


def test_it_stops_in_the_middle_of_a_round_and_begins_again():
    for turns in range(1, 12):
        broker = simulated()
        log = prepared(broker)
        last = {key: value for _, key, value in values(log)}
        broker.cleaner.start()
        for _ in range(turns):
            broker.loop.turn()
        broker.loop.run_until(broker.loop.spawn(broker.cleaner.stop()))
        assert not broker.cleaner.is_cleaning(log)
        assert {key: value for _, key, value in values(log)} == last
        assert not [
            name for name in broker.ports.disk.list(log.directory) if names.SWAP in name or names.CLEANED in name
        ]
        broker.cleaner.start()
        broker.loop.run_until(broker.loop.sleep(1000))
        assert broker.cleaner.rounds == 1
        broker.close()


def test_the_number_of_workers_may_change(sim_broker):
    cleaner = sim_broker.cleaner
    cleaner.update_config(CLEANER_CONFIG.replace(threads=3))
    assert not cleaner._workers  # not before it is started
    cleaner.start()
    cleaner.update_config(CLEANER_CONFIG.replace(threads=1, backoff_ms=10))
    sim_broker.loop.run_until(sim_broker.loop.sleep(2 * CLEANER_CONFIG.backoff_ms))
    assert [worker.is_done for worker in cleaner._workers.values()] == [False, True, True]
    cleaner.update_config(CLEANER_CONFIG.replace(threads=2))
    assert [worker.is_done for worker in cleaner._workers.values()] == [False, False, True]


def test_a_cleaner_that_is_switched_off_has_no_workers(sim_broker):
    sim_broker.cleaner.update_config(CLEANER_CONFIG.replace(is_enabled=False))
    sim_broker.cleaner.start()
    assert not sim_broker.cleaner._workers
