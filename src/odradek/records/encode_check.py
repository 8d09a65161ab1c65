"""What `encode_batches` is given, checked once per call and before either executor looks at it.

Here belongs all that concerns a column as a whole: types, counts, sizes. What depends on single rows (offsets that
descend, null header keys, records that are too large) is left to the loops, which visit every row anyway.
"""

from typing import Any

from odradek.records import fields, layout
from odradek.records.arrow import BinaryColumn, HeadersColumn
from odradek.records.rows import Buffer

Identity = tuple[int, int, int, int]  # attributes, producer id, producer epoch, base sequence

_TIMESTAMP_BYTES = 8
_INT64_FORMATS = ("q", "l", "@q", "@l")
_RAW_FORMATS = ("B", "b", "c")
_IDENTITY_FIELDS = (("attributes", 16), ("producer_id", 64), ("producer_epoch", 16), ("base_sequence", 32))


def checked_columns(
    rows: object, keys: object, values: object, headers: object, timestamps: object, default_timestamp: object
) -> tuple[int, memoryview | None, int]:
    """Refuses columns that cannot give `rows` rows; returns rows, timestamps and default timestamp, made plain."""
    rows = fields.natural("rows", rows, 32)
    if keys is not None:
        _check_binary("keys", keys, rows)
    if values is not None:
        _check_binary("values", values, rows)
    if headers is not None:
        _check_headers(headers, rows)
    times = None if timestamps is None else timestamp_bytes(timestamps, rows)
    return rows, times, checked_timestamp("default_timestamp", default_timestamp)


def checked_timestamp(name: str, value: object) -> int:
    number = fields.integer(name, value)
    if number < layout.NO_TIMESTAMP:
        raise ValueError(f"{name} is {number}: milliseconds since 1970, or -1 for none")
    return number


def checked_identity(identity: object) -> Identity:
    if not isinstance(identity, tuple) or len(identity) != len(_IDENTITY_FIELDS):
        raise TypeError(f"identity is (attributes, producer id, producer epoch, base sequence), not {identity!r}")
    attributes, producer_id, producer_epoch, base_sequence = (
        fields.integer(name, value, bits) for (name, bits), value in zip(_IDENTITY_FIELDS, identity, strict=True)
    )
    return attributes, producer_id, producer_epoch, base_sequence


def checked_limits(batch_bytes_max: object, request_bytes_max: object) -> tuple[int, int]:
    request_limit = fields.size_limit("request_bytes_max", request_bytes_max)
    return min(fields.size_limit("batch_bytes_max", batch_bytes_max), request_limit), request_limit


def checked_base_offset(base_offset: object, rows: int) -> int | None:
    """The first offset, if all `rows` of them fit into 64 bits."""
    if base_offset is None:
        return None
    first = fields.natural("base_offset", base_offset)
    fields.integer("the last offset", first + max(rows - 1, 0))
    return first


def timestamp_bytes(timestamps: object, rows: int) -> memoryview:
    """Native int64 for exactly `rows` rows: items of that type, or raw bytes of that size."""
    view = buffer_view("timestamps", timestamps)
    is_int64 = view.format in _INT64_FORMATS and view.itemsize == _TIMESTAMP_BYTES
    if view.nbytes != rows * _TIMESTAMP_BYTES or not (is_int64 or view.format in _RAW_FORMATS):
        raise ValueError(
            f"timestamps of {view.nbytes} bytes in format {view.format!r} cannot give {rows} rows: "
            f"they take {rows * _TIMESTAMP_BYTES} bytes of int64"
        )
    return view.cast("B")


def buffer_view(name: str, buffer: Any) -> memoryview:
    """Any: whether it is a buffer is for `memoryview` to say."""
    try:
        view = memoryview(buffer)
    except TypeError:
        raise TypeError(f"{name}: a buffer is needed, not {type(buffer).__name__}") from None
    if not view.c_contiguous:
        raise TypeError(f"{name}: the bytes of a buffer must be contiguous")
    return view


def _check_binary(name: str, column: object, rows: int) -> None:
    if not isinstance(column, BinaryColumn):
        raise TypeError(f"{name}: a BinaryColumn is needed, not {type(column).__name__}")
    _check_layout(name, column, rows)
    if type(column.data) is not bytes:
        buffer_view(name, column.data)


def _check_headers(headers: object, rows: int) -> None:
    if not isinstance(headers, HeadersColumn):
        raise TypeError(f"headers: a HeadersColumn is needed, not {type(headers).__name__}")
    _check_layout("headers", headers, rows)
    for name, column in (("header keys", headers.keys), ("header values", headers.values)):
        _check_binary(name, column, getattr(column, "length", 0))


def _check_layout(name: str, column: BinaryColumn | HeadersColumn, rows: int) -> None:
    first = fields.natural("the first row of a column", column.first)
    length = fields.natural("the length of a column", column.length)
    count = _bytes_in(name, column.offsets) // (8 if column.is_large else 4)
    if length != rows or count < first + rows + 1:
        raise ValueError(f"{name}: a column of {length} rows and {count} offsets cannot give {rows} rows")
    if column.validity is not None:
        size = _bytes_in(name, column.validity)
        if size * 8 < first + rows:
            raise ValueError(f"{name}: a validity bitmap of {size} bytes cannot cover {rows} rows")


def _bytes_in(name: str, buffer: Buffer) -> int:
    return len(buffer) if type(buffer) is bytes else buffer_view(name, buffer).nbytes
