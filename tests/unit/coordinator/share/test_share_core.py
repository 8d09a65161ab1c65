"""The core of the share coordinator: what is written, who is fenced, when a snapshot is due, what may be pruned."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.coordinator.now import Now
from odradek.coordinator.share.core import Prune, ShareCore, ShareCoreConfig, Write
from odradek.coordinator.share.state import combined
from odradek.protocol import errors
from odradek.protocol.messages.share_state import ShareSnapshotValue, ShareUpdateValue
from odradek.replica.share.persisted import (
    ACKNOWLEDGED,
    ARCHIVED,
    AVAILABLE,
    SharePartitionKey,
    StateBatch,
    parse_coordinator_key,
)

TOPIC = b"t" * 16
KEY = SharePartitionKey("g", TOPIC, 0)
OTHER = SharePartitionKey("g", TOPIC, 1)


class Log:
    """Appends what a core decides, and replays it: into the core, and into another one that loads it later."""

    def __init__(self, **config):
        self.config = ShareCoreConfig(**config)
        self.records = []
        self.at_ms = 0
        self.core = self.fresh()

    def fresh(self):
        return ShareCore(self.config, lambda topic_id, partition: topic_id == TOPIC and partition < 2)

    @property
    def now(self):
        return Now(self.at_ms, 1_000_000 + self.at_ms)

    def run(self, event):
        decided = event(self.core)
        for record, _ in decided.records:
            self.core.replay(record, len(self.records))
            self.records.append(record)
        self.core.validate()
        return decided

    def reloaded(self):
        core = self.fresh()
        for offset, record in enumerate(self.records):
            core.replay(record, offset)
        core.validate()
        return core

    def values(self):
        return [record.value for record in self.records]

    # Events

    def initialize(self, key=KEY, state_epoch=1, start_offset=-1):
        self.run(lambda core: core.initialize(self.now, key, state_epoch, start_offset))

    def read(self, leader_epoch, key=KEY):
        return self.run(lambda core: core.read(self.now, key, leader_epoch)).response

    def write(self, *batches, key=KEY, state_epoch=1, leader_epoch=0, start_offset=0, done=0):
        batches = tuple(StateBatch(*each) for each in batches)
        self.run(lambda core: core.write(self.now, key, Write(state_epoch, leader_epoch, start_offset, done, batches)))


def test_what_was_written_is_read_back():
    log = Log()
    log.initialize()
    assert log.read(0)[3:5] == (-1, -1)
    log.write((0, 4, ACKNOWLEDGED, 1), done=5)
    log.write((5, 9, AVAILABLE, 2), start_offset=5)
    state = log.read(0)
    assert (state.start_offset, state.batches) == (5, ((5, 9, AVAILABLE, 2),))
    assert log.reloaded().states == log.core.states


def test_nothing_is_read_or_written_that_was_not_set_up():
    log = Log()
    with pytest.raises(errors.InvalidRequest):
        log.read(0)
    with pytest.raises(errors.InvalidRequest):
        log.write((0, 0, ACKNOWLEDGED, 1))
    assert log.run(lambda core: core.summary(KEY)).response is None
    assert log.run(lambda core: core.delete(KEY)).records == []
    assert log.records == []


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (SharePartitionKey("g", b"x" * 16, 0), errors.UnknownTopicOrPartition),
        (SharePartitionKey("g", TOPIC, 2), errors.UnknownTopicOrPartition),
        (SharePartitionKey("g", TOPIC, -1), errors.InvalidRequest),
        (SharePartitionKey("", TOPIC, 0), errors.InvalidRequest),
    ],
)
def test_what_is_no_share_partition(key, error):
    with pytest.raises(error):
        Log().initialize(key)


def test_an_older_leader_is_fenced_by_a_read_of_the_next():
    log = Log()
    log.initialize()
    log.write((0, 0, ACKNOWLEDGED, 1), leader_epoch=1)
    log.read(2)
    assert log.core.states[KEY].leader_epoch == 2
    for event in (lambda: log.write((1, 1, ACKNOWLEDGED, 1), leader_epoch=1), lambda: log.read(1)):
        with pytest.raises(errors.FencedLeaderEpoch):
            event()
    assert log.reloaded().states[KEY].leader_epoch == 2


def test_a_state_that_was_set_up_anew_fences_who_holds_the_old_one():
    log = Log()
    log.initialize(state_epoch=1)
    log.write((0, 0, ACKNOWLEDGED, 1))
    log.initialize(state_epoch=3, start_offset=7)
    with pytest.raises(errors.FencedStateEpoch):
        log.write((0, 0, ACKNOWLEDGED, 1), state_epoch=1)
    with pytest.raises(errors.FencedStateEpoch):
        log.initialize(state_epoch=2)
    state = log.core.states[KEY]
    assert (state.snapshot_epoch, state.start_offset, state.batches, state.delivery_complete_count) == (1, 7, (), 0)


def test_a_snapshot_after_so_many_updates():
    log = Log(updates_per_snapshot=2)
    log.initialize()
    for offset in range(6):
        log.write((offset, offset, ACKNOWLEDGED, 1))
    kinds = [type(value) for value in log.values()]
    update, snapshot = ShareUpdateValue, ShareSnapshotValue
    assert kinds == [snapshot, update, update, snapshot, update, update, snapshot]
    assert [value.snapshot_epoch for value in log.values()] == [0, 0, 0, 1, 1, 1, 2]
    assert log.core.states[KEY].batches == ((0, 5, ACKNOWLEDGED, 1),)
    assert log.reloaded().states == log.core.states


def test_what_is_deleted_is_gone():
    log = Log()
    log.initialize()
    log.initialize(OTHER)
    log.run(lambda core: core.delete(KEY))
    assert list(log.reloaded().states) == [OTHER]
    log.run(lambda core: core.topics_deleted({TOPIC}))
    assert log.reloaded().states == {}


def test_only_what_no_snapshot_needs_is_pruned():
    log = Log(updates_per_snapshot=0, prune_interval_ms=10, cold_snapshot_interval_ms=1000)
    log.core.loaded(log.now)
    log.initialize()
    log.initialize(OTHER)
    log.write((0, 0, ACKNOWLEDGED, 1), key=OTHER)
    log.at_ms = 10
    assert log.core.next_deadline_ms() == 10
    assert log.run(lambda core: core.expire(log.now)).effects == ()  # the first one is needed still
    log.write((0, 0, ACKNOWLEDGED, 1))
    log.at_ms = 20
    assert log.run(lambda core: core.expire(log.now)).effects == [Prune(2)]
    log.at_ms = 30
    assert log.run(lambda core: core.expire(log.now)).effects == ()
    assert log.core.expire(log.now) is None


def test_a_cold_one_does_not_hold_back_the_others():
    log = Log(cold_snapshot_interval_ms=100, prune_interval_ms=150)
    log.core.loaded(log.now)
    log.initialize()
    log.write((0, 0, ACKNOWLEDGED, 1))
    log.at_ms = 100
    log.run(lambda core: core.expire(log.now))
    assert isinstance(log.values()[-1], ShareSnapshotValue)
    log.at_ms = 150
    assert log.run(lambda core: core.expire(log.now)).effects == [Prune(2)]
    log.at_ms = 200
    assert log.run(lambda core: core.expire(log.now)).records == []


@pytest.mark.parametrize(
    ("old", "new", "start", "expected"),
    [
        ([(0, 9, AVAILABLE, 1)], [(3, 5, ACKNOWLEDGED, 2)], 0, [(0, 2, 0, 1), (3, 5, 2, 2), (6, 9, 0, 1)]),
        ([(0, 4, ACKNOWLEDGED, 1)], [(5, 9, ACKNOWLEDGED, 1)], 0, [(0, 9, 2, 1)]),
        ([(0, 9, AVAILABLE, 1)], [(0, 9, ARCHIVED, 5)], 0, [(0, 9, 4, 5)]),
        ([(0, 9, AVAILABLE, 1)], [], 4, [(4, 9, 0, 1)]),
        (
            [(0, 3, AVAILABLE, 1), (4, 9, AVAILABLE, 2)],
            [(2, 6, AVAILABLE, 3)],
            0,
            [(0, 1, 0, 1), (2, 6, 0, 3), (7, 9, 0, 2)],
        ),
    ],
)
def test_new_batches_lie_over_old_ones(old, new, start, expected):
    found = combined([StateBatch(*each) for each in old], [StateBatch(*each) for each in new], start)
    assert [tuple(each) for each in found] == expected


OFFSETS = st.tuples(st.integers(0, 30), st.integers(0, 6), st.sampled_from([0, 2, 4]), st.integers(1, 2))


@given(st.lists(st.lists(OFFSETS, max_size=8), max_size=6), st.integers(0, 20))
def test_the_last_word_about_an_offset_counts(writes, start):
    """Against a map of every offset; writes with overlaps in them too."""
    known, batches = {}, ()
    for write in writes:
        new = [StateBatch(first, first + size, state, count) for first, size, state, count in write]
        is_plain = len({offset for each in new for offset in range(each[0], each[1] + 1)}) == sum(
            each[1] - each[0] + 1 for each in new
        )
        batches = combined(batches, new, 0)
        for each in sorted(new) if is_plain else new:
            known.update(dict.fromkeys(range(each[0], each[1] + 1), each[2:]))
    told = {}
    for batch in combined(batches, (), start):
        assert batch.first_offset <= batch.last_offset and not told.keys() & set(range(batch[0], batch[1] + 1))
        told.update(dict.fromkeys(range(batch[0], batch[1] + 1), batch[2:]))
    assert told == {offset: value for offset, value in known.items() if offset >= start}


def test_a_key_is_the_same_in_both_directions():
    key = SharePartitionKey("a:group", bytes(range(16)), 7)
    assert parse_coordinator_key(key.as_coordinator_key()) == key
