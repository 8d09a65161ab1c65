"""Indexes that were found on disk: what is believed of them, who proves them, and how they are put right."""

import random

import pytest

from log_kit import NOW, Partition, append_as_leader, config, marker
from manager_kit import SimBroker
from odradek import native
from odradek.log import names
from odradek.log.append import COORDINATOR
from odradek.log.batches.batch_search import WALK_BYTES
from odradek.log.batches.pure_batch_search import walk_heads
from odradek.log.index.time_index import TimeIndex
from odradek.log.read import TXN_COMMITTED
from odradek.log.soundness.committed import all_aborted

DIRECTORY = "data/a/topic-0"


def end(broker, log, producer, *, commit):
    def work():
        append_as_leader(
            log,
            marker(producer, commit=commit, timestamp=broker.manager.now_ms),
            0,
            broker.manager.now_ms,
            origin=COORDINATOR,
        )
        log.update_high_watermark(log.log_end_offset)

    broker.on_reactor(work)


def transactional(broker, log, producer, number):
    broker.append(log, f"{number:02d}" * 10, producer=producer, sequence=number, transactional=True)


@pytest.fixture
def broker():
    """Three segments of transactions that overlap; every second one is aborted."""
    made = SimBroker(
        dirs=["data/a"],
        topic_overrides={"topic": {"internal.segment.bytes": 1000, "index.interval.bytes": 150}},
        log_cleaner_enable="false",
    )
    made.start()
    log = made.create()
    for number in range(12):
        transactional(made, log, 1 + number % 2, number // 2)
        made.sleep(50)
        if number:
            end(made, log, 1 + (number - 1) % 2, commit=number % 4 < 2)
    end(made, log, 2, commit=True)
    assert len(log.segments) == 3
    return made


def paths(broker, kind):
    return [path.lstrip("/") for path in broker.files(DIRECTORY) if path.endswith(kind)]


def read_committed(broker, log, offset=0):
    fetched = broker.on_reactor(lambda: log.read(offset, 1 << 20, isolation=TXN_COMMITTED))
    if fetched.records is not None:
        fetched.records.release()
    return [(each.producer_id, each.first_offset, each.last_offset) for each in fetched.aborted_transactions]


def test_after_a_restart_the_batches_tell_what_the_index_told_before(broker):
    log = broker.manager.get("topic", 0)
    starts = [segment.base_offset for segment in log.segments]
    before = [read_committed(broker, log, offset) for offset in starts]
    assert all(before)
    log = broker.restart().get("topic", 0)
    log.update_high_watermark(log.log_end_offset)
    assert [read_committed(broker, log, offset) for offset in starts] == before
    assert not any(segment.indexes.needs_rebuild for segment in log.segments)


def flipped(data):
    """A bit of the last timestamp of a time index, of the last marker's offset in a transaction index."""
    at = len(data) - (9 if len(data) % 34 == 0 else 5)
    return data[:at] + bytes([data[at] ^ 2]) + data[at + 1 :]


@pytest.mark.parametrize(
    ("kind", "damage"),
    [
        (names.TIME_INDEX, flipped),
        (names.TIME_INDEX, lambda data: data[:-12]),
        (names.TIME_INDEX, None),
        (names.TRANSACTION_INDEX, flipped),
        (names.TRANSACTION_INDEX, lambda data: data[:-34]),
        (names.TRANSACTION_INDEX, None),
        (names.OFFSET_INDEX, None),
    ],
)
def test_an_index_that_is_found_out_is_on_disk_as_it_should_be_soon_after(broker, kind, damage):
    broker.stop()
    before = {path: broker.disk.read(path) for path in paths(broker, kind)}
    path = paths(broker, kind)[1]
    if damage is None:
        broker.disk.unlink(path)
    else:
        broker.disk.write_atomically(path, damage(before[path]))
    log = broker.start().get("topic", 0)
    log.update_high_watermark(log.log_end_offset)
    for segment in list(log.segments):
        read_committed(broker, log, segment.base_offset)
        for offset in range(segment.base_offset, log.log_end_offset, 2):
            broker.on_reactor(lambda offset=offset: log.read(offset, 1)).records.release()
    told = []
    job = log.lookup_job(broker.manager.now_ms - 1, told=told)
    broker.run(submitted(broker, job))
    broker.on_reactor(lambda: log.note_times(log.generation, told))
    broker.sleep(200)
    assert broker.failed == []
    assert {path: broker.disk.read(path) for path in paths(broker, kind)} == before


async def submitted(broker, job):
    return await broker.loop.submit(job)


def test_what_is_appended_after_a_restart_is_believed(broker):
    log = broker.restart().get("topic", 0)
    start = log.log_end_offset
    transactional(broker, log, 1, 6)
    end(broker, log, 1, commit=False)
    assert read_committed(broker, log, start) == [(1, start, start + 1)]


def test_a_transaction_from_before_a_restart_that_is_aborted_after_it(broker):
    log = broker.manager.get("topic", 0)
    start = log.log_end_offset
    transactional(broker, log, 1, 6)
    log = broker.restart().get("topic", 0)
    end(broker, log, 1, commit=False)
    assert read_committed(broker, log, start) == [(1, start, start + 1)]


def test_retention_deletes_nothing_for_a_timestamp_that_damage_has_made_old(broker):
    broker.stop()
    old = TimeIndex(0)
    old.maybe_append(1000, 3)
    broker.disk.write_atomically(paths(broker, names.TIME_INDEX)[0], old.encode())
    broker.topic_overrides["topic"]["retention.ms"] = 3_600_000
    log = broker.start().get("topic", 0)
    log.update_high_watermark(log.log_end_offset)
    assert log.segments.first.max_timestamp == 1000
    assert log.delete_old_segments(broker.manager.now_ms) is None, "it may be wrong"
    broker.run(broker.manager.schedules.delete_old_segments())
    assert log.log_start_offset == 0 and broker.failed == []
    assert log.segments.first.max_timestamp > 1000 and not log.segments.first.has_doubted_times


def test_compaction_drops_nothing_that_a_flipped_index_calls_aborted():
    partition = Partition(log_config=config(cleanup_policy="compact"))
    for number in range(4):
        partition.append(b"x", producer=1, sequence=number, transactional=True)
        append_as_leader(partition.log, marker(1, commit=number != 2), 0, NOW, origin=COORDINATOR)
    partition.log.roll(NOW)
    partition.append(b"y")
    before = all_aborted(partition.log)
    assert [(each.producer_id, each.first_offset, each.last_offset) for each in before] == [(1, 4, 5)]
    partition.close()
    path = next(path for path in partition.disk.snapshot() if path.endswith(names.TRANSACTION_INDEX))
    partition.disk.flip_bit(path, 2 + 8 + 7, 2)  # its first offset is 0 now: committed records would go
    partition.load(clean=True)
    found = all_aborted(partition.log)
    assert [(each.producer_id, each.first_offset, each.last_offset) for each in found] == [(1, 4, 5)]


def test_the_twins_walk_alike():
    compiled = native.load_compiled("odradek.log.batches._batch_search").walk_heads
    partition = Partition()
    for number in range(40):
        partition.append(*[b"x" * (number % 7)] * (1 + number % 3))
    segment = partition.log.active
    data = bytes(segment.file.disk_file.pread(segment.size, 0))
    draw = random.Random(5)
    for _ in range(2000):
        piece = bytearray(data[draw.choice([0, 0, 7]) :][: draw.randrange(WALK_BYTES)])
        if piece and draw.random() < 0.5:
            piece[draw.randrange(len(piece))] ^= 1 << draw.randrange(8)
        offset = draw.choice([-1, 0, draw.randrange(100), 1 << 62])
        assert compiled(piece, offset) == walk_heads(piece, offset)
