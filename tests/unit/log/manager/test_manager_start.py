"""What a start finds in the log dirs, and what makes it refuse or go on without one of them."""

from errno import EIO

import pytest

from manager_kit import DIRS, OTHER_ID, TOPIC_ID, SimBroker, values
from odradek.log import checkpoint, names
from odradek.log.failure import LogDamaged
from odradek.log.manager.log_dir import LogDirRefused, LookedAt
from odradek.protocol import errors
from odradek.sim.crash import KEEP_ALL, LOSE_ALL


@pytest.fixture
def broker():
    return SimBroker()


def put(broker, path, data=b""):
    broker.disk.mkdir(path.rpartition("/")[0])
    broker.disk.write_atomically(path, data)


def test_the_dirs_are_made_and_locked(broker):
    broker.start()
    for path in DIRS:
        assert names.LOCK in broker.names(path)
        with pytest.raises(BlockingIOError):
            broker.disk.lock(f"{path}/.lock")
    broker.stop()
    broker.disk.lock("data/a/.lock").release()


def test_a_dir_that_another_broker_holds_refuses_the_start_and_frees_the_others(broker):
    put(broker, "data/a/.kafka_cleanshutdown")
    held = broker.disk.lock("data/b/.lock") if broker.disk.mkdir("data/b") is None else None
    broker.boot()
    with pytest.raises(LogDirRefused, match=r"data/b is in use.*data/b/\.lock"):
        broker.run(broker.manager.start())
    assert names.CLEAN_SHUTDOWN in broker.names("data/a"), "a refused start changes nothing"
    held.release()
    broker.start()


def test_the_same_dir_twice_is_refused():
    broker = SimBroker(dirs=("data/a", "data/a/"))
    with pytest.raises(LogDirRefused, match="data/a twice"):
        broker.boot()


@pytest.mark.contract("G9")
def test_the_marker_is_removed_at_the_start_and_written_at_the_stop(broker):
    broker.start()
    assert not broker.manager.dirs.by_path["data/a"].had_clean_shutdown
    broker.stop(broker_epoch=221)
    assert broker.disk.read("data/a/.kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":221}'
    broker.start()
    assert broker.manager.dirs.by_path["data/a"].had_clean_shutdown
    assert names.CLEAN_SHUTDOWN not in broker.names("data/a")
    broker.crash(LOSE_ALL)
    broker.start()
    assert not broker.manager.dirs.by_path["data/a"].had_clean_shutdown, "a removal that is not durable is none"


def test_the_marker_of_3_3_is_empty():
    broker = SimBroker(release="3.3")
    broker.start()
    broker.stop(broker_epoch=221)
    assert broker.disk.read("data/a/.kafka_cleanshutdown") == b""
    broker.start()
    assert broker.manager.dirs.by_path["data/b"].had_clean_shutdown


@pytest.mark.contract("G12")
def test_directories_that_are_no_partitions_are_named(broker):
    put(broker, "data/a/.kafka_cleanshutdown")
    put(broker, "data/b/lost+found/x")
    put(broker, "data/b/topic-zero/x")
    put(broker, "data/b/fine-0/x")
    broker.boot()
    with pytest.raises(LogDirRefused, match=r"data/b .*: lost\+found, topic-zero\."):
        broker.run(broker.manager.start())
    assert names.CLEAN_SHUTDOWN in broker.names("data/a")


def test_the_root_of_a_file_system_is_told_as_that(broker):
    put(broker, "data/b/lost+found/x")
    put(broker, "data/b/fine-0/x")
    broker.boot()
    with pytest.raises(LogDirRefused, match=r"data/b is the root of a file system, .* give a directory below it"):
        broker.run(broker.manager.start())


@pytest.mark.contract("G12")
def test_the_log_of_the_quorum_is_left_alone(broker):
    put(broker, "data/a/__cluster_metadata-0/00000000000000000000.log", b"not ours")
    manager = broker.start()
    assert not manager.current
    broker.stop()
    assert broker.disk.read("data/a/__cluster_metadata-0/00000000000000000000.log") == b"not ours"


def test_a_dir_that_the_caller_has_looked_at_is_not_looked_at_again(broker):
    for path in DIRS:
        put(broker, f"{path}/.kafka_cleanshutdown")
    held = broker.disk.lock("data/a/.lock")
    broker.disk.fail("read", path="data/a/.kafka_cleanshutdown", times=None)
    manager = broker.start(looked_at={"data/a": LookedAt(b"a" * 16, clean_epoch=7)})
    assert {path: log_dir.had_clean_shutdown for path, log_dir in manager.dirs.by_path.items()} == dict.fromkeys(
        DIRS, True
    )
    assert manager.dirs.by_path["data/a"].directory_id == b"a" * 16
    assert len(manager.dirs.online) == len(DIRS)
    broker.stop()
    held.release()


def test_a_dir_that_the_caller_could_not_use_is_not_tried_again(broker):
    manager = broker.start(looked_at={"data/b": LookedAt(failure=OSError(EIO, "I/O error", "data/b"))})
    assert [log_dir.path for log_dir in manager.dirs.offline] == ["data/b"]
    assert not broker.disk.exists("data/b/.lock")


CHECKPOINTS = (names.RECOVERY_POINTS, names.LOG_START_OFFSETS, names.REPLICATION_OFFSETS, names.CLEANER_OFFSETS)


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_damaged_checkpoint_costs_nothing_but_itself(broker, name, is_clean):
    broker.start()
    log = broker.create()
    for number in range(4):
        broker.append(log, f"v{number}")
    broker.stop()
    if not is_clean:
        broker.disk.unlink("data/a/.kafka_cleanshutdown")
    put(broker, f"data/a/{name}", b"0\n2\ntopic 0 5\n")
    manager = broker.start()
    assert broker.failed == []
    assert values(manager.get("topic", 0)) == ["v0", "v1", "v2", "v3"]
    assert "line 2" in manager.dirs.by_path["data/a"].damaged_checkpoints[name]
    broker.stop()
    assert not broker.start().dirs.by_path["data/a"].damaged_checkpoints


def test_without_recovery_points_no_full_segment_is_cut(broker):
    """The first of two segments is damaged: below the recovery point, wherever that was."""
    broker.start()
    log = broker.create()
    broker.append(log, "first")
    broker.on_reactor(lambda: log.roll(broker.manager.now_ms))
    broker.append(log, "second")
    broker.stop()
    broker.disk.unlink("data/a/.kafka_cleanshutdown")
    put(broker, f"data/a/{names.RECOVERY_POINTS}", b"0\n2\ntopic 0 5\n")
    segment = "data/a/topic-0/00000000000000000000.log"
    broker.disk.flip_bit(segment, 70)
    damaged = broker.disk.read(segment)
    manager = broker.start()
    with pytest.raises(LogDamaged):
        values(manager.get("topic", 0))
    assert broker.disk.read(segment) == damaged


def test_a_log_that_cannot_be_loaded_takes_its_dir_offline(broker):
    broker.start()
    for partition in range(6):
        broker.append(broker.create(partition=partition), f"v{partition}")
    broker.stop()
    broker.disk.fail("read", EIO, path="data/a/topic-2/", times=None)
    manager = broker.start()
    assert broker.failed == [("data/a", False)]
    assert sorted(manager.current) == [("topic", 1), ("topic", 3), ("topic", 5)]
    assert not manager.dirs.by_path["data/a"].logs
    assert values(manager.get("topic", 3)) == ["v3"]
    broker.disk.lock("data/a/.lock").release()  # a dir that is offline is nobody's


def test_without_any_dir_the_start_fails(broker):
    broker.disk.fail("mkdir", EIO, times=None)
    broker.boot()
    with pytest.raises(errors.KafkaStorageError, match=r"data/a.*data/b"):
        broker.run(broker.manager.start())
    assert broker.failed == [("data/a", False), ("data/b", True)]


def test_a_marker_that_cannot_be_removed_takes_the_dir_offline(broker):
    put(broker, "data/a/.kafka_cleanshutdown")
    broker.disk.fail("unlink", EIO, path="cleanshutdown")
    broker.start()
    assert broker.failed == [("data/a", False)]


def test_what_was_being_deleted_is_removed(broker):
    put(broker, "data/a/topic-0.0123456789abcdef0123456789abcdef-delete/00000000000000000000.log", b"x" * 100)
    manager = broker.start()
    assert not manager.current
    broker.sleep(100)
    assert not [name for name in broker.names("data/a") if name.endswith("-delete")]
    assert not manager.dirs.by_path["data/a"].condemned


def test_strays_are_recognised_and_kept(broker):
    put(broker, "data/a/topic-0.0123456789abcdef0123456789abcdef-stray/x")
    manager = broker.start()
    broker.restart()
    assert not manager.current
    assert broker.manager.dirs.by_path["data/a"].strays == ["data/a/topic-0.0123456789abcdef0123456789abcdef-stray"]


def test_partitions_that_the_metadata_does_not_know_become_strays(broker):
    broker.start()
    broker.append(broker.create("kept"), "a")
    broker.append(broker.create("gone", topic_id=OTHER_ID), "b")
    asked = []

    def is_stray(topic, partition, topic_id):
        asked.append((topic, partition, topic_id))
        return topic_id == OTHER_ID

    manager = broker.restart(is_stray=is_stray)
    assert sorted(asked) == [("gone", 0, OTHER_ID), ("kept", 0, TOPIC_ID)]
    assert list(manager.current) == [("kept", 0)]
    (stray,) = manager.dirs.by_path["data/b"].strays
    assert stray.startswith("data/b/gone-0.") and stray.endswith("-stray")
    broker.sleep(120_000)
    assert "00000000000000000000.log" in broker.names(stray)
    assert list(broker.restart().current) == [("kept", 0)]
    assert broker.manager.dirs.by_path["data/b"].strays == [stray]


def test_progress_counts_logs_and_segments_to_recover(broker):
    broker.start()
    log = broker.create()
    for number in range(3):
        broker.append(log, f"v{number}")
        broker.on_reactor(lambda: log.roll(broker.manager.now_ms))
    broker.crash()
    seen = []
    broker.start(
        on_progress=lambda progress: seen.append((progress.path, progress.remaining_logs, progress.remaining_segments))
    )
    begun = [entry for entry in seen if entry[0] == "data/a"]
    assert begun[0][1] == 1 and begun[0][2] >= 1
    assert begun[-1] == ("data/a", 0, 0)


@pytest.mark.contract("G10", "G11")
def test_offsets_come_back_from_the_checkpoints(broker):
    manager = broker.start()
    log = broker.create()
    broker.append(log, *"abcdef")
    broker.on_reactor(lambda: log.increment_log_start_offset(2))
    manager = broker.restart()
    log = manager.get("topic", 0)
    assert (log.log_start_offset, log.high_watermark, log.recovery_point, log.log_end_offset) == (2, 6, 6, 6)
    assert broker.disk.read("data/a/log-start-offset-checkpoint") == b"0\n1\ntopic 0 2\n"
    assert broker.disk.read("data/a/recovery-point-offset-checkpoint") == b"0\n1\ntopic 0 6\n"
    assert broker.disk.read("data/a/replication-offset-checkpoint") == b"0\n1\ntopic 0 6\n"


def twins(broker, other_id):
    """The same partition in both dirs, the second one longer."""
    broker.start()
    broker.append(broker.create(), "a")
    broker.stop()
    short = broker.disk.snapshot()
    broker.start()
    broker.append(broker.manager.get("topic", 0), "b")
    broker.stop()
    for path, data in short.items():
        if path.startswith("/data/a/topic-0/"):
            put(broker, path.replace("/data/a", "data/b"), data)
    if other_id is None:
        broker.disk.unlink("data/b/topic-0/partition.metadata")
    else:
        put(broker, "data/b/topic-0/partition.metadata", checkpoint.format_partition_metadata(other_id))


def test_of_two_copies_of_one_topic_the_longer_is_the_log(broker):
    twins(broker, "AAECAwQFBgcICQoLDA0ODw")
    manager = broker.start()
    assert manager.get("topic", 0).directory == "data/a/topic-0"
    assert values(manager.get("topic", 0)) == ["a", "b"]
    broker.sleep(100)
    assert "topic-0" not in broker.names("data/b")


@pytest.mark.parametrize("other_id", [None, "EBESExQVFhcYGRobHB0eHw"])
def test_two_that_may_be_different_topics_refuse_the_start(broker, other_id):
    twins(broker, other_id)
    broker.boot()
    with pytest.raises(LogDirRefused, match=r"topic-0 is there twice, in data/a/topic-0 and in data/b/topic-0"):
        broker.run(broker.manager.start())
    assert "topic-0" in broker.names("data/a") and "topic-0" in broker.names("data/b")
    broker.disk.lock("data/a/.lock").release()


@pytest.mark.contract("G7", "G8")
@pytest.mark.parametrize("threads", [1, 3])
def test_each_dir_recovers_as_many_logs_at_once_as_it_has_threads(threads):
    broker = SimBroker(num_recovery_threads_per_data_dir=threads)
    broker.start()
    for partition in range(12):
        broker.append(broker.create(partition=partition), "a" * 500)
    broker.crash(KEEP_ALL)
    at_once = dict.fromkeys(broker.dirs, 0)

    def seen(progress):
        at_once[progress.path] = max(at_once[progress.path], len(progress.recovering))

    broker.boot()
    broker.disk.slow("read", 700_000)
    broker.run(broker.manager.start(on_progress=seen))
    assert at_once == dict.fromkeys(broker.dirs, threads)
    assert sorted(broker.manager.current) == [("topic", partition) for partition in range(12)]
