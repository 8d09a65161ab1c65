"""What build, BatchBuilder and scan take, and how they refuse the rest."""

import inspect
import sys
from array import array
from typing import Any

import pytest

from odradek.protocol import errors
from odradek.records import compression, kernel
from odradek.records.arrow import BinaryColumn, HeadersColumn
from odradek.records.batch import RecordBatch
from odradek.records.build import BatchBuilder, Batches, BatchIdentity, build, build_record_batch
from odradek.records.columns import scan

pytestmark = pytest.mark.usefixtures("executor")

TIME = 1_700_000_000_000
VALUES = [b"v" * 100] * 50


def base_offsets(built: Batches) -> list[int]:
    return [RecordBatch(piece).base_offset for piece in built]


# --- offsets ---


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_a_base_offset_numbers_the_records_on_across_batches(codec: str) -> None:
    built = build(VALUES, default_timestamp=TIME, batch_bytes_max=1000, codec=codec, base_offset=7)
    assert len(built) > 3
    assert base_offsets(built) == [7 + first for _, _, first, _ in built.spans]
    columns = scan(built)
    assert columns.offsets().tolist() == list(range(7, 57))
    assert columns.next_offset == 57


def test_base_offset_0_is_not_the_same_as_none() -> None:
    numbered = build(VALUES, default_timestamp=TIME, batch_bytes_max=1000, base_offset=0)
    assert scan(numbered).offsets().tolist() == list(range(50))
    plain = build(VALUES, default_timestamp=TIME, batch_bytes_max=1000)
    assert set(base_offsets(plain)) == {0}


def test_offsets_end_with_64_bits() -> None:
    last = 2**63 - 1
    assert scan(build([b"a"], default_timestamp=TIME, base_offset=last)).offsets().tolist() == [last]
    with pytest.raises(OverflowError, match=f"the last offset {last + 1} does not fit in 64 bits"):
        build([b"a", b"b"], default_timestamp=TIME, base_offset=last)
    with pytest.raises(ValueError, match="base_offset is -1"):
        build([b"a"], default_timestamp=TIME, base_offset=-1)
    with pytest.raises(TypeError, match="base_offset is an int, not str"):
        build([b"a"], default_timestamp=TIME, base_offset="7")  # type: ignore[arg-type]


def test_a_table_of_several_chunks_is_numbered_on() -> None:
    pa = pytest.importorskip("pyarrow", reason="pip install odradek[arrow]")
    piece = pa.record_batch({"value": [b"a", b"b", b"c"]})
    pieces = build_record_batch(pa.Table.from_batches([piece, piece]), default_timestamp=0, base_offset=10)
    assert [scan(one).offsets().tolist() for one in pieces] == [[10, 11, 12], [13, 14, 15]]


# --- lists ---


@pytest.mark.contract("A90")
def test_headers_and_timestamps_in_lists() -> None:
    headers = [[("a", b"1"), (b"\xff", None)], None, [], ([("b", bytearray(b"2"))])]
    built = build([b"1", b"2", b"3", b"4"], headers=headers, timestamps=[5, None, -1, TIME], default_timestamp=9)
    columns = scan(built)
    assert columns.headers().to_list() == [[(b"a", b"1"), (b"\xff", None)], [], [], [(b"b", b"2")]]
    assert columns.timestamps().tolist() == [5, 9, -1, TIME]


def test_lists_and_columns_give_the_same_bytes() -> None:
    headers = [[("a", b"1")], [], [("b", None), ("", b"")]]
    built = build([b"1", None, b""], headers=headers, timestamps=(1, 2, 3), default_timestamp=0)
    builder = BatchBuilder()
    for row, value in enumerate([b"1", None, b""]):
        builder.append(row + 1, None, value, headers[row])
    assert bytes(built.data) == builder.build()


def test_a_list_may_hold_any_bytes_like_item() -> None:
    wide = memoryview(array("q", [1, 2]))
    built = build([bytearray(b"a"), wide, None], default_timestamp=TIME)
    assert scan(built).values().to_list() == [b"a", wide.tobytes(), None]


@pytest.mark.contract("A102")
@pytest.mark.parametrize(
    ("headers", "kind", "words"),
    [
        (["x"], TypeError, "record 0: a header is a (key, value) pair, not str"),
        ([5], TypeError, "record 0: headers are (key, value) pairs, not int"),
        ([[("a",)]], TypeError, "record 0: a header is a (key, value) pair, not 1 of something"),
        ([[(None, b"")]], ValueError, "record 0: a header key is null"),
        ([[(5, b"")]], TypeError, "record 0: a header key is a str or bytes-like, not int"),
        ([[("a", "text")]], TypeError, "record 0: a header value is bytes-like or None, not str"),
        ([[("\ud800", b"")]], ValueError, "record 0: 'utf-8' codec can't encode"),
        ([[], []], ValueError, "headers: a column of 2 rows and 3 offsets cannot give 1 rows"),
        ({"a": b""}, TypeError, "headers are a list of lists of (key, value), a HeadersColumn or a pyarrow array"),
    ],
)
def test_headers_that_are_none(headers: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as caught:
        build([b"v"], headers=headers, default_timestamp=TIME)
    assert words in str(caught.value)


@pytest.mark.parametrize("wrong", [b"bytes", "text", 5, {b"a"}, HeadersColumn.from_list([[]])])
def test_what_is_no_column_of_values(wrong: Any) -> None:
    with pytest.raises(TypeError, match="values are a list of bytes, a BinaryColumn or a pyarrow array, not "):
        build(wrong, default_timestamp=TIME)


def test_an_item_that_is_no_bytes_is_named() -> None:
    with pytest.raises(TypeError, match="record 1: value is bytes-like or None, not str"):
        build([b"a", "text"], default_timestamp=TIME)  # type: ignore[list-item]
    with pytest.raises(TypeError, match="record 0: key is bytes-like or None, not int"):
        build([b"a"], keys=[0], default_timestamp=TIME)  # type: ignore[list-item]


# --- timestamps ---


def test_buffers_of_timestamps() -> None:
    times = [TIME, TIME + 1]
    for given in (array("q", times), array("l", times), array("q", times).tobytes(), memoryview(array("q", times))):
        assert scan(build([b"a", b"b"], timestamps=given, default_timestamp=0)).timestamps().tolist() == times


@pytest.mark.parametrize(
    "wrong",
    [array("i", [1, 2]), array("i", [1, 2, 3, 4]), array("d", [1.0, 2.0]), array("q", [1]), bytes(15), bytes(24)],
)
def test_buffers_that_are_no_timestamps(wrong: Any) -> None:
    size = memoryview(wrong).nbytes
    with pytest.raises(ValueError, match=f"timestamps of {size} bytes .* cannot give 2 rows: they take 16 bytes"):
        build([b"a", b"b"], timestamps=wrong, default_timestamp=0)


def test_timestamps_that_are_no_buffer() -> None:
    with pytest.raises(TypeError, match="timestamps are a list of ints, an int64 buffer or a pyarrow array, not range"):
        build([b"a"], timestamps=range(1), default_timestamp=0)
    with pytest.raises(TypeError, match="contiguous"):
        build([b"a"], timestamps=memoryview(bytes(16))[::2], default_timestamp=0)
    with pytest.raises(TypeError, match=r"record 1: timestamp is an int, not float"):
        build([b"a", b"b"], timestamps=[1, 1.5], default_timestamp=0)  # type: ignore[list-item]
    with pytest.raises(OverflowError, match=r"record 0: timestamp 9223372036854775808 does not fit in 64 bits"):
        build([b"a"], timestamps=[2**63], default_timestamp=0)


@pytest.mark.parametrize(
    ("wrong", "kind", "words"),
    [
        (1.5, TypeError, "default_timestamp is an int, not float"),
        (None, TypeError, "default_timestamp is an int, not NoneType"),
        (-2, ValueError, "default_timestamp is -2: milliseconds since 1970, or -1 for none"),
        (2**63, OverflowError, "default_timestamp 9223372036854775808 does not fit in 64 bits"),
    ],
)
def test_default_timestamps_that_cannot_be(wrong: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as caught:
        build([b"a"], default_timestamp=wrong)
    assert str(caught.value) == words


def test_no_timestamp_is_null_in_arrow() -> None:
    pa = pytest.importorskip("pyarrow", reason="pip install odradek[arrow]")
    given = [TIME, -1, None, -2, -(2**32), 0]  # -2**32 and -1 in a row hold eight bytes of 0xff across two items
    times = scan(build([b""] * 6, timestamps=given, default_timestamp=-1)).to_arrow().column("timestamp")
    times.validate(full=True)
    assert times.type == pa.timestamp("ms")
    assert times.cast(pa.int64()).to_pylist() == [TIME, None, None, -2, -(2**32), 0]
    assert times.null_count == 2
    again = build(pa.array([b""] * 6), timestamps=times, default_timestamp=-1)
    assert scan(again).timestamps().tolist() == [TIME, -1, -1, -2, -(2**32), 0]


def test_arrow_timestamps_are_integers_or_times() -> None:
    pa = pytest.importorskip("pyarrow", reason="pip install odradek[arrow]")
    for wrong in (pa.array([1.5]), pa.array(["1"]), pa.array([1], pa.date32())):
        with pytest.raises(TypeError, match="timestamps are an integer or timestamp column"):
            build([b"a"], timestamps=wrong, default_timestamp=0)


# --- codecs ---


@pytest.mark.parametrize(("codec", "code"), [("zstd", 4), (4, 4), ("none", 0), ("uncompressed", 0), (0, 0)])
def test_codecs_by_code_and_by_name(codec: int | str, code: int) -> None:
    (piece,) = build([b"v" * 50], default_timestamp=TIME, codec=codec)
    builder = BatchBuilder(codec=codec)
    builder.append(TIME, None, b"v" * 50)
    assert RecordBatch(piece).compression == RecordBatch(builder.build()).compression == code


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"codec": 9}, errors.UnsupportedCompressionType, "no compression codec 9"),
        ({"codec": -1}, errors.UnsupportedCompressionType, "no compression codec -1"),
        ({"codec": "brotli"}, errors.InvalidConfig, "'brotli' is no compression codec"),
        ({"codec": 1.0}, TypeError, "a codec is a code or a name, not float"),
        ({"codec": None}, TypeError, "a codec is a code or a name, not NoneType"),
        ({"codec": "gzip", "level": 99}, errors.InvalidConfig, "level 99 is out of range for gzip"),
        ({"codec": "gzip", "level": "9"}, TypeError, "a compression level is an int or None, not str"),
        ({"batch_bytes_max": -1}, ValueError, "batch_bytes_max is -1, less than 0"),
        ({"batch_bytes_max": 1e3}, TypeError, "batch_bytes_max is an int, not float"),
    ],
)
def test_options_that_are_refused_at_once(options: dict[str, Any], kind: type[Exception], words: str) -> None:
    for make in (lambda: BatchBuilder(**options), lambda: build([], default_timestamp=TIME, **options)):
        with pytest.raises(kind) as caught:
            make()
        assert words in str(caught.value)


def test_a_limit_larger_than_any_batch_is_no_limit() -> None:
    built = build(VALUES, default_timestamp=TIME, batch_bytes_max=2**40, request_bytes_max=2**62)
    assert len(built) == 1
    assert kernel.RecordsWriter(2**40).batch_bytes_max == 2**31 - 1


def test_a_record_that_no_length_field_can_hold(executor: str) -> None:
    if executor == "pure":
        pytest.skip("the twin would copy 2 GB before it knows")
    builder = BatchBuilder()
    with pytest.raises(errors.MessageTooLarge, match="larger than its length field"):
        builder.append(TIME, None, bytes(2**31))  # zero pages: none of them is ever touched
    assert len(builder) == 0


# --- identities ---


@pytest.mark.parametrize(
    ("identity", "kind", "words"),
    [
        (BatchIdentity(2**63), OverflowError, "producer_id 9223372036854775808 does not fit in 64 bits"),
        (BatchIdentity(1, 2**15), OverflowError, "producer_epoch 32768 does not fit in 16 bits"),
        (BatchIdentity(1, 0, 2**31), OverflowError, "base_sequence 2147483648 does not fit in 32 bits"),
        (BatchIdentity(1, 2**70), OverflowError, f"producer_epoch {2**70} does not fit in 16 bits"),
        (BatchIdentity("1"), TypeError, "producer_id is an int, not str"),  # type: ignore[arg-type]
        ((0, 1, 2, 3), TypeError, "identity is a BatchIdentity, not tuple"),
    ],
)
def test_identities_that_do_not_fit(identity: Any, kind: type[Exception], words: str) -> None:
    builder = BatchBuilder()
    builder.append(TIME, None, b"")
    for make in (lambda: build([b""], default_timestamp=TIME, identity=identity), lambda: builder.build(identity)):
        with pytest.raises(kind) as caught:
            make()
        assert str(caught.value) == words


# --- one record ---


@pytest.mark.parametrize(
    ("record", "kind", "words"),
    [
        ((1.5, None, None), TypeError, "timestamp is an int, not float"),
        ((2**70, None, None), OverflowError, f"timestamp {2**70} does not fit in 64 bits"),
        ((0, "k", None), TypeError, "key is bytes-like or None, not str"),
        ((0, None, 5), TypeError, "value is bytes-like or None, not int"),
        ((0, None, None, 5), TypeError, "headers are (key, value) pairs, not int"),
        ((0, None, None, [("a",)]), TypeError, "a header is a (key, value) pair, not 1 of something"),
        ((0, None, None, {"ab": b""}), TypeError, "a header is a (key, value) pair, not str"),
        ((0, None, None, [("a", "v")]), TypeError, "a header value is bytes-like or None, not str"),
    ],
)
def test_records_that_cannot_be(record: Any, kind: type[Exception], words: str) -> None:
    builder = BatchBuilder()
    with pytest.raises(kind) as caught:
        builder.append(*record)
    assert str(caught.value) == words
    assert (len(builder), builder.max_timestamp) == (0, -1)


def test_a_record_of_unusual_but_usable_fields() -> None:
    builder = BatchBuilder()
    builder.append(True, bytearray(b"k"), memoryview(b"abcd")[::2], ([k, b"v"] for k in "ab"))
    columns = scan(builder.build())
    assert (columns.timestamps().tolist(), columns.values().to_list()) == ([1], [b"ac"])
    assert columns.headers().to_list() == [[(b"a", b"v"), (b"b", b"v")]]


# --- scan ---


def test_scan_takes_batches_and_every_buffer() -> None:
    built = build([b"a", b"b"], default_timestamp=TIME, base_offset=3)
    data = bytes(built.data)
    for given in (built, data, bytearray(data), memoryview(data), array("B", data)):
        assert scan(given).offsets().tolist() == [3, 4]
    assert len(scan(array("q"))) == 0


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [("text", "str"), (None, "NoneType"), ([b"a"], "list"), (memoryview(bytes(9))[::2], "a view with gaps")],
)
def test_scan_of_what_has_no_bytes(wrong: Any, kind: str) -> None:
    with pytest.raises(TypeError, match=f"scan takes Batches or contiguous bytes, not {kind}"):
        scan(wrong)


def test_numbers_that_a_scan_refuses() -> None:
    with pytest.raises(ValueError, match="limit_bytes is -1, less than 0"):
        scan(b"", limit_bytes=-1)
    with pytest.raises(TypeError, match="limit_bytes is an int, not float"):
        scan(b"", limit_bytes=1e6)  # type: ignore[arg-type]
    with pytest.raises(OverflowError, match="from_offset"):
        scan(b"", from_offset=2**63)
    assert len(scan(b"", limit_bytes=0)) == 0


def test_a_codec_that_there_is_not_is_a_listed_error() -> None:
    out = bytearray(build([b"a"], default_timestamp=TIME).data)
    out[22] |= 7
    with pytest.raises(errors.UnsupportedCompressionType):
        scan(out, check_crc=False)
    assert isinstance(scan(out, check_crc=False, keep_good=True).error, errors.UnsupportedCompressionType)
    for name in ("CorruptMessage", "InvalidRecord", "UnsupportedCompressionType", "RecordListTooLarge", "TypeError"):
        assert name in (scan.__doc__ or "")


# --- for people ---


def test_help_shows_how_to_append() -> None:
    for append in (BatchBuilder.append, BatchBuilder().append):
        names = [name for name in inspect.signature(append).parameters if name != "self"]
        assert names == ["timestamp", "key", "value", "headers"]
        assert "does not fit" in (inspect.getdoc(append) or "")


def test_append_through_the_class_is_the_same() -> None:
    builder = BatchBuilder()
    assert BatchBuilder.append(builder, TIME, None, b"v", [("h", None)])
    assert scan(builder.build()).headers().to_list() == [[(b"h", None)]]


def test_what_people_call_is_documented() -> None:
    for thing in (build, compression.compress, Batches.__len__, Batches.__iter__, BinaryColumn.from_list):
        assert inspect.getdoc(thing)
    assert "base_offset" in (build.__doc__ or "")


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = scan(build([b"a"], default_timestamp=TIME))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for work in (columns.to_arrow, columns.values().to_pyarrow, columns.headers().to_pyarrow):
        with pytest.raises(ImportError, match=r"pip install 'odradek\[arrow\]'"):
            work()
