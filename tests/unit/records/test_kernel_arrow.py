"""Arrow's layout with pyarrow: the same memory both ways."""

import pytest

from odradek.records.arrow import BinaryColumn
from odradek.records.build import BatchBuilder, build, build_record_batch
from odradek.records.columns import scan

pa = pytest.importorskip("pyarrow", reason="pip install odradek[arrow]")

pytestmark = pytest.mark.usefixtures("executor")

TIME = 1_700_000_000_000


def sample() -> bytes:
    builder = BatchBuilder()
    builder.append(TIME, b"k", b"v", [("h", b"1"), ("i", None)])
    builder.append(TIME + 1, None, None)
    builder.append(TIME + 2, b"", b"w" * 300, [("j", b"")])
    return builder.build()


def test_a_scan_as_a_record_batch() -> None:
    batch = scan(sample()).to_arrow()
    batch.validate(full=True)
    assert batch.schema.names == ["key", "value", "headers", "offset", "timestamp"]
    assert batch.schema.field("headers").type == pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    assert batch.schema.field("timestamp").type == pa.timestamp("ms")
    assert batch.column("key").to_pylist() == [b"k", None, b""]
    assert batch.column("value").to_pylist() == [b"v", None, b"w" * 300]
    assert batch.column("offset").to_pylist() == [0, 1, 2]
    assert batch.column("timestamp").cast(pa.int64()).to_pylist() == [TIME, TIME + 1, TIME + 2]
    assert batch.column("headers").to_pylist() == [
        [{"key": "h", "value": b"1"}, {"key": "i", "value": None}],
        [],
        [{"key": "j", "value": b""}],
    ]


def test_an_empty_scan() -> None:
    batch = scan(b"").to_arrow()
    batch.validate(full=True)
    assert batch.num_rows == 0


def test_memory_is_shared_and_outlives_the_columns() -> None:
    columns = scan(sample())
    values = columns.values()
    array = values.to_pyarrow()
    assert array.buffers()[2].address == pa.py_buffer(values.data).address
    batch = columns.to_arrow()
    del columns, values
    assert batch.column("offset").to_pylist() == [0, 1, 2]
    assert array.to_pylist() == [b"v", None, b"w" * 300]


def test_header_keys_that_are_not_text() -> None:
    builder = BatchBuilder()
    builder.append(TIME, None, b"", [(b"ok", b""), (b"\xff", b"")])
    (headers,) = scan(builder.build()).to_arrow().column("headers").to_pylist()
    assert [header["key"] for header in headers] == ["ok", "\ufffd"]


def test_there_and_back() -> None:
    first = scan(sample()).to_arrow()
    (built,) = build_record_batch(first, default_timestamp=0)
    assert scan(built.data).to_arrow() == first
    assert bytes(built.data) == sample()


@pytest.mark.parametrize("start", [0, 1, 2])
def test_sliced_tables(start: int) -> None:
    table = pa.Table.from_batches([scan(sample()).to_arrow()] * 2).slice(start, 4)
    pieces = build_record_batch(table, default_timestamp=0)
    rows = [row for piece in pieces for row in scan(piece.data).to_arrow().drop_columns("offset").to_pylist()]
    assert rows == table.drop_columns("offset").to_pylist()


@pytest.mark.parametrize(
    "kind",
    [
        pa.binary(),
        pa.large_binary(),
        pa.string(),
        pa.large_string(),
        pa.binary_view(),
        pa.dictionary(pa.int8(), pa.string()),
    ],
)
def test_every_kind_of_string(kind: object) -> None:
    strings = pa.array(["a", None, "ccc", ""], pa.string()).cast(kind)[1:]
    built = build(strings, keys=strings, default_timestamp=TIME)
    assert scan(built.data).values().to_list() == [None, b"ccc", b""]
    assert scan(built.data).keys().to_list() == [None, b"ccc", b""]


def test_fixed_size_null_and_chunked_columns() -> None:
    fixed = pa.array([b"ab", b"cd"], pa.binary(2))
    assert scan(build(fixed, default_timestamp=0).data).values().to_list() == [b"ab", b"cd"]
    nulls = pa.nulls(2)
    assert scan(build(nulls, keys=fixed, default_timestamp=0).data).values().to_list() == [None, None]
    chunked = pa.chunked_array([[b"x"], [b"y", b"z"]])
    assert scan(build(chunked, default_timestamp=0).data).values().to_list() == [b"x", b"y", b"z"]


def test_timestamps_of_any_unit_with_nulls() -> None:
    values = pa.array([b""] * 3)
    for unit, factor in (("s", 0.001), ("ms", 1), ("us", 1000), ("ns", 10**6)):
        times = pa.array([int(TIME * factor), None, int(TIME * factor)], pa.timestamp(unit))
        built = build(values[1:], timestamps=times[1:], default_timestamp=5)
        assert scan(built.data).timestamps().tolist() == [5, TIME]


def test_types_that_are_no_column_of_records() -> None:
    with pytest.raises(TypeError, match="binary or string"):
        build(pa.array([1, 2]), default_timestamp=0)
    with pytest.raises(TypeError, match="list of"):
        build(pa.array([b"a"]), headers=pa.array([b"a"]), default_timestamp=0)
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    with pytest.raises(ValueError, match="header is null"):
        build(pa.array([b"a"]), headers=pa.array([[None]], kind), default_timestamp=0)


def test_null_lists_and_sliced_headers() -> None:
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    headers = pa.array([[{"key": "z", "value": b""}], None, [{"key": "a", "value": None}]], kind)[1:]
    built = build(pa.array([b"1", b"2"]), headers=headers, default_timestamp=0)
    assert scan(built.data).headers().to_list() == [[], [(b"a", None)]]


def test_columns_over_2_gb_have_wide_offsets() -> None:
    from odradek.records import kernel

    columns = scan(sample())
    rows, segments = columns._rows, columns._segments
    is_large, null_count, validity, offsets, data = kernel.gather(
        rows.value_positions, rows.value_lengths, segments, True
    )
    wide = BinaryColumn(3, offsets, data, validity, null_count=null_count, is_large=is_large)
    assert wide.to_pyarrow().type == pa.large_binary()
    assert wide.to_pyarrow().to_pylist() == wide.to_list() == [b"v", None, b"w" * 300]
