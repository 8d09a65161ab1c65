"""The log manager on this machine's disk and threads."""

import pytest

from log_kit import batch
from manager_kit import TOPIC_ID, RealBroker, values
from odradek.log.log_dir import LogDirRefused
from odradek.log.manager import LogManager

PARTITIONS = 40


@pytest.fixture
def dirs(tmp_path):
    return [tmp_path / "deep" / "a", tmp_path / "b", tmp_path / "c"]


def append(broker, log, *texts):
    now_ms = broker.manager.now_ms
    log.append_as_leader(batch(*(text.encode() for text in texts), timestamp=now_ms), 0, now_ms)
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
    assert broker.manager.broker_epoch_of_clean_shutdown == 5
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
