"""One dir fails, the others go on."""

from errno import EIO, ENOSPC

import pytest

from manager_kit import SimBroker, values
from odradek.log import names
from odradek.log.failure import LogDirFailure
from odradek.protocol import errors


@pytest.fixture
def broker():
    made = SimBroker(log_initial_task_delay_ms=1000)
    made.start()
    for number in range(4):
        made.append(made.create(partition=number), f"v{number}")
    return made


def test_a_failed_fsync_takes_the_dir_offline(broker):
    log = broker.manager.get("topic", 0)
    broker.disk.fail("fsync", EIO, path="data/a")
    with pytest.raises(LogDirFailure, match="fsync failed"):
        broker.flush(log)
    assert broker.failed == [("data/a", False)]
    assert log.is_closed and log.recovery_point == 0
    assert sorted(broker.manager.current) == [("topic", 1), ("topic", 3)]
    assert broker.manager.dirs.by_path["data/a"].offline == {("topic", 0), ("topic", 2)}
    with pytest.raises(errors.KafkaError):
        broker.append(log, "x")


def test_the_others_go_on(broker):
    broker.disk.fail("fsync", EIO, path="data/a", times=None)
    with pytest.raises(LogDirFailure):
        broker.flush(broker.manager.get("topic", 0))
    log = broker.manager.get("topic", 1)
    broker.append(log, "more")
    broker.flush(log)
    broker.run(broker.manager.schedules.checkpoint_recovery_points())
    assert broker.disk.read("data/b/recovery-point-offset-checkpoint") == b"0\n2\ntopic 1 2\ntopic 3 0\n"
    before = list(broker.files("data/a"))
    broker.stop()
    assert broker.files("data/a") == before, "nothing is written to a dir that has failed"
    assert names.CLEAN_SHUTDOWN in broker.names("data/b")
    broker.disk.heal()
    manager = broker.start()
    assert values(manager.get("topic", 1)) == ["v1", "more"] and values(manager.get("topic", 0)) == ["v0"]


def test_the_last_dir_is_told_as_such(broker):
    for path in ("data/a/topic-0/00000000000000000000.log", "data/a", "data/b"):  # twice is once
        broker.manager.handle_failure(LogDirFailure("it smells of smoke", path))
    assert broker.failed == [("data/a", False), ("data/b", True)]
    assert not broker.manager.current
    with pytest.raises(errors.KafkaStorageError):
        broker.create("new", is_new=True)
    broker.stop()


def test_what_may_lie_in_an_offline_dir_is_not_made_again(broker):
    broker.manager.handle_failure(LogDirFailure("gone", "data/a"))
    with pytest.raises(errors.KafkaStorageError, match=r"offline \(data/a\)"):
        broker.create(partition=0)
    assert broker.create("new", is_new=True).directory == "data/b/new-0"
    with pytest.raises(errors.KafkaStorageError, match="data/a is offline"):
        broker.create("new", 1, target_dir="data/a", is_new=True)


def test_an_error_in_a_checkpoint_takes_the_dir_offline(broker):
    broker.disk.fail("fsync", EIO, path="data/b/recovery-point")
    broker.sleep(62_000)
    assert broker.failed == [("data/b", False)]


def test_an_error_while_creating_takes_the_dir_offline(broker):
    broker.disk.fail("mkdir", EIO, path="data/a/new")
    with pytest.raises(errors.KafkaStorageError):
        broker.create("new", target_dir="data/a")
    assert broker.failed == [("data/a", False)]


def test_a_full_disk_refuses_a_new_partition_and_fails_nothing(broker):
    broker.disk.fail("write", ENOSPC, path="data/a/new")
    with pytest.raises(errors.KafkaStorageError):
        broker.create("new", target_dir="data/a")
    assert broker.failed == []
    assert broker.create("new", target_dir="data/a").directory == "data/a/new-0"


def test_an_error_while_deleting_takes_the_dir_offline(broker):
    broker.disk.fail("rename", EIO, path="data/a/topic-0")
    with pytest.raises(LogDirFailure):
        broker.run(broker.manager.delete("topic", 0))
    assert broker.failed == [("data/a", False)]


def test_a_removal_that_fails_later_is_noticed(broker):
    broker.run(broker.manager.delete("topic", 0))
    broker.disk.fail("unlink", EIO, path="-delete")
    broker.sleep(70_000)
    assert broker.failed == [("data/a", False)]


def test_an_error_of_retention_takes_the_dir_offline(broker):
    log = broker.manager.get("topic", 0)
    broker.on_reactor(lambda: log.roll(broker.manager.now_ms))
    broker.sleep(100)
    broker.on_reactor(lambda: log.increment_log_start_offset(log.high_watermark))
    broker.disk.fail("rename", EIO, path="data/a/topic-0")
    broker.run(broker.manager.schedules.delete_old_segments())
    broker.sleep(100)
    assert broker.failed == [("data/a", False)]


def test_a_flush_of_a_log_that_is_deleted_meanwhile_ends_quietly(broker):
    log = broker.manager.get("topic", 0)
    flushing = broker.on_reactor(lambda: broker.manager.flush(log))
    broker.run(broker.manager.delete("topic", 0))
    assert broker.world.run_until(lambda: flushing.is_done)
    assert flushing.error is None and broker.failed == []


def test_an_error_at_the_stop_leaves_no_marker_in_that_dir(broker):
    broker.disk.fail("fsync", EIO, path="data/a/topic-2")
    broker.stop()
    assert broker.failed == [("data/a", False)]
    assert names.CLEAN_SHUTDOWN not in broker.names("data/a")
    assert names.CLEAN_SHUTDOWN in broker.names("data/b")


def test_a_full_disk_at_the_stop_leaves_no_marker(broker):
    broker.disk.fail("write", ENOSPC, path="data/a/topic-2", times=None)
    broker.stop()
    assert names.CLEAN_SHUTDOWN not in broker.names("data/a")
    assert names.CLEAN_SHUTDOWN in broker.names("data/b")
    broker.disk.heal()
    manager = broker.start()
    assert [values(manager.get("topic", number)) for number in range(4)] == [["v0"], ["v1"], ["v2"], ["v3"]]


def test_a_stop_is_done_once(broker):
    first = broker.spawn(broker.manager.stop(7))
    second = broker.spawn(broker.manager.stop(8))
    broker.world.run_until(lambda: first.is_done and second.is_done)
    operations = broker.disk.operations
    broker.stop(9)
    assert broker.disk.operations == operations
    assert b'"brokerEpoch":7' in broker.disk.read("data/a/.kafka_cleanshutdown")
    broker.disk.lock("data/a/.lock").release()


def test_a_stop_before_the_start_has_ended_leaves_no_marker():
    broker = SimBroker()
    broker.start()
    broker.append(broker.create(), "a")
    broker.stop()
    broker.boot()
    starting = broker.spawn(broker.manager.start())
    broker.world.run_until(lambda: broker.manager.dirs.by_path["data/a"].lock is not None)
    broker.stop()
    assert starting.is_done
    manager = broker.start()
    assert values(manager.get("topic", 0)) == ["a"]


def test_a_stop_without_space_for_the_leader_epochs_is_no_failure_of_the_dir():
    broker = SimBroker(dirs=["data/a"])
    told = []
    broker.start()
    broker.manager.dirs.listen_when_full(lambda log_dir: told.append(log_dir.path))
    broker.append(broker.create(), "one")
    broker.disk.fail("write", ENOSPC, path=names.LEADER_EPOCHS, times=None)
    broker.stop()
    assert broker.failed == [] and told == ["data/a"]
    assert names.CLEAN_SHUTDOWN not in broker.names("data/a"), "the next start recovers"
    broker.disk.heal()
    assert values(broker.start().get("topic", 0)) == ["one"]
