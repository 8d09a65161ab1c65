"""What happens by itself as time goes on."""

from errno import EIO, ENOSPC

import pytest

from manager_kit import SimBroker, copy, values
from odradek.log import names
from odradek.log.manager.schedules import RECOVERED_FLUSH_DELAY_MS
from odradek.sim.crash import KEEP_ALL, LOSE_ALL

MINUTE = 60_000


def broker_with(topic=None, **configs):
    configs.setdefault("log_initial_task_delay_ms", 1000)
    broker = SimBroker(topic_overrides={"topic": topic or {}}, **configs)
    broker.start()
    return broker


def checkpoint(broker, name, log_dir="data/a"):
    path = f"{log_dir}/{name}"
    return broker.disk.read(path).decode() if broker.disk.exists(path) else None


@pytest.mark.contract("G4", "G31")
def test_a_log_is_flushed_when_its_records_have_waited_long_enough():
    broker = broker_with({"flush.ms": "5000"}, log_flush_scheduler_interval_ms=1000)
    log, other = broker.create(), broker.create("other")
    broker.manager.update_topic_config("other", {"flush.ms": "100000000"})
    broker.append(log, "a")
    broker.append(other, "a")
    broker.sleep(4000)
    assert log.recovery_point == 0
    broker.sleep(3000)
    assert (log.recovery_point, other.recovery_point) == (1, 0)


def test_by_default_nothing_is_flushed_by_time():
    broker = broker_with()
    log = broker.create()
    broker.append(log, "a")
    broker.sleep(60 * MINUTE)
    assert log.recovery_point == 0


def test_flush_messages():
    broker = broker_with({"flush.messages": "3"})
    log = broker.create()
    broker.append(log, "a", "b")
    assert not log.is_flush_due
    broker.append(log, "c")
    assert log.is_flush_due
    broker.flush(log)
    assert log.recovery_point == 3 and not log.is_flush_due


def test_a_roll_is_followed_by_a_flush():
    broker = broker_with()
    log = broker.create()
    broker.append(log, "a")
    broker.on_reactor(lambda: log.roll(broker.manager.now_ms))
    assert log.unflushed
    broker.sleep(100)
    assert log.recovery_point == 1 and not log.unflushed


def crashed_in_segments(*segments):
    """A broker that was killed before any of these segments of its log was flushed, and started again."""
    broker = broker_with()
    log = broker.create()
    for number, segment in enumerate(segments):
        if number:
            broker.on_reactor(lambda: log.roll(broker.manager.now_ms))
        broker.append(log, *segment)
    broker.crash(KEEP_ALL)
    broker.start()
    return broker


def segments_to_recover(broker):
    """Of a start, as it counts them before it recovers."""
    told = []
    broker.start(on_progress=lambda progress: told.append(progress.remaining_segments))
    return max(told)


def test_what_was_recovered_in_several_segments_is_durable_soon_after_the_start():
    broker = crashed_in_segments("ab", "cd", "e")
    log = broker.manager.get("topic", 0)
    assert (log.recovery_point, log.log_end_offset) == (0, 5)
    broker.sleep(RECOVERED_FLUSH_DELAY_MS - 100)
    assert log.recovery_point == 0  # the broker may not be ready yet
    broker.sleep(200)
    assert log.recovery_point == 5 and not log.unflushed
    assert checkpoint(broker, names.RECOVERY_POINTS) == "0\n1\ntopic 0 5\n"
    broker.crash(LOSE_ALL)
    assert segments_to_recover(broker) == 1
    assert values(broker.manager.get("topic", 0)) == list("abcde")


def test_a_kill_before_that_leaves_everything_to_be_recovered_again():
    broker = crashed_in_segments("ab", "cd", "e")
    broker.crash(KEEP_ALL)
    assert segments_to_recover(broker) == 3
    assert values(broker.manager.get("topic", 0)) == list("abcde")


def test_a_log_of_one_segment_is_not_flushed_after_its_recovery():
    """The next recovery reads that segment whatever the recovery point is."""
    broker = crashed_in_segments("abc")
    broker.sleep(10 * RECOVERED_FLUSH_DELAY_MS)
    log = broker.manager.get("topic", 0)
    assert (log.recovery_point, log.log_end_offset) == (0, 3)


def test_a_dir_that_fails_in_the_flush_after_a_recovery_goes_offline():
    broker = crashed_in_segments("ab", "cd")
    broker.disk.fail("fsync", EIO, path="data/a/topic-0")
    broker.sleep(2 * RECOVERED_FLUSH_DELAY_MS)
    assert broker.failed == [("data/a", False)]


@pytest.mark.contract("G4", "G29", "G30", "K3")
def test_checkpoints_are_written_by_their_own_intervals():
    broker = broker_with(
        log_flush_offset_checkpoint_interval_ms=60_000,
        log_flush_start_offset_checkpoint_interval_ms=30_000,
        replica_high_watermark_checkpoint_interval_ms=5_000,
    )
    log = broker.create()
    broker.sleep(2000)
    broker.append(log, *"abcdef")
    broker.flush(log)
    broker.on_reactor(lambda: log.increment_log_start_offset(2))
    broker.sleep(6_000)
    assert checkpoint(broker, "replication-offset-checkpoint") == "0\n1\ntopic 0 6\n"
    assert checkpoint(broker, "log-start-offset-checkpoint") in (None, "0\n0\n")
    broker.sleep(26_000)
    assert checkpoint(broker, "log-start-offset-checkpoint") == "0\n1\ntopic 0 2\n"
    assert checkpoint(broker, "recovery-point-offset-checkpoint") == "0\n1\ntopic 0 0\n"
    broker.sleep(40_000)
    assert checkpoint(broker, "recovery-point-offset-checkpoint") == "0\n1\ntopic 0 6\n"
    assert checkpoint(broker, "recovery-point-offset-checkpoint", "data/b") == "0\n0\n"


def test_a_checkpoint_that_would_say_the_same_is_not_written():
    broker = broker_with()
    broker.create()
    broker.sleep(2 * MINUTE)
    before = broker.disk.operations
    broker.sleep(10 * MINUTE)
    assert broker.disk.operations == before


def test_a_full_disk_delays_a_checkpoint_and_fails_nothing():
    broker = broker_with()
    log = broker.create()
    broker.append(log, "a")
    broker.flush(log)
    broker.disk.fail("write", ENOSPC, times=None, path="checkpoint")
    broker.sleep(2 * MINUTE)
    assert broker.failed == []
    broker.disk.heal()
    broker.sleep(2 * MINUTE)
    assert checkpoint(broker, "recovery-point-offset-checkpoint") == "0\n1\ntopic 0 1\n"


def filled(broker, segments=5):
    log = broker.create()
    for number in range(segments):
        broker.append(log, f"{number}", timestamp=broker.manager.now_ms)
        broker.on_reactor(lambda: log.roll(broker.manager.now_ms))
        broker.sleep(1000)
    return log


def deleted_files(broker, log):
    return [name for name in broker.names(log.directory) if name.endswith(".deleted")]


@pytest.mark.contract("G3", "G4", "G47")
@pytest.mark.parametrize(
    ("retention", "left"),
    [
        ({"retention.ms": "-1"}, ["0", "1", "2", "3", "4"]),
        ({"retention.ms": "60000"}, []),
        ({"retention.ms": "-1", "retention.bytes": "140"}, ["3", "4"]),
        ({"retention.ms": "60000", "retention.bytes": "1000000"}, []),
        ({"retention.ms": "60000", "cleanup.policy": "compact"}, ["0", "1", "2", "3", "4"]),
        ({"retention.ms": "60000", "cleanup.policy": "compact,delete"}, []),
    ],
)
def test_retention(retention, left):
    broker = broker_with(retention, log_retention_check_interval_ms=10_000, log_cleaner_enable="false")
    log = filled(broker)
    broker.sleep(2 * MINUTE)
    assert values(log) == left
    assert log.log_start_offset == 5 - len(left)
    broker.restart()
    log = broker.manager.get("topic", 0)
    assert values(log) == left and deleted_files(broker, log) == []


def test_files_of_old_segments_go_after_the_delay():
    broker = broker_with(
        {"retention.bytes": "100", "file.delete.delay.ms": "30000"}, log_retention_check_interval_ms=10_000
    )
    log = filled(broker)
    broker.sleep(8_000)
    assert values(log) == ["3", "4"]
    assert len(deleted_files(broker, log)) >= 9
    broker.sleep(40_000)
    assert deleted_files(broker, log) == []


def test_deleted_records_take_their_segments_with_them():
    broker = broker_with({"retention.ms": "-1"}, log_retention_check_interval_ms=10_000)
    log = filled(broker)
    broker.on_reactor(lambda: log.increment_log_start_offset(3))
    broker.sleep(12_000)
    assert log.segments.first.base_offset == 3


def test_a_copy_is_subject_to_retention_too():
    broker = broker_with({"retention.bytes": "140"}, log_retention_check_interval_ms=10_000)
    log = broker.create()
    future = broker.run(broker.manager.create_future("topic", 0, "data/b"))
    for number in range(5):
        broker.append(log, f"{number}")
        broker.on_reactor(lambda: copy(log, future, broker.manager.now_ms))
        broker.on_reactor(lambda: future.roll(broker.manager.now_ms))
        broker.on_reactor(lambda: future.update_high_watermark(future.log_end_offset))
    broker.sleep(15_000)
    assert values(future) == ["3", "4"] and values(log) == ["0", "1", "2", "3", "4"]


def test_forgotten_producers_go():
    broker = broker_with(producer_id_expiration_ms=60_000, producer_id_expiration_check_interval_ms=10_000)
    log = broker.create()
    broker.append(log, "a", producer=7)
    broker.sleep(30_000)
    assert len(log.producers) == 1
    broker.sleep(60_000)
    assert len(log.producers) == 0


@pytest.mark.contract("G1", "G5")
def test_a_compacted_log_is_cleaned():
    broker = broker_with({"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0"}, log_cleaner_backoff_ms=1000)
    log = filled(broker)  # one key
    broker.sleep(5000)
    assert values(log) == ["4"]
    broker.stop()
    assert checkpoint(broker, "cleaner-offset-checkpoint") == "0\n1\ntopic 0 5\n"
    broker.start()
    assert broker.manager.cleaner.checkpoints.get("data/a", ("topic", 0)) == 5


def test_schedules_end_with_the_stop():
    broker = broker_with({"flush.ms": "1000"}, log_flush_scheduler_interval_ms=1000)
    broker.append(broker.create(), "a")
    broker.stop()
    before = broker.disk.operations
    broker.sleep(60 * MINUTE)
    assert broker.disk.operations == before
