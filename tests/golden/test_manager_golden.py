"""Whole data dirs of real brokers, loaded and stopped by the log manager."""

import pytest

from logdirs import CLEAN, UNCLEAN, epochs_after_a_load, segments, unpack
from manager_kit import RealBroker
from odradek.log import checkpoint, names
from odradek.protocol.internal_topics import CLUSTER_METADATA_TOPIC
from odradek.records.batch import batches

SAME = (*names.SEGMENT_FILES, names.LEADER_EPOCHS, names.PARTITION_METADATA, names.META_PROPERTIES)
OVERRIDES = {  # the configs that the topics had
    "compacted": {"cleanup.policy": "compact", "index.interval.bytes": "100"},
    "__consumer_offsets": {"cleanup.policy": "compact"},
    "__transaction_state": {"cleanup.policy": "compact"},
    "segments": {"index.interval.bytes": "200"},
    "txn": {"index.interval.bytes": "100"},
}


def contents(path):
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def open_and_stop(path, name, broker_epoch=-1, look=lambda broker: None):
    release = "3.3" if "3.3" in name else "4.3"
    broker = RealBroker(path, release=release, topic_overrides=OVERRIDES, log_cleaner_enable="false")
    try:
        broker.run(broker.manager.start())
        assert not broker.manager.dirs.offline, broker.manager.dirs
        while broker.manager.dirs.online[0].condemned:
            broker.loop.turn(1000)
        look(broker)
        broker.run(broker.manager.stop(broker_epoch))
    finally:
        broker.close()


def is_kept(path):
    return path.endswith(SAME) and "-delete/" not in path


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_dir_is_left_as_it_was(name, tmp_path):
    path = unpack(name, tmp_path)
    before = contents(path)
    found = {}

    def look(broker):
        for (topic, partition), log in broker.manager.current.items():
            found[topic, partition] = (log.log_end_offset, log.high_watermark)
            assert log.log_end_offset == log.recovery_point
            assert broker.manager.topic_id(log) is not None

    open_and_stop(path, name, 221, look)
    after = contents(path)
    for (topic, partition), (end_offset, _) in found.items():
        epochs = f"{topic}-{partition}/{names.LEADER_EPOCHS}"
        if epochs in before:
            before[epochs] = epochs_after_a_load(before[epochs], end_offset)
    assert {key for key in before if is_kept(key)} == {key for key in after if is_kept(key)}
    changed = [key for key in after if is_kept(key) and after[key] != before[key]]
    assert changed == []
    for key in (names.RECOVERY_POINTS, names.LOG_START_OFFSETS, names.REPLICATION_OFFSETS, names.CLEANER_OFFSETS):
        assert checkpoint.parse_offsets(after[key]) == checkpoint.parse_offsets(before[key])
    assert after[names.CLEAN_SHUTDOWN] == before[names.CLEAN_SHUTDOWN]
    assert not [key for key in after if "-delete/" in key]
    ends = checkpoint.parse_offsets(before[names.RECOVERY_POINTS])
    high_watermarks = checkpoint.parse_offsets(before[names.REPLICATION_OFFSETS])
    assert found == {key: (ends[key], high_watermarks[key]) for key in ends}


@pytest.mark.parametrize("name", UNCLEAN)
def test_an_unclean_dir_is_recovered_to_what_kafka_recovered(name, tmp_path):
    """The clean archive is the same dir after Kafka's own recovery and a few more records."""
    path = unpack(name, tmp_path / "ours")
    kafka = contents(unpack(name.replace("unclean", "clean"), tmp_path / "kafka"))
    before = contents(path)
    open_and_stop(path, name)
    after = contents(path)
    compared = 0
    for key, data in after.items():
        if not is_kept(key) or CLUSTER_METADATA_TOPIC in key or key.endswith(names.META_PROPERTIES):
            continue
        if key.endswith(names.LOG):
            assert data == before[key], f"Kafka wrote every batch whole; {key} must not be cut"
            assert kafka[key].startswith(data), key
            if kafka[key] != data:
                continue  # a few more records
            for kind in names.INDEX_FILES:
                index = key.removesuffix(names.LOG) + kind
                assert after.get(index) == kafka.get(index), index
                compared += 1
        elif key.endswith((names.PARTITION_METADATA, names.TRANSACTION_INDEX)):
            assert kafka[key].startswith(data), key
    assert compared > 40


@pytest.mark.parametrize("name", UNCLEAN)
def test_every_batch_of_an_unclean_dir_is_served(name, tmp_path):
    expected = {key: form for key, form in segments(name).items() if key.endswith(names.LOG)}
    found = {}

    def look(broker):
        for log in broker.manager.current.values():
            for segment in log.segments:
                file = segment.open_file()
                data = file.disk_file.pread(segment.size, 0)
                file.release()
                found[segment.path(names.LOG).partition(f"{name}/")[2]] = [one.base_offset for one in batches(data)]

    open_and_stop(unpack(name, tmp_path), name, look=look)
    for key, bases in found.items():
        assert bases == [one["base_offset"] for one in expected[key]["batches"]], key
    assert len(found) > 20


@pytest.mark.parametrize("name", [*CLEAN, *UNCLEAN])
def test_a_second_time_finds_the_same(name, tmp_path):
    path = unpack(name, tmp_path)
    open_and_stop(path, name)
    once = contents(path)
    open_and_stop(path, name)
    assert contents(path) == once
