"""A damaged log is set aside by itself: its files stay, its checkpoints say what they said, the others go on."""

from errno import EIO

import pytest

from manager_kit import SimBroker, values
from odradek.log import names
from odradek.log.checkpoint import read_offsets
from odradek.log.failure import LogDamaged, LogDirFailure, NotInCache
from odradek.protocol import errors

FIRST = "data/a/bad-0/00000000000000000000.log"
BATCH_BYTES = 171


@pytest.fixture
def broker():
    return SimBroker(dirs=["data/a"], topic_overrides={"bad": {"retention.ms": -1}}, log_cleaner_enable="false")


def fill(broker, count=6):
    """Two logs in one dir, of which one is about to be damaged."""
    broker.start()
    for topic in ("bad", "good"):
        log = broker.create(topic)
        for number in range(count):
            broker.append(log, f"{number}" * 100)
    return broker.manager.get("bad", 0)


def flush(broker):
    for log in broker.manager.all_logs():
        broker.flush(log)
    broker.run(broker.manager.schedules.checkpoint_recovery_points())


def checkpoints(broker):
    return {
        name: read_offsets(broker.disk, f"data/a/{name}").get(("bad", 0))
        for name in (names.RECOVERY_POINTS, names.REPLICATION_OFFSETS, names.CLEANER_OFFSETS)
    }


def crash_with_damage_below_the_recovery_point(broker):
    fill(broker)
    flush(broker)
    broker.append(broker.manager.get("bad", 0), "not flushed")
    broker.crash()
    broker.disk.flip_bit(FIRST, 2 * BATCH_BYTES + 100)


def test_damage_below_the_recovery_point_keeps_nobody_else_from_starting(broker):
    crash_with_damage_below_the_recovery_point(broker)
    manager = broker.start()
    assert broker.failed == [] and broker.set_aside == [("bad", 0)]
    damage = manager.dirs.find_set_aside(("bad", 0)).damage
    assert (damage.path, damage.position) == (FIRST, 2 * BATCH_BYTES)
    assert len(values(manager.get("good", 0))) == 6
    with pytest.raises(errors.KafkaStorageError, match="set aside"):
        broker.create("bad")


def test_its_checkpoints_say_what_they_said(broker):
    """Else the next recovery would begin at 0, and cut at the damage what was acknowledged."""
    crash_with_damage_below_the_recovery_point(broker)
    before, data = checkpoints(broker), broker.disk.read(FIRST)
    broker.start()
    broker.append(broker.manager.get("good", 0), "more")
    flush(broker)
    broker.stop()
    assert checkpoints(broker) == before and before[names.RECOVERY_POINTS] == 6
    assert broker.disk.read(FIRST) == data


def test_a_recovery_that_did_not_end_is_done_again(broker):
    """The marker of a clean stop would vouch for a tail that nobody has looked at since the crash."""
    crash_with_damage_below_the_recovery_point(broker)
    broker.start()
    broker.stop()
    assert names.CLEAN_SHUTDOWN not in broker.names("data/a")
    broker.disk.flip_bit(FIRST, 2 * BATCH_BYTES + 100)  # as a repair would
    log = broker.start().get("bad", 0)
    assert values(log)[:6] == [f"{number}" * 100 for number in range(6)]


def test_damage_that_a_read_finds_keeps_nobody_from_a_clean_stop(broker):
    fill(broker)
    broker.stop()
    broker.disk.flip_bit(FIRST, 2 * BATCH_BYTES + 100)
    for _ in range(2):  # it is found again by the next process
        log = broker.start().get("bad", 0)
        with pytest.raises(LogDamaged) as failure:
            broker.on_reactor(lambda log=log: values(log))
        broker.manager.handle_failure(failure.value)
        assert log.is_closed and broker.manager.get("bad", 0) is None
        assert len(values(broker.manager.get("good", 0))) == 6
        broker.stop()
        assert names.CLEAN_SHUTDOWN in broker.names("data/a")
    assert broker.set_aside == [("bad", 0)] * 2 and broker.failed == []


def test_what_was_not_on_disk_when_it_was_set_aside_is_recovered(broker):
    log = fill(broker)
    flush(broker)
    broker.append(log, "not flushed")
    broker.manager.handle_failure(LogDamaged("bad luck", FIRST, 0))
    broker.stop()
    assert names.CLEAN_SHUTDOWN not in broker.names("data/a") and checkpoints(broker)[names.RECOVERY_POINTS] == 6
    assert values(broker.start().get("bad", 0))[-1] == "not flushed"


def test_so_are_producers_of_which_no_snapshot_tells(broker):
    broker.start()
    log = broker.create("bad")
    broker.append(log, "once", producer=7)
    flush(broker)
    broker.manager.handle_failure(LogDamaged("bad luck", FIRST, 0))
    log = broker.restart().get("bad", 0)
    assert [entry.producer_id for entry in log.producers.entries] == [7]


def test_it_is_told_once(broker):
    fill(broker)
    for _ in range(2):
        broker.manager.handle_failure(LogDamaged("bad luck", FIRST, 0))
    assert broker.set_aside == [("bad", 0)]


@pytest.mark.parametrize("name", [names.LEADER_EPOCHS, names.PARTITION_METADATA])
@pytest.mark.parametrize("is_clean", [True, False])
def test_a_small_file_that_does_not_parse_is_damage_of_its_log(broker, name, is_clean):
    fill(broker)
    broker.stop() if is_clean else broker.crash()
    broker.disk.write_atomically(f"data/a/bad-0/{name}", b"\0\0\0")
    broker.start()
    assert broker.set_aside == [("bad", 0)] and broker.failed == [] and broker.manager.get("good", 0) is not None


def test_a_disk_that_fails_takes_the_dir_all_the_same(broker):
    fill(broker)
    broker.stop()
    broker.disk.fail("read", EIO, path=FIRST, times=None)
    with pytest.raises(errors.KafkaStorageError):
        broker.start()
    assert broker.failed == [("data/a", True)] and broker.set_aside == []


def test_it_goes_down_with_its_dir(broker):
    fill(broker)
    broker.manager.handle_failure(LogDamaged("bad luck", FIRST, 0))
    broker.manager.handle_failure(LogDirFailure("it smells of smoke", "data/a"))
    assert broker.manager.dirs.by_path["data/a"].offline == {("bad", 0), ("good", 0)}


@pytest.mark.parametrize("delete", ["delete", "delete_all"])
def test_a_deleted_one_goes_and_can_be_made_again(broker, delete):
    fill(broker)
    broker.manager.cleaner.checkpoints.set("data/a", ("bad", 0), 3)
    broker.manager.handle_failure(LogDamaged("bad luck", FIRST, 0))
    assert broker.manager.cleaner.checkpoints.get("data/a", ("bad", 0)) == 3, "it explains the gaps"
    broker.run(broker.manager.delete("bad", 0) if delete == "delete" else broker.manager.delete_all([("bad", 0)]))
    assert "bad-0" not in broker.names("data/a")
    log = broker.create("bad", is_new=True)
    assert log.log_end_offset == 0 and checkpoints(broker) == dict.fromkeys(checkpoints(broker))
    broker.append(log, "anew")
    assert values(broker.restart().get("bad", 0)) == ["anew"]


def test_one_that_the_metadata_does_not_know_is_a_stray(broker):
    crash_with_damage_below_the_recovery_point(broker)
    broker.start(is_stray=lambda topic, partition, topic_id: topic == "bad")
    assert broker.set_aside == [] and not broker.manager.dirs.by_path["data/a"].set_aside_logs
    assert any(name.startswith("bad-0.") and name.endswith(names.STRAY_DIR) for name in broker.names("data/a"))


# Copies that are on their way to another dir.


@pytest.fixture
def moving():
    """A partition with a whole copy in the other dir, which is not swapped in yet."""
    broker = SimBroker(log_cleaner_enable="false")
    broker.start()
    log = broker.create(target_dir="data/a")
    broker.append(log, "value")
    copy = broker.run(broker.manager.create_future("topic", 0, "data/b"))
    broker.append(copy, "value")
    return broker


def test_a_damaged_copy_is_dropped_and_the_log_goes_on(moving):
    copy = moving.manager.get_future("topic", 0)
    moving.manager.handle_failure(LogDamaged("bad luck", f"{copy.directory}/00000000000000000000.log", 0))
    moving.sleep(100)
    assert copy.is_closed and moving.manager.get_future("topic", 0) is None and moving.set_aside == []
    assert values(moving.manager.get("topic", 0)) == ["value"]
    moving.sleep(120_000)
    assert not [name for name in moving.names("data/b") if name.startswith("topic")]


def test_so_is_one_that_the_start_finds(moving):
    copy = moving.manager.get_future("topic", 0).directory
    moving.stop()
    moving.disk.write_atomically(f"{copy}/{names.LEADER_EPOCHS}", b"\0")
    manager = moving.start()
    moving.sleep(120_000)
    assert manager.get_future("topic", 0) is None and manager.get("topic", 0) is not None
    assert not [name for name in moving.names("data/b") if name.startswith("topic")]


def test_where_a_crash_has_left_two_logs_and_one_is_damaged_both_wait(moving):
    """Nobody can tell which of them is longer."""
    copy = moving.manager.get_future("topic", 0).directory
    moving.stop()
    moving.disk.rename(copy, "data/b/topic-0")
    moving.disk.write_atomically(f"data/a/topic-0/{names.LEADER_EPOCHS}", b"\0")
    manager = moving.start()
    assert manager.get("topic", 0) is None and moving.set_aside == [("topic", 0)]
    assert all("topic-0" in moving.names(path) for path in ("data/a", "data/b"))
    moving.disk.unlink(f"data/a/topic-0/{names.LEADER_EPOCHS}")
    assert values(moving.restart().get("topic", 0)) == ["value"]


def test_a_reader_that_is_under_way_is_told_the_damage_that_another_has_found(broker):
    log = fill(broker)
    damage = LogDamaged("bad luck", FIRST, 0)

    def read_and_be_too_late():
        file = log.active.open_file()
        under_way = broker.manager.read_ahead(log, NotInCache(file, 0, 100))
        file.release()
        under_way.is_observed = True
        broker.manager.handle_failure(damage)
        return under_way

    reading = broker.on_reactor(read_and_be_too_late)
    assert broker.world.run_until(lambda: reading.is_done)
    assert reading.error is damage
