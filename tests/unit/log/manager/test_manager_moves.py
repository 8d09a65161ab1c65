"""A replica moves to another dir while it serves."""

from errno import EIO

import pytest

from manager_kit import TOPIC_ID, SimBroker, copy, values
from odradek.protocol import errors
from odradek.sim.crash import LOSE_ALL


@pytest.fixture
def broker():
    made = SimBroker()
    made.start()
    log = made.create()
    for value in "abc":
        made.append(log, value)
        made.on_reactor(lambda: log.roll(made.manager.now_ms))
    return made


def catch_up(broker):
    manager = broker.manager
    broker.on_reactor(lambda: copy(manager.get("topic", 0), manager.get_future("topic", 0), manager.now_ms))


def swap(broker):
    for _ in range(3):
        if broker.run(broker.manager.replace_current_with_future("topic", 0)):
            return broker.manager.get("topic", 0)
    raise AssertionError("the copy never catches up")


def test_the_copy_takes_the_place_of_the_log(broker):
    manager = broker.manager
    old = manager.get("topic", 0)
    future = broker.run(manager.create_future("topic", 0, "data/b"))
    assert future.directory.startswith("data/b/topic-0.") and future.directory.endswith("-future")
    assert manager.get_future("topic", 0) is future and manager.get("topic", 0) is old
    catch_up(broker)
    broker.flush(old)
    assert swap(broker) is future
    assert future.directory == "data/b/topic-0" and manager.get_future("topic", 0) is None
    assert old.is_closed and manager.topic_id(future) == TOPIC_ID
    assert values(future) == ["a", "b", "c"] and future.high_watermark == 3
    assert [name[-7:] for name in broker.names("data/a") if name.startswith("topic")] == ["-delete"]
    broker.append(future, "d")
    broker.flush(future)
    broker.sleep(61_000)
    assert not [name for name in broker.names("data/a") if name.startswith("topic")]
    broker.crash(LOSE_ALL)
    assert values(broker.start().get("topic", 0)) == ["a", "b", "c", "d"]


def test_a_copy_that_is_behind_does_not_swap(broker):
    broker.run(broker.manager.create_future("topic", 0, "data/b"))
    assert not broker.run(broker.manager.replace_current_with_future("topic", 0))
    catch_up(broker)
    broker.append(broker.manager.get("topic", 0), "d")
    assert not broker.run(broker.manager.replace_current_with_future("topic", 0))
    assert broker.manager.get("topic", 0).directory == "data/a/topic-0"


def test_the_copy_is_durable_before_the_log_goes(broker):
    log = broker.manager.get("topic", 0)
    broker.run(broker.manager.create_future("topic", 0, "data/b"))
    broker.flush(log)
    catch_up(broker)
    swap(broker)
    broker.crash(LOSE_ALL)
    assert values(broker.start().get("topic", 0)) == ["a", "b", "c"]


@pytest.mark.parametrize("seed", range(5))
def test_a_log_that_is_flushed_meanwhile_waits_for_its_copy(seed):
    broker = SimBroker(seed)
    broker.start()
    log = broker.create()
    future = broker.run(broker.manager.create_future("topic", 0, "data/b"))
    broker.append(log, "a")
    broker.flush(log)
    catch_up(broker)
    swapping = broker.spawn(broker.manager.replace_current_with_future("topic", 0))
    broker.append(log, "b")
    catch_up(broker)
    broker.flush(log)
    broker.world.run_until(lambda: swapping.is_done)
    if swapping.value():
        assert future.recovery_point >= log.recovery_point
    broker.crash(LOSE_ALL)
    assert values(broker.start().get("topic", 0)) == ["a", "b"]


def test_a_copy_begins_at_the_log_start_offset(broker):
    log = broker.manager.get("topic", 0)
    broker.on_reactor(lambda: log.increment_log_start_offset(2))
    future = broker.run(broker.manager.create_future("topic", 0, "data/b"))
    assert future.log_end_offset == 2
    catch_up(broker)
    assert swap(broker).log_start_offset == 2
    assert values(future) == ["c"]


def test_a_copy_survives_a_restart_as_a_copy(broker):
    future = broker.run(broker.manager.create_future("topic", 0, "data/b"))
    directory = future.directory
    catch_up(broker)
    manager = broker.restart()
    assert manager.get_future("topic", 0).directory == directory
    assert values(manager.get_future("topic", 0)) == ["a", "b", "c"]
    assert swap(broker).directory == "data/b/topic-0"


def test_a_move_can_be_cancelled(broker):
    broker.run(broker.manager.create_future("topic", 0, "data/b"))
    assert broker.run(broker.manager.cancel_move("topic", 0))
    assert broker.manager.get_future("topic", 0) is None
    assert not broker.run(broker.manager.cancel_move("topic", 0))
    broker.sleep(61_000)
    assert not [name for name in broker.names("data/b") if name.startswith("topic")]
    assert values(broker.restart().get("topic", 0)) == ["a", "b", "c"]


def test_compaction_rests_while_a_log_moves():
    broker = SimBroker(
        topic_overrides={"topic": {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0"}},
        log_cleaner_backoff_ms=1000,
    )
    broker.start()
    log = broker.create()
    broker.run(broker.manager.create_future("topic", 0, "data/b"))
    for value in "abc":
        broker.append(log, value)
        broker.on_reactor(lambda: log.roll(broker.manager.now_ms))
    broker.sleep(5000)
    assert values(log) == ["a", "b", "c"]
    broker.restart()
    broker.sleep(5000)
    assert values(broker.manager.get("topic", 0)) == ["a", "b", "c"]
    broker.run(broker.manager.cancel_move("topic", 0))
    broker.sleep(5000)
    assert values(broker.manager.get("topic", 0)) == ["c"]


def test_what_was_cleaned_stays_clean(broker):
    broker.manager.cleaner.checkpoints.set("data/a", ("topic", 0), 2)
    broker.run(broker.manager.create_future("topic", 0, "data/b"))
    catch_up(broker)
    swap(broker)
    assert broker.manager.cleaner.checkpoints.get("data/a", ("topic", 0)) is None
    assert broker.manager.cleaner.checkpoints.get("data/b", ("topic", 0)) == 2


def test_a_copy_needs_another_dir(broker):
    with pytest.raises(errors.InvalidRequest, match="data/a"):
        broker.run(broker.manager.create_future("topic", 0, "data/a"))
    with pytest.raises(errors.ReplicaNotAvailable):
        broker.run(broker.manager.create_future("topic", 9, "data/b"))
    with pytest.raises(errors.ReplicaNotAvailable):
        broker.run(broker.manager.replace_current_with_future("topic", 0))


def test_a_name_that_a_start_could_not_read_back_is_refused(broker):
    topic = "t" * 240
    broker.append(broker.create(topic), "a")
    target = {"data/a": "data/b", "data/b": "data/a"}[broker.manager.dirs.of_log(broker.manager.get(topic, 0)).path]
    with pytest.raises(errors.InvalidRequest, match="too long"):
        broker.run(broker.manager.create_future(topic, 0, target))
    assert broker.run(broker.manager.delete(topic, 0)), "one that is deleted may be cut"
    assert not broker.restart().get(topic, 0)


def test_a_copy_in_another_place_replaces_one_under_way():
    broker = SimBroker(dirs=("data/a", "data/b", "data/c"))
    broker.start()
    broker.append(broker.create(), "a")
    first = broker.run(broker.manager.create_future("topic", 0, "data/b"))
    assert broker.run(broker.manager.create_future("topic", 0, "data/b")) is first
    second = broker.run(broker.manager.create_future("topic", 0, "data/c"))
    assert first.is_closed and second.directory.startswith("data/c/")


def test_the_target_failing_leaves_the_log(broker):
    broker.run(broker.manager.create_future("topic", 0, "data/b"))
    catch_up(broker)
    broker.disk.fail("rename", EIO, path="data/b/topic-0")
    with pytest.raises(errors.KafkaStorageError):
        swap(broker)
    assert broker.failed == [("data/b", False)]
    assert values(broker.manager.get("topic", 0)) == ["a", "b", "c"] and not broker.manager.futures
    broker.append(broker.manager.get("topic", 0), "d")


def test_back_and_forth(broker):
    for target in ("data/b", "data/a", "data/b"):
        broker.run(broker.manager.create_future("topic", 0, target))
        catch_up(broker)
        assert swap(broker).directory == f"{target}/topic-0"
    broker.crash(LOSE_ALL)
    manager = broker.start()
    assert broker.failed == []
    assert manager.get("topic", 0).directory == "data/b/topic-0"


def test_a_copy_in_the_dir_of_its_own_log_is_dropped_at_the_start(broker):
    future = broker.run(broker.manager.create_future("topic", 0, "data/b"))
    catch_up(broker)
    broker.stop()
    copied, moved = future.directory, f"data/a/{future.directory.rpartition('/')[2]}"
    broker.disk.mkdir(moved)
    for name in broker.disk.list(copied):
        broker.disk.rename(f"{copied}/{name}", f"{moved}/{name}")
    broker.disk.rmdir(copied)
    manager = broker.start()
    assert manager.get_future("topic", 0) is None and values(manager.get("topic", 0)) == ["a", "b", "c"]
    broker.sleep(100)
    assert [name for name in broker.names("data/a") if name.startswith("topic-0")] == ["topic-0"]
