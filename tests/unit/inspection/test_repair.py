"""Repair: whatever is damaged, it says which offsets are lost, and the next start serves all the others."""

from functools import partial
from itertools import pairwise

import pytest

from log_kit import append_as_leader, batch, read_records, run
from manager_kit import SimBroker, values
from odradek.inspection.diagnosis import diagnose
from odradek.inspection.findings import ERROR
from odradek.inspection.log_dir_state import LogDirState
from odradek.inspection.repair import mend
from odradek.inspection.verify_dir import verify_dir
from odradek.log import names
from odradek.log.checkpoint import read_offsets
from odradek.records import layout
from odradek.records.batch import batches

DIRECTORY = "data/a/topic-0"
OVERRIDES = {"topic": {"internal.segment.bytes": 900, "index.interval.bytes": 150, "retention.ms": -1}}


def new_broker():
    return SimBroker(dirs=["data/a"], topic_overrides=OVERRIDES, log_cleaner_enable="false")


class Story:
    """A log of some segments and epochs that was stopped, cleanly or not, and what was in it."""

    def __init__(self, is_clean):
        self.is_clean = is_clean
        self.broker = new_broker()
        self.broker.start()
        log = self.broker.create()
        for number in range(24):
            self.broker.on_reactor(lambda number=number: self.append(log, number))
        if is_clean:
            self.broker.stop()
        else:
            self.broker.flush(log)
            self.broker.run(self.broker.manager.schedules.checkpoint_recovery_points())
            self.broker.crash()
        self.files = {
            path: data
            for path, data in sorted(self.broker.disk.snapshot().items())
            if path.endswith(names.LOG) and DIRECTORY in path
        }
        self.written = {record.offset: record.value for data in self.files.values() for record in records_of(data)}
        self.end_offset = max(self.written) + 1
        assert len(self.files) >= 4

    def append(self, log, number):
        records = [b"%d-%d" % (number, each) * 9 for each in range(1 + number % 3)]
        made = batch(*records, producer=5, sequence=log.log_end_offset)
        append_as_leader(log, made, number // 8, self.broker.manager.now_ms)
        log.update_high_watermark(log.log_end_offset)

    def damaged(self, damage):
        broker = new_broker()
        broker.node.disk = broker.node.ports.disk = self.broker.disk.clone()
        damage(broker.disk)
        return broker


def records_of(data):
    for one in batches(data):
        yield from one.records()


def positions(data):
    at = 0
    for one in batches(data):
        yield at, one
        at += one.size


STORIES = {is_clean: Story(is_clean) for is_clean in (True, False)}


def examine(broker):
    state = LogDirState(broker.disk, "data/a")
    return state, run(diagnose(broker.disk, state, "topic-0", ("topic", 0)))


def repaired(broker):
    state, found = examine(broker)
    copies = run(mend(broker.disk, state, found))
    assert not examine(broker)[1].damages, "once is enough"
    assert errors_left(broker) == [], "and the check agrees"
    return found, copies


def errors_left(broker):
    """What a check says of the dir, but for the file that only a whole node writes."""
    shown = []
    run(verify_dir(broker.disk, "data/a", shown.append))
    return [each for each in shown if each.severity == ERROR and each.rule != "meta"]


def lost_offsets(found):
    return {offset for lost in found.lost for offset in range(lost.first, lost.end)}


def check_all_but_the_lost(story, broker, found):
    log = broker.start().get("topic", 0)
    assert broker.set_aside == broker.failed == []
    lost = lost_offsets(found)
    expected = {offset: value for offset, value in story.written.items() if offset not in lost}
    assert {record.offset: record.value for record in read_records(log)} == expected
    assert log.log_end_offset == found.end_offset
    assert broker.set_aside == broker.failed == []
    broker.append(log, "more")
    assert values(broker.restart().get("topic", 0))[-1] == "more"


def flip(path, position, bit, disk):
    disk.flip_bit(path, position, bit)


@pytest.mark.parametrize("is_clean", [True, False])
def test_every_damaged_batch_is_lost_and_no_other(is_clean):
    story = STORIES[is_clean]
    for path, data in story.files.items():
        for at, one in positions(data):
            for byte in (layout.LENGTH_OFFSET + 2, layout.MAGIC_OFFSET, layout.CRC_OFFSET, one.size - 3):
                broker = story.damaged(partial(flip, path, at + byte, byte % 8))
                found, copies = repaired(broker)
                assert (found.damages[0].file, found.damages[0].position) == (path.rpartition("/")[2], at)
                assert lost_offsets(found) == set(range(one.base_offset, one.last_offset + 1))
                assert broker.disk.read(f"{DIRECTORY}/{copies[0]}")
                check_all_but_the_lost(story, broker, found)


@pytest.mark.parametrize("byte", [0, 5, 6, 7])
def test_a_damaged_offset_costs_its_own_batch_at_most(byte):
    story = STORIES[True]
    for path, data in story.files.items():
        for at, one in positions(data):
            broker = story.damaged(partial(flip, path, at + byte, 3))
            found, _ = repaired(broker)
            assert lost_offsets(found) <= set(range(one.base_offset, one.last_offset + 1))
            check_all_but_the_lost(story, broker, found)


def test_a_damaged_leader_epoch_is_put_right_and_nothing_is_lost():
    story = STORIES[True]
    path, data = list(story.files.items())[1]
    inner = [(at, one.partition_leader_epoch) for at, one in positions(data)]
    at = next(at for (at, epoch), (_, after) in pairwise(inner) if epoch == after)
    broker = story.damaged(partial(flip, path, at + layout.LEADER_EPOCH_OFFSET + 3, 5))
    found, _ = repaired(broker)
    assert "leader epoch" in found.damages[0].reason and not found.lost
    assert broker.disk.read(path.removeprefix("/")) == data
    check_all_but_the_lost(story, broker, found)


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_log_that_was_cut_short_ends_where_it_ends(is_clean):
    story = STORIES[is_clean]
    path, data = list(story.files.items())[-1]
    *_, (at, one) = positions(data)
    for end in (at, at + 10):
        broker = story.damaged(lambda disk, end=end: disk.write_atomically(path.removeprefix("/"), data[:end]))
        found, _ = repaired(broker)
        assert lost_offsets(found) == set(range(one.base_offset, story.end_offset))
        for name in (names.RECOVERY_POINTS, names.REPLICATION_OFFSETS):
            assert read_offsets(broker.disk, f"data/a/{name}").get(("topic", 0), 0) <= one.base_offset
        check_all_but_the_lost(story, broker, found)


def test_a_sealed_segment_that_was_cut_where_a_batch_ends_is_filled():
    story = STORIES[True]
    path, data = list(story.files.items())[1]
    *_, (at, one) = positions(data)
    broker = story.damaged(lambda disk: disk.write_atomically(path.removeprefix("/"), data[:at]))
    found, _ = repaired(broker)
    assert lost_offsets(found) == set(range(one.base_offset, one.last_offset + 1))
    check_all_but_the_lost(story, broker, found)


def test_a_whole_page_of_zeros_costs_what_was_on_it():
    story = STORIES[True]
    path, data = list(story.files.items())[1]
    begins = [at for at, _ in positions(data)]
    zeroed = data[: begins[1] + 30] + bytes(begins[3] - begins[1]) + data[begins[3] + 30 :]
    broker = story.damaged(lambda disk: disk.write_atomically(path.removeprefix("/"), zeroed))
    found, _ = repaired(broker)
    hit = [one for at, one in positions(data) if at in begins[1:4]]
    assert lost_offsets(found) == {offset for one in hit for offset in range(one.base_offset, one.last_offset + 1)}
    check_all_but_the_lost(story, broker, found)


def test_several_segments_are_mended_in_one_go():
    story = STORIES[True]

    def damage(disk):
        for path in story.files:
            disk.flip_bit(path, 100, 1)

    broker = story.damaged(damage)
    found, copies = repaired(broker)
    assert len(found.damages) == len(story.files) <= len(copies)
    check_all_but_the_lost(story, broker, found)


@pytest.mark.parametrize("name", [names.LEADER_EPOCHS, names.PARTITION_METADATA])
def test_a_small_file_is_written_anew_from_what_else_is_known(name):
    story = STORIES[True]
    before = story.broker.disk.read(f"{DIRECTORY}/{name}")
    broker = story.damaged(lambda disk: disk.write_atomically(f"{DIRECTORY}/{name}", b"\0\0"))
    found, copies = repaired(broker)
    assert not found.lost and broker.disk.read(f"{DIRECTORY}/{copies[0]}") == b"\0\0"
    if name == names.LEADER_EPOCHS:
        assert broker.disk.read(f"{DIRECTORY}/{name}") == before
    check_all_but_the_lost(story, broker, found)


def test_damage_past_the_recovery_point_is_left_to_recovery():
    broker = new_broker()
    broker.start()
    log = broker.create()
    broker.append(log, "flushed")
    broker.flush(log)
    broker.run(broker.manager.schedules.checkpoint_recovery_points())
    end = log.size
    broker.append(log, "not flushed")
    broker.run(broker.manager.schedules.checkpoint_high_watermarks())
    path = f"{DIRECTORY}/00000000000000000000.log"
    data = broker.disk.read(path)
    broker.crash()
    broker.disk.write_atomically(path, data[: end + 20])
    assert not examine(broker)[1].damages
    assert values(broker.start().get("topic", 0)) == ["flushed"]


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_sound_log_is_left_alone(is_clean):
    broker = STORIES[is_clean].damaged(lambda disk: None)
    _, found = examine(broker)
    assert not found.damages and not found.contents and found.end_offset == STORIES[is_clean].end_offset


def test_the_sequence_numbers_of_a_producer_are_known_afterwards():
    story = STORIES[True]
    path = list(story.files)[1]
    broker = story.damaged(partial(flip, path, 90, 1))
    repaired(broker)
    log = broker.start().get("topic", 0)
    (entry,) = log.producers.entries
    assert entry.last_data_offset == story.end_offset - 1
    broker.append(log, "next", producer=5, sequence=story.end_offset)


def test_looking_changes_nothing():
    story = STORIES[True]
    broker = story.damaged(partial(flip, next(iter(story.files)), 90, 1))
    before = broker.disk.snapshot()
    assert examine(broker)[1].damages
    assert broker.disk.snapshot() == before
