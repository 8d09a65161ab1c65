"""The compiled kernel and its pure-Python twins: the same outcome, value or error, for any input at all."""

import struct
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek import native
from odradek.protocol.errors import KafkaError
from odradek.records import kernel, layout, pure_encode, pure_gather, pure_walk
from odradek.records.arrow import BinaryColumn, HeadersColumn
from odradek.records.build import BatchBuilder, BatchIdentity, build
from odradek.records.columns import scan
from odradek.records.crc import crc32c
from odradek.records.pure_walk import INT64_MIN, RecordsSummary
from odradek.records.record import Record, write_record
from odradek.records.rows import Rows

walk = native.load_compiled("odradek.records._kernel")
gathering = native.load_compiled("odradek.records._gather")
encoding = native.load_compiled("odradek.records._encode")

pytestmark = pytest.mark.skipif(
    walk is None or gathering is None or encoding is None,
    reason="the compiled kernel is missing: build with a compiler",
)

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
STRINGS = st.none() | st.binary(max_size=8) | st.integers(60, 70).map(bytes) | st.integers(8190, 8195).map(bytes)
HEADERS = st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=3)
RECORDS = st.lists(
    st.tuples(st.integers(-5, 500) | INT32, st.integers(-5, 5) | INT64, STRINGS, STRINGS, HEADERS), max_size=8
)


def section(records: list[Any]) -> bytes:
    out = bytearray()
    for offset_delta, timestamp_delta, key, value, headers in records:
        write_record(out, Record(0, key, value, headers=headers), offset_delta, timestamp_delta)
    return bytes(out)


@st.composite
def damaged(draw: st.DrawFn, sound: st.SearchStrategy[bytes]) -> bytes:
    """Sound bytes, or the same with a few of them changed, cut off, put in or taken out."""
    data = bytearray(draw(sound))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        kind = draw(st.sampled_from(["change", "cut", "insert", "remove"]))
        if kind == "cut":
            del data[at:]
        elif kind == "insert":
            data[at:at] = draw(st.sampled_from([b"\0", b"\x01", b"\x80", b"\xff" * 5, b"\x80" * 10]))
        elif kind == "remove":
            del data[at : at + 1]
        elif at < len(data):
            data[at] = draw(st.sampled_from([0, 1, 2, 3, 0x7E, 0x7F, 0x80, 0xFF]) | st.integers(0, 255))
    return bytes(data)


def outcome(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except (KafkaError, ValueError, IndexError, RuntimeError, OverflowError, TypeError) as error:
        return type(error), str(error)


def as_tuple(rows: Rows) -> tuple[Any, ...]:
    return tuple(getattr(rows, name) for name in Rows.__slots__)


@settings(max_examples=400, deadline=None)
@given(damaged(RECORDS.map(section)), st.integers(0, 8) | INT32)
def test_check_records(body: bytes, count: int) -> None:
    def summary(module: ModuleType) -> Any:
        found = module.check_records(body, count)
        return {name: getattr(found, name) for name in RecordsSummary.__slots__}

    assert outcome(lambda: summary(walk)) == outcome(lambda: summary(pure_walk))


@settings(max_examples=200, deadline=None)
@given(RECORDS)
def test_check_records_accepts_what_is_sound(records: list[Any]) -> None:
    found = walk.check_records(section(records), len(records))
    deltas = [record[0] for record in records]
    assert found.offsets_consecutive == all(b == a + 1 for a, b in pairwise(deltas))
    assert found.null_value_count == sum(record[3] is None for record in records)
    if records:
        assert found.max_timestamp_delta == max(record[1] for record in records)
        assert (found.first_offset_delta, found.last_offset_delta) == (deltas[0], deltas[-1])


@st.composite
def produced_batches(draw: st.DrawFn) -> bytes:
    """As a producer sends them, and with a header in which a field or two is odd."""
    records = draw(RECORDS.map(lambda many: [(index, *record[1:]) for index, record in enumerate(many)]) | RECORDS)
    body = draw(damaged(st.just(section(records)))) if draw(st.booleans()) else section(records)
    count = len(records)
    fields: list[Any] = [0, len(body) + layout.HEADER_SIZE - layout.LOG_OVERHEAD, -1, 2, 0, 0, count - 1, 1000, 1000]
    fields += [-1, -1, -1, count]
    odd = st.tuples(st.sampled_from([0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12]), st.integers(-1, 20))
    for place, value in draw(st.lists(odd, max_size=2)):
        fields[place] = value
    if draw(st.booleans()):
        fields[7] = draw(INT64)
    batch = bytearray(layout.HEADER.pack(*fields) + body)
    if draw(st.integers(0, 9)):
        batch[layout.CRC_OFFSET : layout.ATTRIBUTES_OFFSET] = crc32c(batch[layout.ATTRIBUTES_OFFSET :]).to_bytes(
            4, "big"
        )
    return bytes(batch)


@settings(max_examples=600, deadline=None)
@given(
    produced_batches() | st.binary(max_size=80),
    st.sampled_from([60, 100, 1 << 20]),
    st.booleans(),
    st.integers(-1, 2000) | INT64,
    st.sampled_from([-1, 0, 10, (1 << 63) - 1]),
    st.sampled_from([0, 10, (1 << 63) - 1]),
)
def test_check_batch(batch: bytes, bytes_max: int, needs_keys: bool, now: int, before: int, after: int) -> None:
    def facts(module: Any) -> Any:
        return outcome(lambda: module.check_batch(batch, bytes_max, needs_keys, now, before, after))

    assert facts(walk) == facts(pure_walk)


def test_check_batch_tells_the_facts() -> None:
    batch = bytes(build([b"a", b"b"], default_timestamp=1000).data)
    for module in (walk, pure_walk):
        assert module.check_batch(batch, 1000, False, 1000, 5, 5) == (2, 1000, 0, 1000, -1)
        assert module.check_batch(batch, 1000, False, 1006, 5, 5) is None
        assert module.check_batch(batch, 1000, False, 994, 5, 5) is None
        assert module.check_batch(batch, 1000, False, 1006, -1, 5) is not None
        assert module.check_batch(batch, 1000, True, 1000, 5, 5) is None
        assert module.check_batch(batch, len(batch) - 1, False, 1000, 5, 5) is None


@settings(max_examples=300, deadline=None)
@given(
    damaged(RECORDS.map(section)),
    st.integers(0, 8),
    st.binary(max_size=3),
    st.tuples(INT64, INT64, st.none() | INT64, st.just(INT64_MIN) | st.integers(-10, 300) | INT64),
)
def test_scan_records(body: bytes, count: int, before: bytes, places: tuple[int, int, int | None, int]) -> None:
    source = before + body + b"tail"
    end = len(before) + len(body)

    def scanned(module: ModuleType, source: Any) -> Any:
        rows = Rows()
        module.scan_records(source, 0, 0, 0, 0, 0, None, INT64_MIN, rows)
        result = outcome(lambda: module.scan_records(source, len(before), end, count, *places, rows))
        return result, as_tuple(rows)

    expected = scanned(pure_walk, source)
    assert scanned(walk, source) == expected
    assert scanned(walk, memoryview(source)) == scanned(pure_walk, bytearray(source)) == expected


@st.composite
def batch(draw: st.DrawFn) -> bytes:
    records = draw(RECORDS)
    body = section(records)
    attributes = draw(st.sampled_from([0, 0, 0, 0x08, 0x10, 0x18, 0x20, 0x01]))
    count = draw(st.just(len(records)) | st.integers(0, 9))
    out = bytearray(
        layout.HEADER.pack(
            draw(INT64), len(body) + 49, draw(INT32), 2, 0, attributes, draw(INT32), draw(INT64), draw(INT64),
            draw(INT64), draw(st.integers(-(2**15), 2**15 - 1)), draw(INT32), count,
        )
        + body
    )  # fmt: skip
    struct.pack_into(">I", out, layout.CRC_OFFSET, pure_walk.crc.crc32c(memoryview(out)[layout.ATTRIBUTES_OFFSET :]))
    return bytes(out)


BUFFERS = damaged(st.lists(batch(), max_size=4).map(b"".join))


@settings(max_examples=300, deadline=None)
@given(BUFFERS, st.booleans(), st.sampled_from([0, 0x10]), st.just(INT64_MIN) | INT64)
def test_scan_run(buffer: bytes, check_crc: bool, stop_mask: int, from_offset: int) -> None:
    def scanned(module: ModuleType) -> Any:
        rows = Rows()
        position = module.scan_run(buffer, 0, stop_mask, check_crc, from_offset, rows)
        return position, as_tuple(rows)

    assert scanned(walk) == scanned(pure_walk)


@settings(max_examples=300, deadline=None)
@given(BUFFERS, st.booleans(), st.booleans(), st.none() | st.lists(st.tuples(INT64, INT64), max_size=2))
def test_scan_gives_columns_or_an_error_of_kafka(
    buffer: bytes, check_crc: bool, keep_good: bool, aborted: list[tuple[int, int]] | None
) -> None:
    def scanned() -> Any:
        columns = scan(buffer, check_crc=check_crc, keep_good=keep_good, aborted=aborted, limit_bytes=1 << 20)
        gathered = columns.keys().to_list(), columns.values().to_list(), columns.headers().to_list()
        places = columns.offsets(), columns.timestamps(), columns.batches(), columns.control_records
        return gathered, places, columns.next_offset, columns.end_position, repr(columns.error)

    def on(compiled: bool) -> Any:
        with executor(compiled):
            try:
                return scanned()
            except KafkaError as error:  # anything else is a bug
                return type(error), str(error)

    assert on(True) == on(False)


@contextmanager
def executor(compiled: bool) -> Iterator[None]:
    modules = (walk, gathering, encoding) if compiled else (pure_walk, pure_gather, pure_encode)
    before = dict(vars(kernel))
    for module, names in zip(modules, kernel.COMPILED.values(), strict=True):
        for name in names:
            setattr(kernel, name, getattr(module, name))
    try:
        yield
    finally:
        vars(kernel).update(before)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-2, 12), st.integers(-1, 12)), max_size=20),
    st.lists(st.integers(0, 20), max_size=2).map(sorted),
    st.sampled_from([None, False, True]),
)
def test_gather(places: list[tuple[int, int]], cuts: list[int], large: bool | None) -> None:
    positions, lengths = array("i", [p for p, _ in places]), array("i", [n for _, n in places])
    bounds = [0, *cuts, len(places)]
    segments = [(bytes(range(start, start + 16)), start, stop) for start, stop in pairwise(bounds)]
    expected = outcome(lambda: pure_gather.gather(positions, lengths, segments, large))
    assert outcome(lambda: gathering.gather(positions, lengths, segments, large)) == expected


@settings(max_examples=200, deadline=None)
@given(
    damaged(RECORDS.map(section)),
    st.lists(st.tuples(st.integers(0, 40), st.integers(-1, 20)), max_size=4),
    st.integers(0, 5),
)
def test_locate_headers_in_any_bytes(source: bytes, places: list[tuple[int, int]], count: int) -> None:
    positions, lengths = array("i", [p for p, _ in places]), array("i", [n for _, n in places])
    segments = [(source, 0, len(places))]
    expected = outcome(lambda: pure_gather.locate_headers(positions, lengths, segments, count))
    assert outcome(lambda: gathering.locate_headers(positions, lengths, segments, count)) == expected


@st.composite
def binary_column(draw: st.DrawFn, rows: int, strings: st.SearchStrategy[Any] = STRINGS) -> BinaryColumn:
    first = draw(st.integers(0, 9))
    padded = [draw(strings) for _ in range(first + rows)]
    ends = [0]
    for string in padded:
        ends.append(ends[-1] + len(string or b""))
    if draw(st.integers(0, 9)) == 0:
        ends[draw(st.integers(0, len(ends) - 1))] += draw(st.integers(-3, 3))
    bits = sum((string is not None) << row for row, string in enumerate(padded))
    validity = bits.to_bytes((len(padded) + 7) // 8, "little") if None in padded else None
    is_large = draw(st.booleans())
    data = b"".join(string or b"" for string in padded)
    return BinaryColumn(
        rows, array("q" if is_large else "i", ends).tobytes(), data, validity, is_large=is_large, first=first
    )


@st.composite
def headers_column(draw: st.DrawFn, rows: int) -> HeadersColumn:
    counts = draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
    ends = [0]
    for count in counts:
        ends.append(ends[-1] + count)
    key = st.binary(max_size=3) if draw(st.integers(0, 9)) else STRINGS
    keys, values = draw(binary_column(ends[-1], key)), draw(binary_column(ends[-1]))
    validity = draw(st.none() | st.binary(min_size=(rows + 7) // 8, max_size=(rows + 7) // 8))
    return HeadersColumn(rows, array("i", ends).tobytes(), keys, values, validity)


@st.composite
def columns(draw: st.DrawFn) -> tuple[Any, ...]:
    rows = draw(st.integers(0, 12))
    times = st.lists(st.integers(0, 100) | INT64, min_size=rows, max_size=rows)
    return (
        rows,
        draw(st.none() | binary_column(rows)),
        draw(st.none() | binary_column(rows)),
        draw(st.none() | headers_column(rows)),
        draw(st.none() | times.map(lambda values: array("q", values).tobytes())),
        draw(st.integers(-1, 2**63 - 1)),
    )


IDENTITIES = st.tuples(st.sampled_from([0, 0x10]), INT64, st.integers(-1, 2**15 - 1), st.integers(-1, 2**31 - 1))


@settings(max_examples=400, deadline=None)
@given(
    columns(),
    IDENTITIES,
    st.tuples(st.integers(0, 400) | st.just(1 << 20), st.integers(70, 20_000)),
    st.booleans(),
    st.none() | st.integers(0, 2**63 - 1),
)
def test_encode_batches(
    given_columns: tuple[Any, ...],
    identity: tuple[int, ...],
    limits: tuple[int, int],
    with_crc: bool,
    base_offset: int | None,
) -> None:
    def built(module: ModuleType) -> Any:
        return outcome(lambda: module.encode_batches(*given_columns, identity, *limits, with_crc, base_offset))

    assert built(encoding) == built(pure_encode)


# Nothing here is a number that a caller could mean for rows: the twins would really build as many.
ODDITIES: list[Any] = [
    None, True, -1, -2, 1.5, 2**70, -(2**70), 2**63, -(2**63) - 1, "text", b"", b"octets.", bytearray(8), [], [None],
    (), ("a",), ("a", b"1", 2), (0, -1, -1), (0, 2**63, -1, -1), (2**15, 0, 0, 0), (0, 0, 2**15, 0), (0, 0, 0, 2**31),
    (0, 0.5, 0, 0), {"ab": b""}, object, array("i", [1]), array("q", [5]), array("d", [1.0]),
    memoryview(bytes(32))[::2],
    [("a",)], [("a", "v")], [(None, b"")], [(5, b"")], [("\ud800", b"")], [["a", bytearray(b"v")]], ["ab"],
    BinaryColumn(1, bytes(8), b""), BinaryColumn.from_list([b"a", None]), HeadersColumn.from_list([[("a", b"")]]),
]  # fmt: skip
ODD = st.sampled_from(ODDITIES)


@st.composite
def odd_column(draw: st.DrawFn) -> Any:
    column = draw(binary_column(1) | headers_column(1))
    names = draw(st.lists(st.sampled_from(type(column).__slots__), min_size=1, max_size=2))
    for name in names:
        setattr(column, name, draw(ODD))
    return column


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_encode_batches_refuses_the_same_in_the_same_words(data: st.DataObject) -> None:
    sound = [1, BinaryColumn.from_list([b"k"]), None, None, None, 5, (0, -1, -1, -1), 100, 200, True, None]
    for _ in range(data.draw(st.integers(1, 2))):
        sound[data.draw(st.integers(0, len(sound) - 1))] = data.draw(ODD | odd_column())
    expected = outcome(lambda: pure_encode.encode_batches(*sound))
    assert outcome(lambda: encoding.encode_batches(*sound)) == expected


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(ODD | INT64, ODD | STRINGS, ODD | STRINGS, ODD | HEADERS), max_size=3),
    st.just(500) | ODD,
    st.tuples(st.just(0) | ODD, st.just(5) | ODD, st.just(0) | ODD, st.just(7) | ODD),
)
def test_records_writer_refuses_the_same_in_the_same_words(records: list[Any], limit: Any, identity: Any) -> None:
    def written(module: ModuleType) -> Any:
        writer = module.RecordsWriter(limit)
        taken = [outcome(lambda record=record: writer.append(*record)) for record in records]
        facts = writer.size, writer.count, writer.base_timestamp, writer.max_timestamp, writer.batch_bytes_max
        return taken, facts, writer.records(), outcome(lambda: writer.seal(*identity))

    assert outcome(lambda: written(encoding)) == outcome(lambda: written(pure_encode))


OPTIONS = ("keys", "headers", "timestamps", "default_timestamp", "identity", "codec", "level")
LIMITS = ("batch_bytes_max", "request_bytes_max", "base_offset")


@settings(max_examples=300, deadline=None)
@given(ODD, st.dictionaries(st.sampled_from(OPTIONS + LIMITS), ODD | odd_column(), max_size=2), st.booleans())
def test_build_refuses_the_same_in_the_same_words(values: Any, options: dict[str, Any], odd_values: bool) -> None:
    def built(compiled: bool) -> Any:
        with executor(compiled):
            made = build(values if odd_values else [b"v"], **{"default_timestamp": 5, **options})
            return bytes(made.data), made.spans

    assert outcome(lambda: built(True)) == outcome(lambda: built(False))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(INT64, STRINGS, STRINGS, HEADERS), max_size=12), st.integers(0, 9000), IDENTITIES)
def test_records_writer(records: list[Any], batch_bytes_max: int, identity: tuple[int, ...]) -> None:
    def written(module: ModuleType) -> Any:
        writer = module.RecordsWriter(batch_bytes_max)
        taken = [writer.append(*record) for record in records]
        facts = writer.size, writer.count, writer.base_timestamp, writer.max_timestamp
        return taken, facts, writer.records(), writer.seal(*identity)

    assert written(encoding) == written(pure_encode)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(INT64, STRINGS, STRINGS, HEADERS), min_size=1, max_size=12), st.integers(0, 4), st.booleans())
def test_what_a_builder_took_a_scan_gives_back(records: list[Any], codec: int, compiled: bool) -> None:
    with executor(compiled):
        builder = BatchBuilder(1 << 20, codec)
        assert all(builder.append(*record) for record in records)
        found = scan(builder.build(BatchIdentity(1, 2, 3)))
        assert found.timestamps().tolist() == [record[0] for record in records]
        assert found.keys().to_list() == [record[1] for record in records]
        assert found.values().to_list() == [record[2] for record in records]
        assert found.headers().to_list() == [[(k.encode(), v) for k, v in record[3]] for record in records]
        again = build(
            found.values(),
            keys=found.keys(),
            headers=found.headers(),
            timestamps=found.timestamps(),  # type: ignore[arg-type]
            default_timestamp=0,
            batch_bytes_max=1 << 20,
        )
        plain = BatchBuilder(1 << 20)
        assert all(plain.append(*record) for record in records)
        assert bytes(again.data) == plain.build()
