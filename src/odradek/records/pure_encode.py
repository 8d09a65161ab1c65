"""Build in plain Python: the twin of `_encode.pyx`."""

from collections.abc import Iterable
from itertools import pairwise
from struct import pack_into

from odradek.protocol import errors
from odradek.records import crc, encode_check, fields, layout
from odradek.records.arrow import BinaryColumn, HeadersColumn
from odradek.records.built import Span
from odradek.records.encode_check import Identity
from odradek.records.rows import Buffer

INT32_MAX = 0x7FFF_FFFF
INT64_MIN = -(1 << 63)
INT64_MAX = (1 << 63) - 1
BAD_OFFSETS = 1
NULL_HEADER_KEY = 2
TOO_LARGE = 3

Header = tuple[str | bytes, bytes | None]

_MASK_32 = (1 << 32) - 1
_MASK_64 = (1 << 64) - 1
_NULL = b"\x01"  # -1 as a varint


def refused(fault: int, row: int) -> Exception:
    """Columns come from our own side, so what is wrong with them is a mistake of the caller, except for size."""
    if fault == TOO_LARGE:
        return errors.MessageTooLarge(f"record {row} alone is larger than the largest request allowed")
    if fault == NULL_HEADER_KEY:
        return ValueError(f"record {row}: a header key is null")
    return ValueError(f"record {row}: the column's offsets descend or leave its data")


def next_sequence(sequence: int, increment: int) -> int:
    """Sequences of an idempotent producer wrap from 2**31 - 1 to 0; without one there is nothing to count."""
    return sequence if sequence < 0 else (sequence + increment) & INT32_MAX


def encode_batches(
    rows: int,
    keys: BinaryColumn | None,
    values: BinaryColumn | None,
    headers: HeadersColumn | None,
    timestamps: Buffer | None,
    default_timestamp: int,
    identity: Identity,
    batch_bytes_max: int,
    request_bytes_max: int,
    with_crc: bool,
    base_offset: int | None = None,
) -> tuple[bytes, list[Span]]:
    """Uncompressed batches back to back, and where each lies. Without a CRC if the caller will compress them."""
    rows, time_bytes, default_timestamp = encode_check.checked_columns(
        rows, keys, values, headers, timestamps, default_timestamp
    )
    who = encode_check.checked_identity(identity)
    batch_bytes_max, request_bytes_max = encode_check.checked_limits(batch_bytes_max, request_bytes_max)
    sealed = _Sealed(who, encode_check.checked_base_offset(base_offset, rows), bool(with_crc))
    all_keys = _strings(keys, rows)
    all_values = _strings(values, rows)
    all_headers = _header_lists(headers, rows)
    times = [default_timestamp] * rows if time_bytes is None else time_bytes.cast("q").tolist()
    writer, first_row = RecordsWriter(batch_bytes_max), 0
    for row in range(rows):
        time, key, value, pairs = times[row], all_keys[row], all_values[row], all_headers[row]
        if not writer.append(time, key, value, pairs):
            sealed.add(writer, first_row)
            writer, first_row = RecordsWriter(batch_bytes_max), row
            writer.append(time, key, value, pairs)
        if writer.count == 1 and writer.size > request_bytes_max:  # any later record fits into the batch, and so below
            raise refused(TOO_LARGE, row)
    if writer.count:
        sealed.add(writer, first_row)
    return bytes(sealed.out), sealed.spans


class _Sealed:
    """The batches that are closed, with sequences and, if asked for, offsets that go on from one to the next."""

    __slots__ = ("base_offset", "identity", "out", "spans", "with_crc")

    def __init__(self, identity: Identity, base_offset: int | None, with_crc: bool) -> None:
        self.identity = identity
        self.base_offset = base_offset
        self.with_crc = with_crc
        self.out = bytearray()
        self.spans: list[Span] = []

    def add(self, writer: "RecordsWriter", first_row: int) -> None:
        attributes, producer_id, producer_epoch, sequence = self.identity
        start = len(self.out)
        self.out += writer.seal(attributes, producer_id, producer_epoch, sequence, self.with_crc)
        self.spans.append((start, len(self.out), first_row, writer.count))
        if self.base_offset is not None:
            layout.BASE_OFFSET.pack_into(self.out, start, self.base_offset + first_row)
        self.identity = attributes, producer_id, producer_epoch, next_sequence(sequence, writer.count)


class RecordsWriter:
    """The record section of one batch under construction, behind room for its header."""

    __slots__ = ("_out", "base_timestamp", "batch_bytes_max", "count", "max_timestamp")

    def __init__(self, batch_bytes_max: int) -> None:
        self._out = bytearray(layout.HEADER_SIZE)
        self.batch_bytes_max = fields.size_limit("batch_bytes_max", batch_bytes_max)
        self.count = 0
        self.base_timestamp = layout.NO_TIMESTAMP
        self.max_timestamp = layout.NO_TIMESTAMP

    @property
    def size(self) -> int:
        """The bytes of the batch so far, header included, uncompressed."""
        return len(self._out)

    def append(self, timestamp: int, key: Buffer | None, value: Buffer | None, headers: Iterable[Header] = ()) -> bool:
        """False, and nothing has changed, if the record does not fit; the first record of a batch always does."""
        if type(timestamp) is not int or not INT64_MIN <= timestamp <= INT64_MAX:
            timestamp = fields.integer("timestamp", timestamp)
        count = self.count
        record = b"".join(
            (
                b"\0",  # attributes, unused so far
                _varlong(timestamp - self.base_timestamp) if count else b"\0",
                _varint(count),
                _varint(len(key)) + key if type(key) is bytes else _prefixed("key", key),
                _varint(len(value)) if type(value) is bytes else _prefixed("value", value),
                value if type(value) is bytes else b"",  # not joined to its length above: one copy less
                _encoded_headers(headers) if headers else b"\0",
            )
        )
        prefix = _varint(len(record))
        out = self._out
        size = len(out) + len(prefix) + len(record)
        if count and size > self.batch_bytes_max:
            return False
        if size > INT32_MAX:
            raise fields.batch_too_large(size)
        if count == 0:
            self.base_timestamp = self.max_timestamp = timestamp
        elif timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
        out += prefix
        out += record
        self.count = count + 1
        return True

    def records(self) -> bytes:
        return bytes(memoryview(self._out)[layout.HEADER_SIZE :])

    def seal(
        self,
        attributes: int,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        with_crc: bool = True,
    ) -> bytes:
        who = encode_check.checked_identity((attributes, producer_id, producer_epoch, base_sequence))
        attributes, producer_id, producer_epoch, base_sequence = who
        out = self._out
        layout.HEADER.pack_into(
            out,
            0,
            0,
            len(out) - layout.LOG_OVERHEAD,
            layout.NO_LEADER_EPOCH,
            2,
            0,
            attributes,
            self.count - 1,
            self.base_timestamp,
            self.max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            self.count,
        )
        if with_crc:
            checksum = crc.crc32c(memoryview(out)[layout.ATTRIBUTES_OFFSET :])
            pack_into(">I", out, layout.CRC_OFFSET, checksum)
        return bytes(out)


def _prefixed(name: str, field: Buffer | None) -> bytes:
    if field is None:
        return _NULL
    octets = fields.octets(name, field)
    return _varint(len(octets)) + octets


def _encoded_headers(headers: Iterable[Header]) -> bytes:
    pairs = fields.header_list(headers)
    out = bytearray(_varint(len(pairs)))
    for pair in pairs:
        key, value = fields.header_pair(pair)
        out += _varint(len(key)) + key
        out += _NULL if value is None else _varint(len(value)) + value
    return bytes(out)


_SMALL_COUNT = 1024  # most lengths and deltas; a larger table would show in the import time
_SMALL = [bytes([n << 1]) for n in range(64)]
_SMALL += [bytes([n << 1 & 0x7F | 0x80, n >> 6]) for n in range(64, _SMALL_COUNT)]


def _varint(value: int) -> bytes:
    """The varint of a length or a count, which is never negative here."""
    if value < _SMALL_COUNT:
        return _SMALL[value]
    return _unsigned(value << 1 & _MASK_32)


def _varlong(value: int) -> bytes:
    if 0 <= value < _SMALL_COUNT:
        return _SMALL[value]
    value = ((value + (1 << 63)) & _MASK_64) - (1 << 63)  # a difference that leaves 64 bits wraps around
    return _unsigned(((value << 1) ^ (value >> 63)) & _MASK_64)


def _unsigned(raw: int) -> bytes:
    out = bytearray()
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)


def _strings(column: BinaryColumn | None, rows: int) -> list[bytes | None]:
    if column is None:
        return [None] * rows
    ends = _ends(column, rows)
    data = column.data if isinstance(column.data, bytes) else bytes(column.data)
    strings: list[bytes | None] = []
    valid = _valid(column, rows)
    for row, (start, stop) in enumerate(pairwise(ends)):
        if valid is not None and not valid[row]:
            strings.append(None)
        elif 0 <= start <= stop <= len(data):
            strings.append(data[start:stop])
        else:
            raise refused(BAD_OFFSETS, row)
    return strings


def _header_lists(column: HeadersColumn | None, rows: int) -> list[list[tuple[bytes, bytes | None]]]:
    if column is None:
        return [[]] * rows
    ends = _ends(column, rows)
    keys = _strings(column.keys, column.keys.length)
    values = _strings(column.values, column.values.length)
    entries = min(len(keys), len(values))
    lists: list[list[tuple[bytes, bytes | None]]] = []
    valid = _valid(column, rows)
    for row in range(rows):
        pairs: list[tuple[bytes, bytes | None]] = []
        if valid is None or valid[row]:
            if not 0 <= ends[row] <= ends[row + 1] <= entries:
                raise refused(BAD_OFFSETS, row)
            for entry in range(ends[row], ends[row + 1]):
                key = keys[entry]
                if key is None:
                    raise refused(NULL_HEADER_KEY, row)
                pairs.append((key, values[entry]))
        lists.append(pairs)
    return lists


def _ends(column: BinaryColumn | HeadersColumn, rows: int) -> list[int]:
    """The bounds of the column's own rows. A remainder that is no whole offset is padding."""
    octets = memoryview(column.offsets).cast("B")
    width = 8 if column.is_large else 4
    own = octets[column.first * width : (column.first + rows + 1) * width]
    return (own.cast("q") if column.is_large else own.cast("i")).tolist()


def _valid(column: BinaryColumn | HeadersColumn, rows: int) -> list[int] | None:
    """One bit per row of the column's own; None if there is no bitmap, and no null."""
    if column.validity is None:
        return None
    bits = memoryview(column.validity).cast("B")
    return [bits[bit >> 3] >> (bit & 7) & 1 for bit in range(column.first, column.first + rows)]
