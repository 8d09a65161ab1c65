"""The compiled loops of compaction and their pure-Python twins: the same outcome, bytes or error, for any input."""

import struct
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek import native
from odradek.log.cleaner import key_map as pure_map
from odradek.log.cleaner import pure_cleaner
from odradek.log.cleaner.pure_cleaner import Retention
from odradek.protocol.errors import KafkaError
from odradek.records import layout
from odradek.records.compression import GZIP, NONE
from odradek.records.crc import crc32c
from odradek.records.record import Record
from odradek.records.writer import BatchFields, empty_batch, record_batch

try:
    compiled: ModuleType | None = native.load_compiled("odradek.log.cleaner._cleaner")
except ImportError:
    compiled = None

pytestmark = pytest.mark.skipif(compiled is None, reason="the compiled kernel is missing: build with a compiler")

SECRET = bytes(range(16))
KEYS = st.none() | st.sampled_from([b"", b"a", b"b", b"c", b"long key " * 30])
VALUES = st.none() | st.sampled_from([b"", b"x", b"v" * 70, b"w" * 9000])
TIMES = st.integers(0, 2000) | st.sampled_from([-1, 2**40, 2**62, -(2**62)])
RECORDS = st.lists(st.tuples(KEYS, VALUES, TIMES, st.integers(1, 3)), min_size=1, max_size=6)
NOW = 1000


@st.composite
def fields(draw: st.DrawFn) -> BatchFields:
    has_producer = draw(st.booleans())
    return BatchFields(
        partition_leader_epoch=draw(st.integers(-1, 3)),
        producer_id=draw(st.integers(0, 3)) if has_producer else -1,
        producer_epoch=0 if has_producer else -1,
        base_sequence=draw(st.sampled_from([-1, 0, 2**31 - 1])),
        is_transactional=has_producer and draw(st.booleans()),
        log_append_time=draw(st.none() | st.integers(0, 2000)),
        delete_horizon_ms=draw(st.none() | st.sampled_from([NOW - 1, NOW, NOW + 1])),
    )


@st.composite
def chunks(draw: st.DrawFn) -> bytes:
    """Some batches, now and then one that is not plain, and perhaps a piece of another at the end."""
    out = bytearray()
    offset = draw(st.integers(0, 50) | st.just(2**40))
    for _ in range(draw(st.integers(0, 5))):
        offset += draw(st.integers(0, 3))
        batch, offset = draw(a_batch(offset))
        out += batch
    if draw(st.booleans()):
        out = out[: len(out) - draw(st.integers(0, 70))]
    return bytes(out)


@st.composite
def a_batch(draw: st.DrawFn, offset: int) -> tuple[bytes, int]:
    header = draw(fields())
    if draw(st.integers(0, 5)) == 0:
        return empty_batch(header, offset, offset + 2, draw(TIMES)), offset + 3
    base_offset = offset
    records = []
    for key, value, timestamp, step in draw(RECORDS):
        headers = (("h", b"1"),) if step == 2 else ()
        records.append(Record(offset, key, value, timestamp, headers))
        offset += step
    codec = GZIP if draw(st.integers(0, 9)) == 0 else NONE
    return record_batch(records, header, codec=codec, base_offset=base_offset, last_offset=offset), offset + 1


class Aborted:
    """Says of producer 0 that it aborts, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    def on_batch(self, producer_id: int, last_offset: int) -> bool:
        self.asked.append((producer_id, last_offset))
        return producer_id == 0


class Twin:
    def __init__(self, module: Any, maps: Any, entries_max: int) -> None:
        self.module = module
        self.key_map = maps.KeyMap(entries_max + 2, entries_max, SECRET)
        self.transactions = Aborted()

    def index(self, chunk: bytes, from_offset: int) -> Any:
        found = self.module.index_keys(chunk, 0, self.key_map, from_offset, self.transactions)
        return found, self.key_map.size, self.key_map.latest_offset, self.transactions.asked

    def filter(self, chunk: bytes, retention: Retention) -> Any:
        stop, left, *counts = self.module.filter_batches(chunk, 0, self.key_map, retention, self.transactions)
        return stop, bytes(left), counts, self.transactions.asked


def twins(entries_max: int = 10) -> list[Twin]:
    return [Twin(pure_cleaner, pure_map, entries_max), Twin(compiled, compiled, entries_max)]


def outcomes(calls: list[Any]) -> Any:
    """What all of them gave; an error counts as an outcome, its words too."""
    found = []
    for call in calls:
        try:
            found.append(call())
        except KafkaError as error:
            found.append((type(error), str(error)))
    assert found[0] == found[1]
    return found[0]


@settings(max_examples=300)
@given(chunks(), chunks(), st.integers(0, 60), st.integers(1, 6), st.data())
def test_the_twins_index_and_filter_alike(
    dirty: bytes, chunk: bytes, from_offset: int, entries_max: int, data: st.DataObject
) -> None:
    both = twins(entries_max)
    outcomes([lambda each=each: each.index(dirty, from_offset) for each in both])
    last_data_offsets = data.draw(st.dictionaries(st.integers(0, 3), st.integers(0, 70), max_size=3))
    retention = Retention(NOW, 500, data.draw(st.integers(0, 70)), last_data_offsets)
    outcomes([lambda each=each: each.filter(chunk, retention) for each in both])


@settings(max_examples=200)
@given(chunks(), st.data())
def test_the_twins_take_damage_alike(chunk: bytes, data: st.DataObject) -> None:
    """Bytes flipped anywhere; the crc is made to fit now and then, so that the damage gets past it."""
    if len(chunk) < layout.HEADER_SIZE:
        return
    damaged = bytearray(chunk)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    (length,) = struct.unpack_from(">i", damaged, 8)
    if data.draw(st.booleans()) and 49 <= length <= len(damaged) - 12:
        struct.pack_into(">I", damaged, 17, crc32c(memoryview(damaged)[21 : 12 + length]))
    both = twins()
    retention = Retention(NOW, 500, 10, {1: 5})
    outcomes([lambda each=each: each.index(bytes(damaged), 0) for each in both])
    outcomes([lambda each=each: each.filter(bytes(damaged), retention) for each in both])


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 9), TIMES), max_size=40),
    st.sampled_from([0, 100, 400]),
    st.sampled_from([0, 24, 60, 1000]),
)
def test_the_twins_make_the_same_index_entries(
    batches: list[tuple[int, int, int]], interval_bytes: int, index_bytes_max: int
) -> None:
    written = []
    offset = 100
    for size, gap, timestamp in batches:
        offset += gap
        written.append(record_batch([Record(offset, b"k", bytes(size), timestamp)]))
        offset += 1
    found = []
    for module in (pure_cleaner, compiled):
        indexes = module.SparseIndexes(100, interval_bytes, index_bytes_max)  # type: ignore[union-attr]
        for start in range(0, len(written), 3):
            indexes.add(b"".join(written[start : start + 3]))
        indexes.finish()
        found.append(
            (
                bytes(indexes.offset_entries),
                bytes(indexes.time_entries),
                indexes.position,
                indexes.last_offset,
                indexes.largest_timestamp,
                indexes.offset_of_largest_timestamp,
            )
        )
    assert found[0] == found[1]
    assert found[0][2] == sum(map(len, written))


@settings(max_examples=100)
@given(st.lists(st.tuples(st.binary(max_size=20), st.integers(0, 2**62)), max_size=60))
def test_both_maps_are_dicts(puts: list[tuple[bytes, int]]) -> None:
    expected: dict[bytes, int] = {}
    maps = [pure_map.KeyMap(64, 61, SECRET), compiled.KeyMap(64, 61, SECRET)]  # type: ignore[union-attr]
    for key, offset in puts:
        expected[key] = offset
        for each in maps:
            each.put(key, offset)
    for each in maps:
        assert len(each) == len(expected)
        assert {key: each.get(key) for key in expected} == expected
        assert each.get(b"a key that nobody has put into it") == -1
