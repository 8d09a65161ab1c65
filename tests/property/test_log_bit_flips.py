"""A bit that flips between a clean stop and the next start: it is never served, and sets aside its own log alone (L2).

The whole way is taken: a log manager writes, stops, starts again and is read from the first offset to the last, as a
fetch would, in warm and cold page caches, with checks at once and in jobs. Every bit of every batch has a witness, but
for two that Kafka's format cannot give (docs/decisions/0008): the leader epoch of the last batch before a new epoch,
and an offset that moves within a gap of compaction, which this log does not have.
"""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from log_kit import append_as_leader, batch, run
from manager_kit import SimBroker, values
from odradek.inspection.diagnosis import diagnose
from odradek.inspection.log_dir_state import LogDirState
from odradek.inspection.repair import mend
from odradek.log import names
from odradek.log.checkpoint import read_offsets
from odradek.log.failure import LogDamaged, NotInCache
from odradek.log.read import LOG_END
from odradek.log.soundness import soundness
from odradek.protocol import errors
from odradek.records import layout
from odradek.records.batch import batches

DIRECTORY = "data/a/topic-0"
EPOCH_BYTES = range(layout.LEADER_EPOCH_OFFSET, layout.LEADER_EPOCH_OFFSET + 4)


class Stopped:
    """A log of some segments and epochs, written once and closed; `flipped` gives a broker that finds a bit changed."""

    def __init__(self):
        self.broker = SimBroker(
            topic_overrides={"topic": {"internal.segment.bytes": 900, "index.interval.bytes": 150, "retention.ms": -1}},
            log_cleaner_enable="false",
        )
        self.broker.start()
        self.broker.create()
        self.broker.append(self.broker.create("other", target_dir="data/a"), "sound")
        log = self.broker.manager.get("topic", 0)
        for number in range(30):
            values = [b"%d-%d" % (number, each) * (1 + number % 5) for each in range(1 + number % 3)]
            self.broker.on_reactor(lambda values=values, number=number: self.append(log, values, number // 8))
        self.broker.stop()
        self.files = logs_in(self.broker, DIRECTORY)
        self.batches = [  # path, position, size, leader epoch, bytes
            (path, position, one) for path, data in sorted(self.files.items()) for position, one in positions(data)
        ]
        assert len(self.files) >= 4 and self.epochs() == {0, 1, 2, 3}

    def append(self, log, values, epoch):
        append_as_leader(log, batch(*values), epoch, self.broker.manager.now_ms)
        log.update_high_watermark(log.log_end_offset)

    def epochs(self):
        return {one.partition_leader_epoch for _, _, one in self.batches}

    def bytes_in_all(self):
        return sum(map(len, self.files.values()))

    def place(self, number):
        for path, data in sorted(self.files.items()):
            if number < len(data):
                return path, number
            number -= len(data)
        raise IndexError(number)

    def is_without_witness(self, path, position):
        """The epoch of the last batch before a new one."""
        for number, (its_path, start, one) in enumerate(self.batches[:-1]):
            if its_path == path and start <= position < start + one.size:
                after = self.batches[number + 1][2]
                return position - start in EPOCH_BYTES and after.partition_leader_epoch != one.partition_leader_epoch
        return False

    def flipped(self, path, position, bit):
        broker = SimBroker(topic_overrides=self.broker.topic_overrides, log_cleaner_enable="false")
        broker.node.disk = broker.node.ports.disk = self.broker.disk.clone()
        broker.disk.flip_bit(path, position, bit)
        return broker


def positions(data):
    at = 0
    for one in batches(data):
        yield at, one
        at += one.size


def logs_in(broker, directory):
    found = broker.disk.snapshot().items()
    return {path: data for path, data in found if path.endswith(names.LOG) and directory in path}


STOPPED = Stopped()


def fetch(broker, log, offset, max_bytes):
    """As a fetch does: waits for what is not there yet, and tells the manager of damage."""
    while True:
        try:
            return broker.on_reactor(lambda: log.read(offset, max_bytes, isolation=LOG_END))
        except NotInCache as cold:
            waiting = broker.on_reactor(lambda cold=cold: broker.manager.read_ahead(log, cold))
            waiting.is_observed = True
            assert broker.world.run_until(lambda waiting=waiting: waiting.is_done), "it never ends"
            waiting.value()
        except LogDamaged as damage:
            broker.manager.handle_failure(damage)
            raise


def served(broker, max_bytes):
    """The batches up to the end or to the damage, and the damage."""
    log = broker.manager.get("topic", 0)
    found, offset = [], log.log_start_offset
    try:
        while offset < log.log_end_offset:
            records = fetch(broker, log, offset, max_bytes).records
            data = records.disk_file.pread(records.size, records.position)
            records.release()
            whole = list(batches(data))
            assert whole, "a read gives at least one whole batch"
            found += whole
            offset = whole[-1].last_offset + 1
    except errors.KafkaStorageError:  # it has come upon the damage, or somebody else has before
        return found, broker.manager.dirs.find_set_aside(("topic", 0)).damage
    return found, None


def read_it(broker, max_bytes, is_cold):
    """(batches, damage); a log that could not even be loaded has served nothing."""
    broker.start()
    if is_cold:
        broker.disk.evict()
    if broker.manager.get("topic", 0) is None:
        return [], broker.manager.dirs.find_set_aside(("topic", 0)).damage
    return served(broker, max_bytes)


@pytest.mark.parametrize("is_cold", [False, True])
@pytest.mark.parametrize("max_bytes", [1, 400, 1 << 20])
def test_an_unchanged_log_is_served_whole_and_each_segment_is_checked_once(is_cold, max_bytes):
    broker = STOPPED.flipped(STOPPED.batches[0][0], 0, 0)
    broker.disk.flip_bit(STOPPED.batches[0][0], 0, 0)  # back again
    found, damage = read_it(broker, max_bytes, is_cold)
    assert damage is None and broker.failed == broker.set_aside == []
    assert [one.buffer for one in found] == [one.buffer for _, _, one in STOPPED.batches]
    assert [segment.unchecked for segment in broker.manager.get("topic", 0).segments] == [()] * len(STOPPED.files)


@settings(max_examples=400)
@given(
    number=st.integers(0, STOPPED.bytes_in_all() - 1),
    bit=st.integers(0, 7),
    max_bytes=st.sampled_from([1, 400, 1 << 20]),
    is_cold=st.booleans(),
    at_once=st.sampled_from([0, 300, 128 << 10]),
)
def test_a_flipped_bit_is_never_served(number, bit, max_bytes, is_cold, at_once):
    check_flip(*STOPPED.place(number), bit, max_bytes, is_cold, at_once)


@settings(max_examples=200)
@given(
    number=st.integers(0, len(STOPPED.batches) - 1),
    byte=st.integers(0, layout.CRC_OFFSET - 1),
    bit=st.integers(0, 7),
    max_bytes=st.sampled_from([1, 400, 1 << 20]),
    is_cold=st.booleans(),
)
def test_nor_is_one_in_the_fields_that_no_checksum_covers(number, byte, bit, max_bytes, is_cold):
    path, position, _ = STOPPED.batches[number]
    check_flip(path, position + byte, bit, max_bytes, is_cold, 128 << 10)


@settings(max_examples=150)
@example(number=184, bit=0, max_bytes=1, is_cold=False)  # an entry that leads into the middle of a batch
@given(
    number=st.integers(0, 1 << 20),
    bit=st.integers(0, 7),
    max_bytes=st.sampled_from([1, 400, 1 << 20]),
    is_cold=st.booleans(),
)
def test_a_flipped_bit_in_an_index_changes_no_answer(number, bit, max_bytes, is_cold):
    indexes = {
        path: data
        for path, data in sorted(STOPPED.broker.disk.snapshot().items())
        if data and path.endswith((names.OFFSET_INDEX, names.TIME_INDEX)) and DIRECTORY in path
    }
    path = list(indexes)[number % len(indexes)]
    broker = STOPPED.flipped(path, number // len(indexes) % len(indexes[path]), bit)
    found, damage = read_it(broker, max_bytes, is_cold)
    assert damage is None and broker.failed == broker.set_aside == []
    assert [one.buffer for one in found] == [one.buffer for _, _, one in STOPPED.batches]


@settings(max_examples=60)
@given(number=st.integers(0, STOPPED.bytes_in_all() - 1), bit=st.integers(0, 7))
def test_what_is_set_aside_is_served_again_after_a_repair(number, bit):
    path, position = STOPPED.place(number)
    broker = STOPPED.flipped(path, position, bit)
    state = LogDirState(broker.disk, "data/a")
    found = run(diagnose(broker.disk, state, "topic-0", ("topic", 0)))
    if found.damages:
        run(mend(broker.disk, state, found))
    lost = {offset for each in found.lost for offset in range(each.first, each.end)}
    served_again, damage = read_it(broker, 1 << 20, False)
    assert damage is None and broker.set_aside == broker.failed == []
    expected = [offset for offset in offsets(one for _, _, one in STOPPED.batches) if offset not in lost]
    assert offsets(served_again) == expected
    assert len(lost) <= 3, "no more than were in the batch"


def offsets(found):
    return [record.offset for one in found for record in one.records()]


def check_flip(path, position, bit, max_bytes, is_cold, at_once):
    broker = STOPPED.flipped(path, position, bit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(soundness, "CHECK_AT_ONCE_BYTES", at_once)
        found, damage = read_it(broker, max_bytes, is_cold)
    if STOPPED.is_without_witness(path, position):
        return
    sound = [one.buffer for _, _, one in STOPPED.batches]
    assert [one.buffer for one in found] == sound[: len(found)], "only what was written is served"
    assert damage is not None and f"/{damage.path}" == path, "and not all of it: the damage is found"
    assert damage.position is not None
    assert broker.failed == [] and broker.set_aside == [("topic", 0)]
    with pytest.raises(errors.KafkaStorageError):
        broker.manager.get("topic", 0) or broker.create()
    check_the_rest(broker)


def check_the_rest(broker):
    """Nothing of the damaged log was touched, and the other one of the dir goes on as if it were alone."""
    flipped = logs_in(broker, DIRECTORY)
    other = broker.manager.get("other", 0)
    broker.append(other, "more")
    assert values(other) == ["sound", "more"]
    broker.restart()
    assert values(broker.manager.get("other", 0)) == ["sound", "more"]
    assert logs_in(broker, DIRECTORY) == flipped
    checkpoint = read_offsets(broker.disk, f"data/a/{names.RECOVERY_POINTS}")
    assert checkpoint["topic", 0] == STOPPED.batches[-1][2].last_offset + 1
