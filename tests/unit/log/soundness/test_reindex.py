"""An index that leads astray in a running log: the answer is right at once, and the index is right soon after (L5)."""

import pytest

from log_kit import NOW, read_bytes, run
from manager_kit import SimBroker
from odradek.log import names
from odradek.log.index.offset_index import OffsetIndex
from odradek.log.read import LOG_END
from odradek.log.soundness.reindex import install, plan, reindex_job
from odradek.records.batch import batches

DIRECTORY = "data/a/topic-0"


@pytest.fixture
def broker():
    made = SimBroker(
        dirs=["data/a"],
        topic_overrides={"topic": {"internal.segment.bytes": 2000, "index.interval.bytes": 200}},
        log_cleaner_enable="false",
    )
    made.start()
    log = made.create()
    for number in range(40):
        made.append(log, f"{number:02d}" * 20)
    return made


def first_offset(log, offset):
    return next(iter(batches(read_bytes(log, offset, 1, isolation=LOG_END)))).base_offset


def led_astray(broker, base_offset):
    """Its third entry has the position of no batch. Returns the file as it should be, and an offset it is asked for."""
    path = f"{DIRECTORY}/{names.file_name(base_offset, names.OFFSET_INDEX)}"
    before = broker.disk.read(path)
    index = OffsetIndex.decode(before, base_offset, 1 << 20)
    index.positions[2] += 7
    broker.disk.damage(path, 0, index.encode())
    return before, path, index.entries[2][0]


def test_of_a_sealed_segment(broker):
    log = broker.restart().get("topic", 0)
    told = []
    broker.manager.on_reindexed = told.append
    base_offset = log.segments.base_offsets[1]
    before, path, offset = led_astray(broker, base_offset)
    assert broker.on_reactor(lambda: first_offset(log, offset)) == offset
    segment = log.segments.get(base_offset)
    assert segment.indexes.needs_rebuild and len(segment.offset_index()) == 0
    broker.sleep(100)
    assert not segment.indexes.needs_rebuild
    assert told == [f"{DIRECTORY}/{names.file_name(base_offset, names.LOG)}"]
    assert broker.disk.read(path) == before == segment.offset_index().encode()
    assert first_offset(log, offset) == offset and broker.failed == []
    assert segment.unchecked == (), "it was read as a whole"


def test_of_the_active_segment_while_it_grows(broker):
    log = broker.restart().get("topic", 0)
    broker.append(log, "opens it")
    active = log.active
    known = active.offset_index().entries
    active.indexes.write_pending()
    broker.on_reactor(active.indexes.distrust_offsets)
    for _ in range(6):
        broker.append(log, "y" * 150)
    assert log.active is active, "the test wants one segment"
    broker.sleep(100)
    entries = active.offset_index().entries
    assert entries[: len(known)] == known and len(entries) > len(known)
    assert all(first_offset(log, offset) == offset for offset, _ in entries)
    broker.flush(log)
    path = active.path(names.OFFSET_INDEX)
    assert broker.disk.read(path) == active.offset_index().encode()
    assert broker.restart().get("topic", 0).log_end_offset == 47


def test_a_segment_that_leaves_the_log_meanwhile_fails_nothing(broker):
    log = broker.restart().get("topic", 0)
    base_offset = log.segments.base_offsets[0]
    _, _, offset = led_astray(broker, base_offset)

    def work():
        assert log.segments.get(base_offset).locate(offset, may_block=True)[2] == offset
        log.increment_log_start_offset(log.segments.base_offsets[1])

    broker.on_reactor(work)
    broker.run(broker.manager.schedules.delete_old_segments())
    broker.sleep(70_000)
    assert broker.failed == [] and base_offset not in log.segments
    assert f"{base_offset:020d}.index" not in broker.names(DIRECTORY)


def test_a_segment_whose_files_are_gone_when_the_job_begins_is_left_alone(broker):
    log = broker.restart().get("topic", 0)
    segment = log.segments.first
    planned = plan(log, segment, NOW)
    segment.release()
    broker.disk.rename(segment.path(names.LOG), segment.path(names.LOG) + names.DELETED)
    assert run(reindex_job(broker.disk, planned)) is None
    assert not install(log, planned, None)


def test_damage_of_the_log_that_the_rebuild_finds_sets_it_aside(broker):
    log = broker.restart().get("topic", 0)
    base_offset = log.segments.base_offsets[1]
    broker.on_reactor(log.segments.get(base_offset).indexes.distrust_offsets)
    broker.disk.flip_bit(f"{DIRECTORY}/{names.file_name(base_offset, names.LOG)}", 500)
    broker.sleep(100)
    assert broker.failed == [] and broker.set_aside == [("topic", 0)] and log.is_closed
