"""Which logs there are: made in the right dir, with the right id, deleted, made again, truncated, configured."""

import pytest

from manager_kit import DIRS, OTHER_ID, TOPIC_ID, SimBroker, layers, values
from odradek.config.errors import ConfigError
from odradek.protocol import errors
from odradek.sim.crash import KEEP_ALL, LOSE_ALL, MIXED


@pytest.fixture
def broker():
    made = SimBroker()
    made.start()
    return made


@pytest.mark.contract("G1", "G2")
def test_a_new_partition_goes_to_the_dir_with_the_fewest(broker):
    where = [broker.create(partition=number).directory for number in range(4)]
    assert where == ["data/a/topic-0", "data/b/topic-1", "data/a/topic-2", "data/b/topic-3"]
    broker.run(broker.manager.delete("topic", 1))
    broker.run(broker.manager.delete("topic", 3))
    assert [broker.create("more", number).directory for number in range(2)] == ["data/b/more-0", "data/b/more-1"]


def test_a_partition_goes_where_it_is_told(broker):
    assert broker.create(partition=0, target_dir="data/b").directory == "data/b/topic-0"
    assert broker.create(partition=1, target_dir="data/b/").directory == "data/b/topic-1"
    with pytest.raises(errors.LogDirNotFound, match="data/c"):
        broker.create(partition=2, target_dir="data/c")


def test_a_cordoned_dir_gets_no_new_partitions():
    broker = SimBroker(cordoned_log_dirs="data/a")
    broker.start()
    assert {broker.create(partition=number).directory for number in range(2)} == {"data/b/topic-0", "data/b/topic-1"}


@pytest.mark.contract("G1")
def test_a_known_log_is_returned(broker):
    assert broker.create() is broker.create() is broker.create(topic_id=None)
    assert broker.manager.get("topic", 0) is broker.create()
    assert broker.manager.get("topic", 1) is None


def test_calls_at_the_same_time_make_one_log(broker):
    tasks = [broker.spawn(broker.manager.get_or_create("topic", 0, TOPIC_ID)) for _ in range(3)]
    broker.world.run_until(lambda: all(task.is_done for task in tasks))
    assert len({id(task.value()) for task in tasks}) == 1
    assert broker.names("data/b") == [".lock"]


def test_the_topic_id_is_written_checked_and_read_back(broker):
    broker.create()
    assert broker.disk.read("data/a/topic-0/partition.metadata") == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    with pytest.raises(errors.InconsistentTopicId, match=r"AAECAwQFBgcICQoLDA0ODw, not EBESExQVFhcYGRobHB0eHw"):
        broker.create(topic_id=OTHER_ID)
    manager = broker.restart()
    assert manager.topic_id(manager.get("topic", 0)) == TOPIC_ID
    with pytest.raises(errors.InconsistentTopicId):
        broker.create(topic_id=OTHER_ID)


def test_a_log_without_an_id_gets_one(broker):
    log = broker.create(topic_id=None)
    assert "partition.metadata" not in broker.names("data/a/topic-0")
    assert broker.manager.topic_id(log) is None
    broker.create()
    assert broker.manager.topic_id(log) == TOPIC_ID
    broker.crash(LOSE_ALL)
    manager = broker.start()
    assert manager.topic_id(manager.get("topic", 0)) == TOPIC_ID


@pytest.mark.contract("G13")
def test_a_created_partition_survives_a_crash(broker):
    log = broker.create()
    broker.append(log, "a")
    broker.flush(log)
    broker.crash(LOSE_ALL)
    assert values(broker.start().get("topic", 0)) == ["a"]


@pytest.mark.contract("G4", "G32")
def test_a_deleted_log_is_renamed_closed_and_removed_after_the_delay(broker):
    log = broker.create()
    broker.append(log, "a")
    assert broker.run(broker.manager.delete("topic", 0))
    assert log.is_closed and broker.manager.get("topic", 0) is None
    (name,) = [name for name in broker.names("data/a") if name.startswith("topic")]
    assert name.startswith("topic-0.") and name.endswith("-delete") and len(name) == len("topic-0.-delete") + 32
    assert "00000000000000000000.log" in broker.names(f"data/a/{name}")
    broker.sleep(59_000)
    assert name in broker.names("data/a")
    broker.sleep(2_000)
    assert name not in broker.names("data/a")
    assert not broker.run(broker.manager.delete("topic", 0)), "there is nothing left to delete"


def test_what_was_deleted_stays_deleted(broker):
    broker.append(broker.create(), "a")
    broker.run(broker.manager.delete("topic", 0))
    broker.crash(LOSE_ALL)
    assert not broker.start().current


@pytest.mark.parametrize("profile", [KEEP_ALL, LOSE_ALL, MIXED])
def test_a_partition_made_again_does_not_inherit_the_checkpoints(broker, profile):
    log = broker.create()
    broker.append(log, *"abcdef")
    broker.flush(log)
    broker.on_reactor(lambda: log.increment_log_start_offset(3))
    broker.restart()
    broker.run(broker.manager.delete("topic", 0))
    again = broker.create(topic_id=OTHER_ID, target_dir="data/a")
    broker.append(again, "x")
    broker.flush(again)
    broker.crash(profile)
    manager = broker.start()
    assert broker.failed == []
    assert values(manager.get("topic", 0)) == ["x"]
    assert manager.get("topic", 0).high_watermark == 0, "nobody has told the new one"


def test_deleting_and_creating_take_turns(broker):
    broker.append(broker.create(), "a")
    deleting = broker.spawn(broker.manager.delete("topic", 0))
    log = broker.create(topic_id=OTHER_ID)
    assert deleting.is_done and values(log) == []


@pytest.mark.parametrize("profile", [KEEP_ALL, LOSE_ALL, MIXED])
def test_truncation_lowers_the_checkpoints_first(broker, profile):
    """Otherwise a torn tail behind the new end would count as damage to what was synced."""
    log = broker.create()
    broker.append(log, *"abcdef")
    broker.flush(log)
    broker.run(broker.manager.schedules.checkpoint_recovery_points())
    assert b"topic 0 6" in broker.disk.read("data/a/recovery-point-offset-checkpoint")
    broker.run(broker.manager.truncate_to("topic", 0, 0))
    assert log.log_end_offset == 0
    assert b"topic 0 0" in broker.disk.read("data/a/recovery-point-offset-checkpoint")
    broker.append(log, "x")
    broker.crash(profile)
    manager = broker.start()
    assert broker.failed == []
    assert values(manager.get("topic", 0)) in ([], ["x"], list("abcdef")), "a cut is durable after the next flush"


def test_the_recovery_point_stays_below_the_end_of_a_cut_inside_a_batch(broker):
    """The cut drops the whole batch, so that the log ends before the offset that was asked for."""
    log = broker.create()
    broker.append(log, "a")
    broker.append(log, *"bcdef")
    broker.flush(log)
    broker.run(broker.manager.schedules.checkpoint_recovery_points())
    broker.run(broker.manager.truncate_to("topic", 0, 3))
    assert log.log_end_offset == 1
    broker.crash(KEEP_ALL)
    manager = broker.start()
    assert broker.failed == []
    assert values(manager.get("topic", 0)) == ["a"]


def test_truncating_fully_to_below_the_log_start_offset_keeps_what_comes_after(broker):
    log = broker.create()
    broker.append(log, *"abcdef")
    broker.on_reactor(lambda: log.increment_log_start_offset(5))
    broker.run(broker.manager.schedules.checkpoint_log_start_offsets())
    broker.run(broker.manager.truncate_fully_and_start_at("topic", 0, 2))
    broker.append(log, "x")
    broker.flush(log)
    broker.crash(LOSE_ALL)
    log = broker.start().get("topic", 0)
    assert (log.log_start_offset, values(log)) == (2, ["x"])


def test_truncation_reads_the_producers_again(broker):
    log = broker.create()
    for sequence, value in enumerate("abc"):
        broker.append(log, value, producer=7, sequence=sequence)
    broker.run(broker.manager.truncate_to("topic", 0, 1))
    assert broker.append(log, "b", producer=7, sequence=1).first_offset == 1
    assert values(log) == ["a", "b"]
    with pytest.raises(errors.ReplicaNotAvailable):
        broker.run(broker.manager.truncate_to("topic", 9, 0))


def test_files_that_a_truncation_cut_off_are_unlinked(broker):
    log = broker.create()
    for value in "abc":
        broker.append(log, value)
        broker.on_reactor(lambda: log.roll(broker.manager.now_ms))
    broker.run(broker.manager.truncate_to("topic", 0, 1))
    assert [name for name in broker.names(log.directory) if name.endswith(".deleted")]
    broker.sleep(61_000)
    assert not [name for name in broker.names(log.directory) if name.endswith(".deleted")]


@pytest.mark.parametrize("seed", range(5))
def test_a_truncation_waits_for_retention_to_have_renamed_its_files(seed):
    """Else the rename would hit the new segment, which has the name of an old one."""
    broker = SimBroker(seed)
    broker.start()
    log = broker.create()
    for value in "abcdefgh":
        broker.append(log, value)
        broker.on_reactor(lambda: log.roll(broker.manager.now_ms))
    broker.sleep(100)
    broker.on_reactor(lambda: log.increment_log_start_offset(8))
    broker.spawn(broker.manager.schedules.delete_old_segments())
    broker.run(broker.manager.truncate_fully_and_start_at("topic", 0, 7))
    broker.append(log, "x")
    broker.sleep(61_000)
    assert values(log) == ["x"]
    assert values(broker.restart().get("topic", 0)) == ["x"]


def test_configs_change_at_run_time(broker):
    one, two = broker.create("one"), broker.create("two")
    broker.manager.update_topic_config("one", {"retention.ms": "1000", "max.message.bytes": "2000"})
    assert (one.config.retention_ms, one.rules.max_message_bytes) == (1000, 2000)
    assert two.config.retention_ms == 604_800_000
    broker.manager.update_broker_defaults(layers(log_retention_ms=5000, log_segment_bytes=1 << 20))
    assert (one.config.retention_ms, one.roll_bytes) == (1000, 1 << 20)
    assert (two.config.retention_ms, two.roll_bytes) == (5000, 1 << 20)
    broker.manager.update_topic_config("one", {})
    assert one.config.retention_ms == 5000
    assert broker.create("one", 1).config.retention_ms == 5000


def test_a_bad_config_changes_nothing(broker):
    log = broker.create()
    before = log.config
    with pytest.raises(ConfigError):
        broker.manager.update_topic_config("topic", {"retention.ms": "soon"})
    assert log.config is before and broker.manager.topic_configs.of("topic") is before


@pytest.mark.contract("G6")
def test_overrides_are_there_from_the_start():
    broker = SimBroker(topic_overrides={"topic": {"cleanup.policy": "compact"}})
    broker.start()
    assert broker.create().config.is_compacted and not broker.create("other").config.is_compacted
    manager = broker.restart()
    assert manager.get("topic", 0).config.is_compacted


def test_idle_partitions_keep_no_file_open_and_busy_ones_one(broker):
    logs = [broker.create(partition=number) for number in range(6)]
    for log in logs:
        broker.append(log, "a")
    manager = broker.restart()
    assert len(manager.storage.files) == 0 and not any(log.active.file for log in manager.all_logs())
    for log in manager.all_logs():
        broker.append(log, "b")
    assert len(manager.storage.files) == 0 and all(log.active.file for log in manager.all_logs())


def test_open_files_are_shared_up_to_a_limit(broker):
    for number in range(6):
        broker.append(broker.create(partition=number), "a")
    broker.stop()
    manager = broker.boot(open_files_max=2)
    broker.run(manager.start())
    for log in manager.all_logs():
        assert values(log) == ["a"]
    assert len(manager.storage.files) == 2


def test_nothing_is_made_while_the_manager_stops(broker):
    stopping = broker.spawn(broker.manager.stop())
    with pytest.raises(errors.KafkaStorageError, match="stopping"):
        broker.create()
    broker.world.run_until(lambda: stopping.is_done)
    assert [broker.names(path)[0] for path in DIRS] == [".kafka_cleanshutdown"] * 2
