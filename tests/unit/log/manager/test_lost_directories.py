"""A partition whose directory is gone is set aside if the metadata still knows it, and its topic was not deleted."""

import pytest

from log_kit import run
from manager_kit import SimBroker, values
from odradek.inspection.diagnosis import diagnose
from odradek.inspection.log_dir_state import LogDirState, partitions_in
from odradek.inspection.repair import mend
from odradek.log import names
from odradek.log.checkpoint import read_offsets
from odradek.log.manager.lost_directories import without_directory
from odradek.protocol import errors

DIRECTORY = "data/a/bad-0"
NEW_ID = bytes(range(16, 32))


@pytest.fixture
def broker():
    return SimBroker(dirs=["data/a"], log_cleaner_enable="false")


def fill(broker, *, is_clean):
    broker.start()
    log = broker.create("bad")
    broker.create("good")
    broker.append(log, "one", "two", "three")
    broker.flush(log)
    broker.run(broker.manager.schedules.checkpoint_recovery_points())
    broker.stop() if is_clean else broker.crash()


def remove_directory(broker):
    for name in broker.disk.list(DIRECTORY):
        broker.disk.unlink(f"{DIRECTORY}/{name}")
    broker.disk.rmdir(DIRECTORY)
    broker.disk.fsync_dir("data/a")


@pytest.mark.parametrize("is_clean", [True, False])
def test_it_is_not_made_again_empty(broker, is_clean):
    fill(broker, is_clean=is_clean)
    remove_directory(broker)
    for _ in range(2):  # found again by the next start
        aside = broker.start().dirs.find_set_aside(("bad", 0))
        assert aside.damage.reason == "the directory is gone: the log ends at offset 0, it was on disk up to 3"
        assert aside.damage.path == DIRECTORY and broker.manager.get("good", 0) is not None
        with pytest.raises(errors.KafkaStorageError, match="set aside"):
            broker.create("bad")
        broker.stop()


def test_nobody_misses_what_the_metadata_does_not_know(broker):
    fill(broker, is_clean=True)
    remove_directory(broker)
    broker.start(is_stray=lambda topic, partition, topic_id: topic == "bad")
    assert broker.set_aside == []


def test_its_topic_can_be_deleted_and_made_again(broker):
    fill(broker, is_clean=True)
    remove_directory(broker)
    broker.start()
    broker.run(broker.manager.delete_all([("bad", 0)]))
    broker.append(broker.create("bad", topic_id=NEW_ID), "new")
    assert values(broker.restart().get("bad", 0)) == ["new"]


@pytest.mark.parametrize("waited_ms", [0, 50, 500, 70_000])
def test_a_crash_after_a_deletion_is_no_loss(broker, waited_ms):
    """The same topic may be in the metadata again, and its directory not there yet."""
    broker.topic_overrides = {"bad": {"file.delete.delay.ms": 50}}
    fill(broker, is_clean=True)
    broker.start()
    broker.run(broker.manager.delete_all([("bad", 0)]))
    broker.sleep(waited_ms)
    broker.crash()
    log = broker.start().get("bad", 0)
    assert log is None and broker.set_aside == []
    broker.append(broker.create("bad", topic_id=NEW_ID), "new")
    assert values(broker.restart().get("bad", 0)) == ["new"]


def test_repair_lets_it_be_made_again(broker):
    fill(broker, is_clean=True)
    remove_directory(broker)
    state = LogDirState(broker.disk, "data/a")
    assert [name for name, _ in partitions_in(broker.disk, state)] == ["good-0", "bad-0"]
    found = run(diagnose(broker.disk, state, "bad-0", ("bad", 0)))
    assert "the directory is gone" in str(found.damages[0]) and sum(lost.end - lost.first for lost in found.lost) == 3
    run(mend(broker.disk, state, found))
    assert ("bad", 0) not in read_offsets(broker.disk, f"data/a/{names.RECOVERY_POINTS}")
    broker.start()
    assert broker.set_aside == [] and broker.create("bad").log_end_offset == 0


def test_a_long_name_is_known_by_its_beginning():
    topic = "t" * 249
    name = names.unique_dir_name(topic, 0, "0" * 32, names.DELETE_DIR)
    assert without_directory({(topic, 0): 5}, {}, [name]) == []
    assert without_directory({(topic, 1): 5}, {}, [name]) == [(topic, 1)]


def test_a_name_that_was_not_cut_hides_no_topic_that_begins_like_it():
    gone = names.unique_dir_name("bad", 0, "0" * 32, names.DELETE_DIR)
    assert len(gone) < names.DIR_NAME_MAX
    assert without_directory({("bad", 0): 5, ("badly", 0): 5}, {}, [gone]) == [("badly", 0)]
