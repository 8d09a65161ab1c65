"""Arrow's columnar memory layout: what gather returns and what build takes, with or without pyarrow.

Plain buffers are enough for both. pyarrow is imported only by the calls that name it, and shares the same memory.
"""

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from odradek.records import fields, layout
from odradek.records.rows import Buffer

if TYPE_CHECKING:
    from types import ModuleType

    import pyarrow as pa

_NO_TIMESTAMP = b"\xff" * 8  # -1 in either byte order


class BinaryColumn:
    """`length` byte strings or nulls: string i lies in `data` between entries `first + i` and the next of `offsets`.

    Offsets are native int32, or int64 where `is_large`; bit `first + i` of `validity`, lowest bit of a byte first, is
    set where string i is not null; without a bitmap none is.
    """

    __slots__ = ("data", "first", "is_large", "length", "null_count", "offsets", "validity")

    def __init__(
        self,
        length: int,
        offsets: Buffer,
        data: Buffer,
        validity: Buffer | None = None,
        *,
        null_count: int | None = None,
        is_large: bool = False,
        first: int = 0,
    ) -> None:
        self.length = length
        self.offsets = offsets
        self.data = data
        self.validity = validity
        self.null_count = (0 if validity is None else -1) if null_count is None else null_count  # -1: not counted
        self.is_large = is_large
        self.first = first

    def __len__(self) -> int:
        return self.length

    def __repr__(self) -> str:
        return f"BinaryColumn({self.length} rows, {len(self.data)} bytes)"

    def to_list(self) -> list[bytes | None]:
        """The column as Python objects, for tests and small columns."""
        ends = memoryview(self.offsets).cast("B").cast("q" if self.is_large else "i")
        if self.validity is None:
            whole, bounds = bytes(self.data), ends[self.first : self.first + self.length + 1].tolist()
            return [whole[start:end] for start, end in pairwise(bounds)]
        data = memoryview(self.data)
        strings: list[bytes | None] = []
        for row in range(self.first, self.first + self.length):
            is_valid = self.validity is None or self.validity[row >> 3] >> (row & 7) & 1
            strings.append(bytes(data[ends[row] : ends[row + 1]]) if is_valid else None)
        return strings

    @classmethod
    def from_list(cls, strings: Sequence[Buffer | None], name: str = "a string") -> "BinaryColumn":
        """From Python objects: the way in for callers without pyarrow. `name` is for errors."""
        plain = [
            string if string is None or type(string) is bytes else fields.octets(f"record {row}: {name}", string)
            for row, string in enumerate(strings)
        ]
        ends = array("q", accumulate((len(string or b"") for string in plain), initial=0))
        validity = bytearray((len(plain) + 7) // 8)
        for row, string in enumerate(plain):
            validity[row >> 3] |= (string is not None) << (row & 7)
        data = b"".join(string for string in plain if string is not None)
        nulls = plain.count(None)
        return cls(len(plain), memoryview(ends).cast("B"), data, validity, null_count=nulls, is_large=True)

    def to_pyarrow(self, *, is_string: bool = False) -> "pa.Array":
        pa = arrow_module()
        small, large = (pa.string(), pa.large_string()) if is_string else (pa.binary(), pa.large_binary())
        buffers = [_py_buffer(self.validity), _py_buffer(self.offsets), _py_buffer(self.data)]
        return pa.Array.from_buffers(
            large if self.is_large else small, self.length, buffers, self.null_count, self.first
        )

    @classmethod
    def from_pyarrow(cls, column: "pa.Array") -> "BinaryColumn":
        """A binary or string array, of either offset width, sliced or not; its buffers are shared."""
        pa = arrow_module()
        types, kind = pa.types, column.type
        if types.is_dictionary(kind) or types.is_binary_view(kind) or types.is_string_view(kind):
            column = column.cast(pa.large_binary())
        elif types.is_null(kind) or types.is_fixed_size_binary(kind):
            column = column.cast(pa.binary())
        kind = column.type
        is_large = types.is_large_binary(kind) or types.is_large_string(kind)
        if not (is_large or types.is_binary(kind) or types.is_string(kind)):
            raise TypeError(f"keys and values are binary or string columns, not {kind}")
        validity, offsets, data = column.buffers()
        return cls(
            len(column),
            memoryview(offsets) if offsets is not None else bytes(8),
            memoryview(data) if data is not None else b"",
            memoryview(validity) if validity is not None and column.null_count else None,
            null_count=column.null_count,
            is_large=is_large,
            first=column.offset if offsets is not None else 0,
        )


class HeadersColumn:
    """A list of (key, value) per record: list i is entries `offsets[first + i]` to `offsets[first + i + 1]`."""

    __slots__ = ("first", "is_large", "keys", "length", "offsets", "validity", "values")

    def __init__(
        self,
        length: int,
        offsets: Buffer,
        keys: BinaryColumn,
        values: BinaryColumn,
        validity: Buffer | None = None,
        *,
        is_large: bool = False,
        first: int = 0,
    ) -> None:
        self.length = length
        self.offsets = offsets
        self.keys = keys
        self.values = values
        self.validity = validity  # a null list is a record without headers
        self.is_large = is_large
        self.first = first

    def __len__(self) -> int:
        return self.length

    def to_list(self) -> list[list[tuple[bytes, bytes | None]]]:
        ends = memoryview(self.offsets).cast("B").cast("q" if self.is_large else "i")
        pairs = [(key or b"", value) for key, value in zip(self.keys.to_list(), self.values.to_list(), strict=True)]
        lists = []
        for row in range(self.first, self.first + self.length):
            is_valid = self.validity is None or self.validity[row >> 3] >> (row & 7) & 1
            lists.append(pairs[ends[row] : ends[row + 1]] if is_valid else [])
        return lists

    @classmethod
    def from_list(cls, lists: "Sequence[Iterable[tuple[str | bytes, Buffer | None]] | None]") -> "HeadersColumn":
        """From one list of (key, value) pairs per record; None is a record without headers."""
        ends = array("q", [0])
        pairs: list[fields.HeaderFields] = []
        for row, headers in enumerate(lists):
            pairs += _header_pairs(row, headers)
            ends.append(len(pairs))
        keys = BinaryColumn.from_list([key for key, _ in pairs])
        values = BinaryColumn.from_list([value for _, value in pairs])
        return cls(len(lists), memoryview(ends).cast("B"), keys, values, is_large=True)

    def to_pyarrow(self) -> "pa.Array":
        pa = arrow_module()
        keys = _valid_strings(self.keys)
        pair = pa.StructArray.from_arrays([keys, self.values.to_pyarrow()], names=["key", "value"])
        kind = pa.large_list(pair.type) if self.is_large else pa.list_(pair.type)
        buffers = [_py_buffer(self.validity), _py_buffer(self.offsets)]
        return pa.Array.from_buffers(kind, self.length, buffers, offset=self.first, children=[pair])

    @classmethod
    def from_pyarrow(cls, column: "pa.Array") -> "HeadersColumn":
        """list<struct<key: string, value: binary>>, the form that `to_pyarrow` and Spark's connector give."""
        types = arrow_module().types
        is_large = types.is_large_list(column.type)
        if not (is_large or types.is_list(column.type)) or not types.is_struct(column.type.value_type):
            raise TypeError(f"headers are a list of (key, value) structs, not {column.type}")
        validity, offsets = column.buffers()[:2]
        pairs = column.values
        if pairs.null_count:
            raise ValueError("a header is null; a record without headers has an empty list")
        return cls(
            len(column),
            memoryview(offsets) if offsets is not None else bytes(8),
            BinaryColumn.from_pyarrow(pairs.field("key")),
            BinaryColumn.from_pyarrow(pairs.field("value")),
            memoryview(validity) if validity is not None and column.null_count else None,
            is_large=is_large,
            first=column.offset if offsets is not None else 0,
        )


def to_record_batch(
    keys: BinaryColumn,
    values: BinaryColumn,
    headers: HeadersColumn,
    offsets: "array[int]",
    timestamps: "array[int]",
) -> "pa.RecordBatch":
    """key, value, headers, offset, timestamp: the columns of a scan as pyarrow's, over the gathered memory."""
    pa = arrow_module()
    arrays = [
        keys.to_pyarrow(),
        values.to_pyarrow(),
        headers.to_pyarrow(),
        pa.Array.from_buffers(pa.int64(), len(offsets), [None, pa.py_buffer(offsets)], 0),
        _nullable_timestamps(timestamps),
    ]
    return pa.RecordBatch.from_arrays(arrays, names=["key", "value", "headers", "offset", "timestamp"])


def _nullable_timestamps(times: "array[int]") -> "pa.Array":
    """Milliseconds over the same memory; "no timestamp" is null, as a missing key or value is.

    Eight bytes of -1 anywhere are a hint, found faster than the items could be compared: most logs have none, and
    need no bitmap.
    """
    pa = arrow_module()
    data, validity = pa.py_buffer(times), None
    if _NO_TIMESTAMP in times.tobytes():
        from pyarrow import compute

        numbers = pa.Array.from_buffers(pa.int64(), len(times), [None, data], 0)
        validity = compute.not_equal(numbers, layout.NO_TIMESTAMP).buffers()[1]
    return pa.Array.from_buffers(pa.timestamp("ms"), len(times), [validity, data])


def timestamps_of(column: "pa.Array", default_ms: int) -> memoryview:
    """An int64 or timestamp array as milliseconds; nulls get `default_ms`."""
    pa = arrow_module()
    types = pa.types
    if types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("ms"), safe=False)
    elif not (types.is_integer(column.type) or types.is_null(column.type)):
        raise TypeError(f"timestamps are an integer or timestamp column, not {column.type}")
    column = column.cast(pa.int64())
    if column.null_count:
        column = column.fill_null(default_ms)
    data = column.buffers()[1]
    if data is None:
        return memoryview(b"")
    return memoryview(data)[8 * column.offset : 8 * (column.offset + len(column))]


def _valid_strings(keys: BinaryColumn) -> "pa.Array":
    """Header keys are UTF-8 by convention only; bytes that are not get U+FFFD, as in Kafka's own reader."""
    pa = arrow_module()
    strings = keys.to_pyarrow(is_string=True)
    try:
        strings.validate(full=True)
    except pa.ArrowInvalid:
        strings = pa.array([(key or b"").decode("utf-8", "replace") for key in keys.to_list()], pa.string())
    return strings


def _header_pairs(row: int, headers: object) -> list[fields.HeaderFields]:
    """Of whatever a caller takes for headers; `fields` says what is wrong with it."""
    try:
        return [fields.header_pair(pair) for pair in fields.header_list(() if headers is None else headers)]
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError  # not the kinds that take more than a text
        raise kind(f"record {row}: {error}") from None


def _py_buffer(buffer: Buffer | None) -> "pa.Buffer | None":
    """The same memory for pyarrow: nothing is copied."""
    return None if buffer is None else arrow_module().py_buffer(buffer)


def arrow_module() -> "ModuleType":
    """The module, which need not be there."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(f"Arrow columns need pyarrow: pip install 'odradek[arrow]' ({error})") from error
    module: ModuleType = pyarrow
    return module
