"""The log manager on this machine's disk and threads."""

from pathlib import Path

import pytest

from log_kit import append_as_leader, batch
from manager_kit import TOPIC_ID, RealBroker, values
from odradek.log import names
from odradek.log.failure import LogDamaged, NotInCache
from odradek.log.manager.log_dir import LogDirRefused
from odradek.log.manager.manager import LogManager
from odradek.records.batch import batches

PARTITIONS = 40


@pytest.fixture
def dirs(tmp_path):
    return [tmp_path / "deep" / "a", tmp_path / "b", tmp_path / "c"]


def append(broker, log, *texts):
    now_ms = broker.manager.now_ms
    append_as_leader(log, batch(*(text.encode() for text in texts), timestamp=now_ms), 0, now_ms)
    log.update_high_watermark(log.log_end_offset)


def filled(dirs):
    broker = RealBroker(*dirs)
    broker.run(broker.manager.start())
    for number in range(PARTITIONS):
        log = broker.run(broker.manager.get_or_create("topic", number, TOPIC_ID))
        append(broker, log, f"{number}", "more")
    return broker


def test_a_whole_life(dirs):
    broker = filled(dirs)
    broker.run(broker.manager.delete("topic", 7))
    broker.run(broker.manager.stop(5))
    broker.close()
    broker = RealBroker(*dirs)
    broker.run(broker.manager.start())
    assert all(log_dir.had_clean_shutdown for log_dir in broker.manager.dirs.online)
    assert len(broker.manager.current) == PARTITIONS - 1 and broker.manager.get("topic", 7) is None
    assert all(values(log) == [str(number), "more"] for (_, number), log in broker.manager.current.items())
    assert max(len(log_dir) for log_dir in broker.manager.dirs.online) <= PARTITIONS // 3 + 1
    broker.run(broker.manager.stop())
    broker.close()


def test_after_a_kill_everything_is_recovered(dirs):
    broker = filled(dirs)
    broker.close()  # the page cache survives; nobody was told
    for log_dir in broker.manager.dirs.by_path.values():
        log_dir.release_lock()
    broker = RealBroker(*dirs)
    broker.run(broker.manager.start())
    assert all(values(log) == [str(number), "more"] for (_, number), log in broker.manager.current.items())
    assert len(broker.manager.current) == PARTITIONS
    broker.run(broker.manager.stop())
    broker.close()


def test_a_second_broker_is_kept_out(dirs):
    broker = filled(dirs)
    second = LogManager(broker.loop, broker.manager.topic_configs.layers, log_dirs=[str(dirs[0])])
    with pytest.raises(LogDirRefused, match=r"a is in use: locked by this process"):
        broker.run(second.start())
    append(broker, broker.manager.get("topic", 0), "still there")
    broker.run(broker.manager.stop())
    broker.close()


def fetched_bytes(broker, log):
    """Reads everything, as a fetch does; how much it was."""
    offset = total = 0
    while offset < log.log_end_offset:
        try:
            records = log.read(offset, 1 << 20).records
        except NotInCache as cold:
            broker.loop.run_until(broker.manager.read_ahead(log, cold))
            continue
        *_, last = batches(records.disk_file.pread(records.size, records.position))
        offset, total = last.last_offset + 1, total + records.size
        records.release()
    return total


def test_a_bit_that_flips_between_stop_and_start_sets_the_log_aside(dirs):
    broker = RealBroker(*dirs)
    broker.run(broker.manager.start())
    log = broker.run(broker.manager.get_or_create("topic", 0, TOPIC_ID))
    for number in range(6):
        append(broker, log, f"{number}" * 300_000)
    size = log.size
    path = Path(log.active.path(names.LOG))
    broker.run(broker.manager.stop())
    broker.close()
    for flipped, position in ((False, 0), (True, size // 2 + 100)):
        if flipped:
            data = bytearray(path.read_bytes())
            data[position] ^= 4
            path.write_bytes(data)
        broker = RealBroker(*dirs)
        broker.run(broker.manager.start())
        log = broker.manager.get("topic", 0)
        if not flipped:
            assert fetched_bytes(broker, log) == size
        else:
            with pytest.raises(LogDamaged, match="checksum") as failure:
                fetched_bytes(broker, log)
            assert (failure.value.path, failure.value.position) == (str(path), size // 2)
            assert not broker.manager.dirs.offline and broker.manager.get("topic", 0) is None
            assert broker.manager.dirs.find_set_aside(("topic", 0)).damage is failure.value
        broker.run(broker.manager.stop())
        broker.close()
