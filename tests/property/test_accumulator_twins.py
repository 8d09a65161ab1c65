"""The two executors of the accumulator do the same: places, bytes, outcomes, memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accumulator_kit import accumulator, executors, parts_of, records_of
from odradek.client.producer.batch import ProducerIdAndEpoch

EXECUTORS = [each.values[0] for each in executors()]

keys = st.none() | st.binary(max_size=20)
values = st.none() | st.binary(max_size=400)
timestamps = st.none() | st.integers(-1, 2**63 - 1)
not_bytes = st.sampled_from(["text", 7, bytearray(b"b")])
numbers = st.tuples(st.integers(0, 2**63 - 1), st.integers(0, 2**15 - 1), st.integers(0, 2**31 - 1))
headers = st.sampled_from([b"\0", b"\2\2k\2v"])

steps = st.one_of(
    st.tuples(st.just("send"), keys, values, timestamps),
    st.tuples(st.just("append"), keys, values, st.integers(-1, 2), headers, st.booleans()),
    st.tuples(st.just("many"), st.lists(st.tuples(keys, values | not_bytes), max_size=20), st.integers(-1, 2)),
    st.tuples(st.just("take"), st.integers(0, 2)),
    st.tuples(st.just("encode"), st.integers(0, 31), numbers | st.none()),
    st.tuples(
        st.just("done"),
    ),
    st.tuples(st.just("leaders"), st.lists(st.sampled_from([-1, 1, 2]), min_size=3, max_size=3)),
    st.tuples(
        st.just("touched"),
    ),
)


class Run:
    """One executor, driven by the steps; `told` is all that can be seen of it."""

    def __init__(self, executor, adaptive, ignores_keys):
        self.accumulator = accumulator(
            executor, total_bytes=4000, partitions=3, adaptive=adaptive, ignores_keys=ignores_keys
        )
        self.accumulator.slow_send = lambda *asked: ("slow", *asked)
        self.accumulator.wake = lambda: self.told.append("woken")
        self.topic = self.accumulator.topics["t"]
        self.taken = []
        self.encoded = []
        self.told = []

    def step(self, name, *given):
        self.told.append(getattr(self, name)(*given))
        pool = self.accumulator.pool
        self.told.append((*parts_of(pool), self.topic.sticky, self.topic.produced_bytes))

    def send(self, key, value, timestamp):
        return self.told_of(self.accumulator.send("t", value, key, timestamp_ms=timestamp))

    def append(self, key, value, partition, headers, opens):
        future = self.accumulator.append(self.topic, partition, 5, key, value, headers, 0, None, opens)
        return self.told_of(future)

    def many(self, rows, partition):
        spans = []
        keys, values = [key for key, _ in rows], [value for _, value in rows]
        stopped = self.accumulator.append_many(self.topic, values, keys, 0, partition, 5, spans)
        return stopped, [(batch.queue.place, first, count) for batch, first, count in spans]

    def take(self, partition):
        batch = self.topic.queues[partition].take()
        if batch is None:
            return None
        self.taken.append(batch)
        return batch.record_count, batch.size_bytes, batch.max_timestamp, batch.is_full, bytes(batch.body())

    def encode(self, attributes, numbers):
        """What was taken last, with other numbers each time: what earlier requests have does not change."""
        if not self.taken:
            return None
        batch = self.taken[-1]
        if numbers is not None:
            producer_id, epoch, batch.base_sequence = numbers
            batch.producer = ProducerIdAndEpoch(producer_id, epoch)
        self.encoded.append(batch.encoded(attributes))
        return [[bytes(piece) for piece in pieces] for pieces in self.encoded]

    def done(self):
        self.encoded.clear()
        told = [batch.complete(7, -1, None) for batch in self.taken]
        self.taken.clear()
        return told

    def leaders(self, leaders):
        self.accumulator.set_topic("t", leaders)

    def touched(self):
        return [queue.place for queue in self.accumulator.take_touched()]

    def told_of(self, future):
        if future is None or isinstance(future, tuple):
            return future
        told = future.batch.queue.place, future.index, future.timestamp, future.key_size, future.value_size
        return (*told, future.done())


@given(st.lists(steps, max_size=60), st.booleans(), st.booleans())
def test_both_executors_do_the_same(all_steps, adaptive, ignores_keys):
    runs = [Run(executor, adaptive, ignores_keys) for executor in EXECUTORS]
    for step in all_steps:
        for run in runs:
            run.step(*step)
        assert all(run.told == runs[0].told for run in runs)


@pytest.mark.parametrize("executor", executors())
@given(st.lists(st.tuples(keys, values, st.integers(-1, 2**62)), min_size=1, max_size=40))
def test_what_was_appended_is_read_back_in_order(executor, records):
    gathered = accumulator(executor, partitions=1)
    for key, value, timestamp in records:
        assert gathered.append(gathered.topics["t"], 0, timestamp, key, value, b"\0") is not None
    found = []
    while (batch := gathered.topics["t"].queues[0].take()) is not None:
        assert batch.size_bytes == 61 + len(batch.body())
        assert batch.size_bytes <= 1000 or batch.record_count == 1
        found += records_of(batch)
    assert found == [(timestamp, key, value, ()) for key, value, timestamp in records]
