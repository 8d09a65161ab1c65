"""build and BatchBuilder: columns and records into batches that a scan gives back."""

from array import array

import pytest

from odradek.protocol import errors
from odradek.records.arrow import BinaryColumn, HeadersColumn
from odradek.records.batch import RecordBatch, batches
from odradek.records.build import BatchBuilder, Batches, BatchIdentity, build, estimated_size
from odradek.records.columns import scan

pytestmark = pytest.mark.usefixtures("executor")

TIME = 1_700_000_000_000


def column(strings: list[bytes | None], *, is_large: bool = False, first: int = 0) -> BinaryColumn:
    """With `first` strings of something else in front, as a slice of a longer column has them."""
    padded = [b"padding"] * first + strings
    ends, data, bits = [0], b"", 0
    for row, string in enumerate(padded):
        data += string or b""
        ends.append(len(data))
        bits |= (string is not None) << row
    validity = bits.to_bytes((len(padded) + 7) // 8, "little") if None in strings else None
    offsets = array("q" if is_large else "i", ends).tobytes()
    return BinaryColumn(len(strings), offsets, data, validity, is_large=is_large, first=first)


def headers_column(lists: list[list[tuple[bytes | None, bytes | None]]]) -> HeadersColumn:
    pairs = [pair for one in lists for pair in one]
    ends = [0]
    for one in lists:
        ends.append(ends[-1] + len(one))
    offsets = array("i", ends).tobytes()
    return HeadersColumn(len(lists), offsets, column([key for key, _ in pairs]), column([value for _, value in pairs]))


def parsed(built: Batches) -> list[RecordBatch]:
    found = [RecordBatch(piece) for piece in built]
    for one in found:
        one.ensure_valid()
    return found


def test_columns_come_back_as_they_went_in() -> None:
    values = [b"a", None, b"", b"dd" * 200]
    keys = [None, b"k", b"", b"kk" * 50]
    headers = [[(b"h", b"1"), (b"i", None)], [], [(b"", b"")], []]
    times = array("q", [TIME, TIME - 5, TIME + 10**10, TIME])
    built = build(
        column(values),
        keys=column(keys),
        headers=headers_column(headers),
        timestamps=times.tobytes(),
        default_timestamp=0,
    )
    (batch,) = parsed(built)
    assert (batch.base_timestamp, batch.max_timestamp, batch.count) == (TIME, TIME + 10**10, 4)
    assert (batch.base_offset, batch.partition_leader_epoch, batch.last_offset_delta) == (0, -1, 3)
    columns = scan(built.data)
    assert columns.values().to_list() == values
    assert columns.keys().to_list() == keys
    assert columns.headers().to_list() == headers
    assert columns.timestamps() == times


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize("first", [0, 1, 7, 8, 13])
def test_slices_and_both_offset_widths(is_large: bool, first: int) -> None:
    strings = [b"x", None, b"yy", b"", None, b"z" * 70, b"w", b"v", None, b"u"]
    built = build(column(strings, is_large=is_large, first=first), default_timestamp=TIME)
    assert scan(built.data).values().to_list() == strings


def test_batches_close_at_the_limit() -> None:
    built = build(column([b"v" * 100] * 1000), default_timestamp=TIME, batch_bytes_max=1000)
    assert {stop - start for start, stop, _, _ in built.spans[:-1]} <= set(range(900, 1001))
    assert [first for _, _, first, _ in built.spans] == list(range(0, 1000, built.spans[0][3]))
    assert sum(count for _, _, _, count in built.spans) == 1000
    assert [batch.count for batch in parsed(built)] == [count for _, _, _, count in built.spans]


def test_the_limit_is_exact() -> None:
    two = build(column([b"a" * 50] * 2), default_timestamp=TIME)
    size = len(two.data)
    assert len(build(column([b"a" * 50] * 2), default_timestamp=TIME, batch_bytes_max=size)) == 1
    assert len(build(column([b"a" * 50] * 2), default_timestamp=TIME, batch_bytes_max=size - 1)) == 2


def test_a_record_over_the_limit_is_alone_and_beyond_a_request_refused() -> None:
    values = [b"a", b"b" * 5000, b"c"]
    built = build(column(values), default_timestamp=TIME, batch_bytes_max=1000)
    assert [count for _, _, _, count in built.spans] == [1, 1, 1]
    with pytest.raises(errors.MessageTooLarge, match="record 1 "):
        build(column(values), default_timestamp=TIME, batch_bytes_max=1000, request_bytes_max=5000)


def test_no_rows_no_batches() -> None:
    assert len(build(column([]), default_timestamp=TIME)) == 0
    assert len(build(None, default_timestamp=TIME)) == 0


def test_tombstones() -> None:
    built = build(None, keys=column([b"a", b"b"]), default_timestamp=TIME)
    columns = scan(built.data)
    assert (columns.keys().to_list(), columns.values().to_list()) == ([b"a", b"b"], [None, None])


def test_identity_and_sequences_wrap() -> None:
    identity = BatchIdentity(77, 3, 2**31 - 2, True)
    built = build(column([b"v" * 100] * 9), default_timestamp=TIME, identity=identity, batch_bytes_max=400)
    found = parsed(built)
    assert all(batch.is_transactional and (batch.producer_id, batch.producer_epoch) == (77, 3) for batch in found)
    assert found[0].base_sequence == 2**31 - 2
    assert found[1].base_sequence == found[0].count - 2  # from 2**31 - 1 to 0
    assert found[2].base_sequence == found[1].base_sequence + found[1].count


def test_without_a_producer_id_there_is_no_sequence() -> None:
    built = build(column([b"v" * 100] * 9), default_timestamp=TIME, batch_bytes_max=400)
    assert {batch.base_sequence for batch in parsed(built)} == {-1}


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_compressed_batches(codec: int) -> None:
    values = [b"v" * 100] * 50
    identity = BatchIdentity(5, 0, 0, True)
    built = build(column(values), default_timestamp=TIME, identity=identity, codec=codec, batch_bytes_max=2000)
    found = parsed(built)
    assert len(found) > 1
    assert all(batch.compression == codec and batch.is_transactional for batch in found)
    assert scan(built.data).values().to_list() == values


def test_columns_that_do_not_hold_together_are_refused() -> None:
    good = column([b"aa", b"bb"])
    descending = BinaryColumn(2, array("i", [0, 4, 2]).tobytes(), b"aabb")
    beyond = BinaryColumn(2, array("i", [0, 2, 5]).tobytes(), b"aabb")
    negative = BinaryColumn(1, array("i", [-1, 2]).tobytes(), b"aabb")
    for bad, row in ((descending, 1), (beyond, 1), (negative, 0)):
        with pytest.raises(ValueError, match=f"record {row}: the column's offsets"):
            build(bad, default_timestamp=TIME)
    with pytest.raises(ValueError, match="cannot give 2 rows"):
        build(BinaryColumn(2, array("i", [0, 2]).tobytes(), b"aabb"), default_timestamp=TIME)
    with pytest.raises(ValueError, match="cannot give 2 rows"):
        build(good, keys=column([b"a"]), default_timestamp=TIME)
    with pytest.raises(ValueError, match="bitmap"):
        build(BinaryColumn(9, array("i", [0] * 10).tobytes(), b"", b"\xff"), default_timestamp=TIME)
    with pytest.raises(ValueError, match="timestamps"):
        build(good, timestamps=bytes(8), default_timestamp=TIME)
    with pytest.raises(ValueError, match="record 1: a header key is null"):
        build(good, headers=headers_column([[], [(None, b"")]]), default_timestamp=TIME)


@pytest.mark.contract("A98")
def test_builder_appends_until_full() -> None:
    builder = BatchBuilder(500)
    count = 0
    while builder.append(TIME + count, b"key", b"v" * 50):
        count += 1
    assert (len(builder), builder.max_timestamp) == (count, TIME + count - 1)
    batch = builder.build()
    assert len(batch) == builder.size_bytes <= 500
    assert scan(batch).values().to_list() == [b"v" * 50] * count


@pytest.mark.contract("A98")
def test_builder_takes_a_first_record_of_any_size() -> None:
    builder = BatchBuilder(100)
    assert builder.append(TIME, None, b"v" * 10_000)
    assert not builder.append(TIME, None, b"")
    assert len(scan(builder.build())) == 1


def test_a_refused_record_changes_nothing() -> None:
    builder = BatchBuilder(200)
    builder.append(TIME, None, b"a")
    before = builder.build()
    assert not builder.append(TIME + 10**6, None, b"b" * 500)
    with pytest.raises(TypeError):
        builder.append(TIME, None, "text")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="header key"):
        builder.append(TIME, None, b"a", [(None, b"")])  # type: ignore[list-item]
    with pytest.raises(OverflowError):
        builder.append(2**63, None, b"a")
    assert builder.build() == before


def test_builder_headers_and_other_buffers() -> None:
    builder = BatchBuilder()
    wide = memoryview(array("q", [1, 2]))
    builder.append(TIME, bytearray(b"k"), memoryview(b"v"), [("name", b"x"), (b"\xff", None), ("\udcff", b"")])
    builder.append(TIME, None, wide)
    columns = scan(builder.build())
    assert columns.keys().to_list() == [b"k", None]
    assert columns.values().to_list() == [b"v", bytes(wide)]
    assert columns.headers().to_list() == [[(b"name", b"x"), (b"\xff", None), (b"\xff", b"")], []]


def test_builder_timestamps() -> None:
    builder = BatchBuilder()
    for timestamp in (TIME, TIME - 10, TIME + 10, 2**63 - 1, -(2**63)):
        builder.append(timestamp, None, b"")
    batch = RecordBatch(builder.build())
    assert (batch.base_timestamp, batch.max_timestamp) == (TIME, 2**63 - 1)
    assert scan(builder.build()).timestamps().tolist() == [TIME, TIME - 10, TIME + 10, 2**63 - 1, -(2**63)]


@pytest.mark.parametrize("codec", [0, 4])
def test_builder_builds_again_with_another_identity(codec: int) -> None:
    builder = BatchBuilder(codec=codec)
    builder.append(TIME, None, b"v" * 100)
    first = RecordBatch(builder.build(BatchIdentity(1, 0, 0)))
    second = RecordBatch(builder.build(BatchIdentity(1, 1, 9, True)))
    assert (first.producer_epoch, first.base_sequence, first.compression) == (0, 0, codec)
    assert (second.producer_epoch, second.base_sequence, second.is_transactional) == (1, 9, True)
    second.ensure_valid()


def test_builder_without_records_builds_nothing() -> None:
    with pytest.raises(ValueError, match="without records"):
        BatchBuilder().build()


@pytest.mark.contract("A64")
def test_estimate_is_never_too_small() -> None:
    for size in (0, 63, 64, 8191, 8192, 100_000):
        builder = BatchBuilder()
        builder.append(TIME, b"k" * size, b"v" * size)
        assert builder.size_bytes <= estimated_size(b"k" * size, b"v" * size) <= builder.size_bytes + 40


def test_the_slow_reader_agrees() -> None:
    built = build(column([b"a", None, b"c" * 9000]), default_timestamp=TIME)
    records = [record for batch in batches(built.data) for record in batch.records()]
    assert [(record.offset, record.timestamp, record.value) for record in records] == [
        (0, TIME, b"a"),
        (1, TIME, None),
        (2, TIME, b"c" * 9000),
    ]


def test_lists_are_columns_too(executor) -> None:
    values, keys = [b"one", None, b"", b"four"], [b"a", b"b", None, b""]
    batches = build(values, keys=keys, default_timestamp=1_700_000_000_000)
    columns = scan(batches.data)
    assert columns.values().to_list() == values
    assert columns.keys().to_list() == keys
