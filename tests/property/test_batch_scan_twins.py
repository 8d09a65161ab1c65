"""Reading a segment as a whole: many batches at once come to the same as one by one, in both executors (L1, L5, P5)."""

from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from log_kit import NOW, run
from odradek import native
from odradek.log.batches.batch_check import EpochWitness
from odradek.log.batches.batch_search import DamagedSegment
from odradek.log.index.offset_index import OffsetIndex
from odradek.log.index.time_index import TimeIndex
from odradek.log.index.transaction_index import AbortedTransaction
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.producers.producer_state import ProducerState
from odradek.log.segment import pure_batch_scan
from odradek.log.segment.pure_batch_scan import ANY_EPOCH, PRODUCERS_MAX, Place, Rules
from odradek.log.segment.segment_scan import SegmentScan
from odradek.protocol import errors
from odradek.records import layout
from odradek.records.batch import RecordBatch, batch_size
from odradek.records.control import end_transaction_marker
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch
from odradek.sim.disk import SimDisk
from odradek.sim.rng import SimRng

try:
    compiled: ModuleType | None = native.load_compiled("odradek.log.segment._batch_scan")
except ImportError:
    compiled = None

BASE = 100
INT64 = (1 << 63) - 1
PRODUCERS = st.sampled_from([0, 0, 0, 0, 0, 1, -1])
PRODUCER_EPOCHS = st.sampled_from([0] * 30 + [1])
SIZES = st.sampled_from([1] * 20 + [90, 400_000])  # now and then a batch takes a good part of a piece
TIMES = st.integers(NOW, NOW + 20) | st.just(-1)


class Written:
    """A segment in the making."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.offset = BASE
        self.leader_epoch = 0

    def add(self, batch: bytes, gap: int) -> None:
        written = bytearray(batch)
        layout.BASE_OFFSET.pack_into(written, 0, self.offset + gap)
        layout.LEADER_EPOCH.pack_into(written, layout.LEADER_EPOCH_OFFSET, self.leader_epoch)
        self.offset = RecordBatch(written).next_offset
        self.data += written


@st.composite
def segments(draw: st.DrawFn) -> bytes:
    written = Written()
    for _ in range(draw(st.integers(1, 8) | st.integers(20, 30))):
        written.leader_epoch += draw(st.sampled_from([0] * 40 + [1]))
        gap = draw(st.sampled_from([0] * 40 + [2]))
        written.add(draw(data_batches()) if draw(st.integers(0, 15)) else draw(markers()), gap)
    return bytes(written.data)


@st.composite
def data_batches(draw: st.DrawFn) -> bytes:
    producer = draw(PRODUCERS)
    records = [Record(at, None, bytes(draw(SIZES)), draw(TIMES)) for at in range(draw(st.integers(1, 3)))]
    fields = BatchFields(
        producer_id=producer,
        producer_epoch=draw(PRODUCER_EPOCHS) if producer >= 0 else -1,
        base_sequence=draw(st.integers(0, 50)) if producer >= 0 else -1,
        is_transactional=producer >= 0 and draw(st.booleans()),
    )
    return record_batch(records, fields)


@st.composite
def markers(draw: st.DrawFn) -> bytes:
    return end_transaction_marker(
        draw(st.booleans()), 0, draw(TIMES), producer_id=draw(st.integers(0, 1)), producer_epoch=draw(PRODUCER_EPOCHS)
    )


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A segment that may be cut off, and may have a byte that is another one."""
    data = bytearray(draw(segments()))
    damage = draw(st.integers(0, 5))
    if damage == 1:
        del data[draw(st.integers(0, len(data))) :]
    if data and damage == 2:
        at = draw(st.integers(0, min(len(data) - 1, 4 * layout.HEADER_SIZE)) | st.integers(0, len(data) - 1))
        data[at] ^= 1 << draw(st.integers(0, 7))
    return bytes(data)


# The two executors.


def scanned(executor: Any, data: bytes, at: int, place: Place, rules: Rules) -> Any:
    stop, after, entries, telling = executor.scan_plain(memoryview(data), at, place, rules)
    return stop, tuple(after), entries, telling


@pytest.mark.skipif(compiled is None, reason="the compiled kernel is missing: build with a compiler")
@given(
    damaged(),
    st.sampled_from([ANY_EPOCH, -1, 0, 1]),
    st.sampled_from([0, BASE, BASE + 7, INT64]),
    st.sampled_from([0, BASE + 9, BASE + (1 << 31), INT64]),
    st.sampled_from([0, 100, 4096]),
    st.booleans(),
    st.sampled_from([0, 0, 0, 1, 61]),
)
def test_the_twins_say_the_same(
    data: bytes, epoch: int, gapless_from: int, offset_end: int, interval: int, has_producers: bool, at: int
) -> None:
    rules = Rules(epoch, gapless_from, offset_end, interval, has_producers)
    place = Place(7000 + at, BASE, 3000, NOW + 5, BASE - 1)
    assert scanned(compiled, data, at, place, rules) == scanned(pure_batch_scan, data, at, place, rules)


@pytest.mark.skipif(compiled is None, reason="the compiled kernel is missing: build with a compiler")
def test_the_twins_remember_equally_many_producers() -> None:
    written = Written()
    for producer in [*range(PRODUCERS_MAX), *range(5), PRODUCERS_MAX, 0]:
        fields = BatchFields(producer_id=producer << 40, producer_epoch=0, base_sequence=0)
        written.add(record_batch([Record(0, None, b"v", NOW)], fields), 0)
    size = len(written.data) // (PRODUCERS_MAX + 7)
    place, rules = Place(0, BASE, 0, -1, BASE), Rules(0, BASE, INT64, 4096, True)
    found = scanned(pure_batch_scan, bytes(written.data), 0, place, rules)
    assert found[0] == (PRODUCERS_MAX + 5) * size
    assert scanned(compiled, bytes(written.data), 0, place, rules) == found


# Many at once, and one by one.


class OneByOne:
    """What a segment tells, from every batch by itself."""

    def __init__(self, interval_bytes: int, gapless_from: int | None, witness: EpochWitness, to: int) -> None:
        self.producers = ProducerState("topic-0")
        self.epochs = LeaderEpochs()
        self.offset_index = OffsetIndex(BASE)
        self.time_index = TimeIndex(BASE)
        self.aborted: list[AbortedTransaction] = []
        self.next_offset, self.position, self.indexed = BASE, 0, 0
        self.largest = (-1, BASE)
        self._rules = interval_bytes, gapless_from, witness, to

    def read(self, data: bytes) -> None:
        while (batch := self._sound(data)) is not None:
            self._take(batch)
            self.position += batch.size
        if self.largest[0] >= 0:
            self.time_index.maybe_append(*self.largest)

    def _sound(self, data: bytes) -> RecordBatch | None:
        try:
            size = batch_size(data, self.position)
            if size is None or self.position + size > len(data):
                return None
            batch = RecordBatch(data[self.position : self.position + size])
        except errors.CorruptMessage:
            return None
        gapless_from = self._rules[1]
        is_gapless = gapless_from is not None and self.next_offset >= gapless_from
        first, last = batch.base_offset, batch.last_offset
        if not batch.is_valid or first < self.next_offset or last < first or last - BASE > 0x7FFF_FFFF:
            return None
        return None if is_gapless and first > self.next_offset else batch

    def _take(self, batch: RecordBatch) -> None:
        interval_bytes, _, witness, witnessed_to = self._rules
        if batch.last_offset < witnessed_to:
            witness.see(batch.partition_leader_epoch, batch.base_offset, self.position)
        self.epochs.learn(batch.partition_leader_epoch, batch.base_offset)
        completed = self.producers.replay(batch)
        if completed is not None and (aborted := self.producers.complete(completed)) is not None:
            self.aborted.append(aborted)
        if batch.max_timestamp > self.largest[0]:
            self.largest = (batch.max_timestamp, batch.last_offset)
        if self.position - self.indexed > interval_bytes:
            self.offset_index.append(batch.last_offset, self.position)
            if self.largest[0] >= 0:
                self.time_index.maybe_append(*self.largest)
            self.indexed = self.position
        self.next_offset = batch.next_offset


def facts(found: Any, producers: ProducerState, epochs: LeaderEpochs, position: int) -> Any:
    return (
        found.next_offset,
        position,
        found.offset_index.encode(),
        found.time_index.encode(),
        found.aborted,
        epochs.entries,
        producers.entries,
        producers.first_unstable_offset,
    )


def many_at_once(data: bytes, interval_bytes: int, gapless_from: int | None, witness: EpochWitness, to: int) -> Any:
    file = SimDisk(SimRng(0)).open("segment.log", create=True)
    file.append([data])
    producers, epochs = ProducerState("topic-0"), LeaderEpochs()
    scan = SegmentScan(
        BASE, interval_bytes, producers, epochs, gapless_from=gapless_from, witness=witness, witnessed_to=to
    )
    try:
        run(scan.run(file, len(data)))
    except DamagedSegment as damage:
        return damage.reason, damage.position
    return facts(scan, producers, epochs, scan.valid_bytes)


def one_by_one(data: bytes, interval_bytes: int, gapless_from: int | None, witness: EpochWitness, to: int) -> Any:
    reader = OneByOne(interval_bytes, gapless_from, witness, to)
    try:
        reader.read(data)
    except DamagedSegment as damage:
        return damage.reason, damage.position
    return facts(reader, reader.producers, reader.epochs, reader.position)


EPOCHS = st.lists(st.tuples(st.integers(0, 4), st.integers(BASE - 2, BASE + 30)), max_size=4)


@given(
    damaged(),
    st.sampled_from([0, 100, 4096]),
    st.none() | st.integers(BASE, BASE + 20),
    st.just([(0, BASE)]) | EPOCHS,
    st.sampled_from([0, 0, BASE + 8, BASE + 1000]),
)
def test_many_at_once_come_to_the_same_as_one_by_one(
    data: bytes, interval_bytes: int, gapless_from: int | None, known: list[tuple[int, int]], witnessed_to: int
) -> None:
    witnesses = [EpochWitness(LeaderEpochs(known)) for _ in range(2)]
    expected = one_by_one(data, interval_bytes, gapless_from, witnesses[0], witnessed_to)
    assert many_at_once(data, interval_bytes, gapless_from, witnesses[1], witnessed_to) == expected
