"""Many partitions at once: what is deleted together, made again together, and configured one topic at a time."""

from errno import EIO

import pytest

from manager_kit import OTHER_ID, TOPIC_ID, SimBroker
from odradek.log import names
from odradek.protocol import errors

COUNT = 50
ALL = [("topic", number) for number in range(COUNT)]


@pytest.fixture
def broker():
    made = SimBroker()
    made.start()
    return made


def create_all(broker, topic_id=TOPIC_ID):
    tasks = [broker.spawn(broker.manager.get_or_create(*each, topic_id)) for each in ALL]
    assert broker.world.run_until(lambda: all(task.is_done for task in tasks))
    return [task.value() for task in tasks]


def test_they_are_renamed_together_and_their_files_go_after_the_delay(broker):
    logs = create_all(broker)
    broker.run(broker.manager.delete_all(ALL))
    assert broker.manager.current == {}
    assert all(log.is_closed for log in logs)
    left = [name for path in ("data/a", "data/b") for name in broker.names(path) if name.startswith("topic-")]
    assert len(left) == COUNT
    assert all(name.endswith("-delete") for name in left)
    broker.sleep(61_000)
    assert not [name for path in ("data/a", "data/b") for name in broker.names(path) if name.startswith("topic-")]
    assert not any(log_dir.condemned for log_dir in broker.manager.dirs.by_path.values())


def test_the_names_are_durable_when_the_deletion_has_ended(broker):
    create_all(broker)
    broker.run(broker.manager.delete_all(ALL))
    broker.crash()
    manager = broker.start()
    assert manager.current == {}


def test_who_asks_for_one_of_them_meanwhile_gets_a_new_log(broker):
    old = create_all(broker)
    deleting = broker.spawn(broker.manager.delete_all(ALL))
    new = create_all(broker, OTHER_ID)
    assert deleting.is_done
    assert not set(map(id, old)) & set(map(id, new))
    assert {broker.manager.topic_id(log) for log in new} == {OTHER_ID}


def test_a_deletion_waits_for_what_was_asked_before(broker):
    making = [broker.spawn(broker.manager.get_or_create(*each, TOPIC_ID)) for each in ALL]
    deleting = broker.spawn(broker.manager.delete_all(ALL))
    again = broker.spawn(broker.manager.get_or_create(*ALL[0], OTHER_ID))
    assert broker.world.run_until(lambda: deleting.is_done and again.is_done and all(t.is_done for t in making))
    deleting.value()
    assert list(broker.manager.current) == [ALL[0]]
    assert broker.manager.topic_id(again.value()) == OTHER_ID


def test_a_dir_that_fails_does_not_keep_the_others_from_it(broker):
    create_all(broker)
    broker.disk.fail("rename", EIO, path="data/a/topic-", times=None)
    with pytest.raises(errors.KafkaStorageError):
        broker.run(broker.manager.delete_all(ALL))
    assert broker.failed == [("data/a", False)]
    assert not [name for name in broker.names("data/b") if name == "topic-1"]
    assert broker.manager.current == {}


def test_those_that_are_made_again_share_the_checkpoints_that_forget_them(broker):
    """Written once for each of them, ten thousand would take minutes."""
    for log in create_all(broker):
        broker.append(log, "a")
        broker.flush(log)
    broker.run(broker.manager.dirs.save_all(broker.manager.dirs.online[0]))
    broker.run(broker.manager.dirs.save_all(broker.manager.dirs.online[1]))
    log_dir = broker.manager.dirs.online[0]
    assert len(log_dir.written[names.RECOVERY_POINTS]) == COUNT // 2
    broker.run(broker.manager.delete_all(ALL))
    written = []
    broker.disk.before_operation = lambda kind, path: written.append(path) if kind == "rename" else None
    create_all(broker, OTHER_ID)
    broker.disk.before_operation = None
    checkpoints = [path for path in written if "-checkpoint" in path and "topic-" not in path]
    assert 0 < len(checkpoints) <= 6, "at most one of each checkpoint and dir"
    for each in broker.manager.dirs.online:
        assert not any(partition in each.written.get(names.RECOVERY_POINTS, {}) for partition in ALL)


@pytest.mark.parametrize("seed", range(8))
def test_no_checkpoint_speaks_of_the_old_one_when_the_new_one_is_there(seed):
    """Also when one is being written, slowly, in the moment in which it is deleted."""
    broker = SimBroker(seed, dirs=("data/a",))
    broker.start()
    log = broker.create()
    broker.append(log, "a")
    broker.flush(log)
    log_dir = broker.manager.dirs.online[0]
    saving = broker.spawn(broker.manager.dirs.save(log_dir, names.RECOVERY_POINTS))
    deleting = broker.spawn(broker.manager.delete_all([("topic", 0)]))
    making = broker.spawn(broker.manager.get_or_create("topic", 0, OTHER_ID))
    assert broker.world.run_until(lambda: making.is_done)
    named = {} if not saving.is_done else log_dir.written[names.RECOVERY_POINTS]
    assert saving.is_done and deleting.is_done, "what was under way could still bring the old offset back"
    assert ("topic", 0) not in named


def test_the_configs_of_one_topic_reach_its_logs_and_no_others(broker):
    create_all(broker)
    other = broker.create("other", 0)
    broker.manager.update_topic_config("topic", {"segment.bytes": 1 << 20})
    assert {broker.manager.get(*each).config.segment_bytes for each in ALL} == {1 << 20}
    assert other.config.segment_bytes != 1 << 20
    broker.run(broker.manager.delete_all(ALL))
    broker.manager.update_topic_config("topic", {})
    assert broker.create("topic", 0).config.segment_bytes != 1 << 20
