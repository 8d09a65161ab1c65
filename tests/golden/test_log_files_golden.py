"""The log directories of real brokers: opened and closed unchanged, recovered as Kafka itself does (L5, L7)."""

import pytest

from log_kit import NOW, config, run
from logdirs import CLEAN, UNCLEAN, disk_files, epochs_after_a_load, unpack
from odradek.log import checkpoint, names
from odradek.log.flush import flush_job
from odradek.log.index import transaction_index
from odradek.log.index.offset_index import OffsetIndex
from odradek.log.index.time_index import TimeIndex
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.loading.load import load_log
from odradek.log.log import Log
from odradek.log.producers import producer_snapshot
from odradek.log.storage import Storage
from odradek.reactor.adapters.disk import SystemDisk
from odradek.sim.rng import SimRng

ANY_SIZE = 1 << 31
INTERVALS = {"segments": 200, "txn": 100, "compacted": 100}  # of the topics that do not have the default

disk = SystemDisk()


def log_config(topic):
    is_compacted = topic.startswith("__") or topic == "compacted"
    return config(
        cleanup_policy=("compact",) if is_compacted else ("delete",),
        index_interval_bytes=INTERVALS.get(topic, 4096),
    )


def partitions(directory):
    for path in sorted(directory.iterdir()):
        parsed = names.parse_dir_name(path.name)
        if parsed and path.is_dir() and not parsed[2]:
            yield path, parsed[0], parsed[1]


def contents(path, *, without=(names.PRODUCER_SNAPSHOT,)):
    return {file.name: file.read_bytes() for file in path.iterdir() if not file.name.endswith(without)}


def open_and_close(path, topic, partition, *, clean):
    """Returns the log, closed."""
    recovery_points = checkpoint.read_offsets(disk, str(path.parent / names.RECOVERY_POINTS))
    log_starts = checkpoint.read_offsets(disk, str(path.parent / names.LOG_START_OFFSETS))
    log_config_ = log_config(topic)
    loaded = run(
        load_log(
            disk,
            str(path),
            path.name,
            log_config_,
            had_clean_shutdown=clean,
            recovery_point=recovery_points.get((topic, partition), 0),
            log_start_offset=log_starts.get((topic, partition), 0),
            now_ms=NOW,
            producer_id_expiration_ms=1 << 60,
        )
    )
    log = Log(Storage(disk, SimRng(0)), loaded, log_config_, NOW)
    plan = log.begin_close(NOW)
    run(flush_job(disk, plan))
    log.closed(plan)
    return log


@pytest.mark.parametrize("name", CLEAN)
def test_opened_and_closed_it_is_what_it_was(name, tmp_path):
    for path, topic, partition in partitions(unpack(name, tmp_path)):
        before = contents(path)
        log = open_and_close(path, topic, partition, clean=True)
        if names.LEADER_EPOCHS in before:
            before[names.LEADER_EPOCHS] = epochs_after_a_load(before[names.LEADER_EPOCHS], log.log_end_offset)
        assert contents(path) == before, path.name


@pytest.mark.parametrize("name", CLEAN)
def test_producers_of_a_clean_log_are_those_of_its_last_snapshot(name, tmp_path):
    for path, topic, partition in partitions(unpack(name, tmp_path)):
        newest = max(path.glob("*.snapshot"), default=None)
        log = open_and_close(path, topic, partition, clean=True)
        expected = [] if newest is None else producer_snapshot.decode(newest.read_bytes())
        assert sorted(entry.facts() for entry in log.producers.entries) == sorted(
            entry.facts() for entry in expected
        ), path.name


@pytest.mark.parametrize("name", UNCLEAN)
def test_recovered_as_kafka_recovers(name, tmp_path):
    """Kafka then appended to some of them: what it did not touch must be equal, the others must be the beginning."""
    recovered = unpack(name, tmp_path)
    reference = unpack(name.replace("unclean", "clean"), tmp_path)
    equal = 0
    for path, topic, partition in partitions(recovered):
        open_and_close(path, topic, partition, clean=False)
        theirs = contents(reference / path.name)
        for file, ours in contents(path).items():
            if not file.endswith(names.SEGMENT_FILES):
                continue
            log = file.partition(".")[0] + names.LOG
            if theirs[log] == (path / log).read_bytes():
                assert ours == theirs[file], f"{path.name}/{file}"
                equal += 1
            else:
                assert theirs[log].startswith((path / log).read_bytes())
    assert equal > 100


@pytest.mark.parametrize("name", UNCLEAN)
def test_recovered_again_it_stays_the_same(name, tmp_path):
    for path, topic, partition in partitions(unpack(name, tmp_path)):
        open_and_close(path, topic, partition, clean=False)
        once = contents(path, without=())
        open_and_close(path, topic, partition, clean=False)
        assert contents(path, without=()) == once, path.name


@pytest.mark.contract("G14", "G15", "G27", "G35", "G36", "G43", "G44")
@pytest.mark.parametrize("name", CLEAN + UNCLEAN)
def test_small_files_read_as_kafka_reads_them_and_are_written_as_it_writes_them(name, tmp_path):
    directory = unpack(name, tmp_path)
    checked = 0
    for path, form in disk_files(name).items():
        parts = names.split(path.rpartition("/")[2])
        data = (directory / path).read_bytes()
        if parts is None:
            checked += check_text(path, data)
            continue
        base, kind, _ = parts
        if kind == names.OFFSET_INDEX:
            index = OffsetIndex.decode(data, base, ANY_SIZE)
            assert index.entries == [tuple(entry) for entry in form["entries"]]
            assert index.encode() == data[: len(data) - form["zero_tail"]]
        elif kind == names.TIME_INDEX:
            times = TimeIndex.decode(data, base)
            assert times.entries == [tuple(entry) for entry in form["entries"]]
            assert times.encode() == data[: len(data) - form["zero_tail"]]
        elif kind == names.TRANSACTION_INDEX:
            aborted = transaction_index.decode(data, base)
            assert [{"version": 0, **entry._asdict()} for entry in aborted] == form["entries"]
            assert transaction_index.encode(aborted) == data
        elif kind == names.PRODUCER_SNAPSHOT:
            entries = producer_snapshot.decode(data)
            assert len(entries) == len(form["parsed"]["entries"])
            assert producer_snapshot.encode(entries) == data
        checked += 1
    assert checked > 100


def check_text(path, data):
    file = path.rpartition("/")[2]
    if file == names.LEADER_EPOCHS:
        epochs = LeaderEpochs(checkpoint.parse_epochs(data))
        assert checkpoint.format_epochs(epochs.entries) == data and not epochs.is_dirty
    elif file in (names.RECOVERY_POINTS, names.LOG_START_OFFSETS, names.REPLICATION_OFFSETS, names.CLEANER_OFFSETS):
        assert checkpoint.format_offsets(checkpoint.parse_offsets(data)) == data
    elif file == names.PARTITION_METADATA:
        assert checkpoint.format_partition_metadata(checkpoint.parse_partition_metadata(data)) == data
    else:
        return False
    return True
