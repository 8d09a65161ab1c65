"""One record as a plain object, and the bytes of one record of magic 2.

    length varint | attributes 1 | timestamp delta varlong | offset delta varint | key | value | headers

Key, value and header value are a varint length, -1 for null, and the bytes; the header count is a varint and a
header key never null. This is the slow path, for tools, conversion and tests; data goes through the kernel.
"""

from collections.abc import Sequence

from odradek.protocol import errors
from odradek.records.layout import NO_SEQUENCE, NO_TIMESTAMP
from odradek.records.varint import (
    Buffer,
    read_varint,
    read_varlong,
    write_varint,
    write_varlong,
)

Header = tuple[str, bytes | None]

SEQUENCES = 1 << 31  # sequence numbers count from 0 to 2**31 - 1 and begin again
NULL = -1
HEADER_BYTES_MIN = 2
_INT64 = 1 << 64


class Record:
    """A record with its absolute offset and timestamp. `size_bytes` is what it took where it was read."""

    __slots__ = ("headers", "key", "offset", "sequence", "size_bytes", "timestamp", "value")

    def __init__(
        self,
        offset: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int = NO_TIMESTAMP,
        headers: Sequence[Header] = (),
        sequence: int = NO_SEQUENCE,
        size_bytes: int = 0,
    ) -> None:
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = tuple(headers)
        self.sequence = sequence
        self.size_bytes = size_bytes

    def __eq__(self, other: object) -> bool:
        """By content: where a record was read decides neither its size nor its sequence."""
        if not isinstance(other, Record):
            return NotImplemented
        return (self.offset, self.timestamp, self.key, self.value, self.headers) == (
            other.offset,
            other.timestamp,
            other.key,
            other.value,
            other.headers,
        )

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        headers = f", headers={self.headers!r}" if self.headers else ""
        return f"Record({self.offset}, {self.key!r}, {self.value!r}, timestamp={self.timestamp}{headers})"


def signed_64(value: int) -> int:
    """Wraps as Java's long does: a hostile delta may lead past the end of the range."""
    return (value + (_INT64 >> 1)) % _INT64 - (_INT64 >> 1)


def sequence_after(base_sequence: int, count: int) -> int:
    """The sequence number `count` records after `base_sequence`."""
    if base_sequence < 0:
        return NO_SEQUENCE
    return (base_sequence + count) % SEQUENCES


def read_record(
    body: memoryview, position: int, base_offset: int, base_timestamp: int, base_sequence: int
) -> tuple[Record, int]:
    """The record at `position` and the position after it."""
    length, start = read_varint(body, position, len(body))
    end = start + length
    if length < 1 or end > len(body):
        raise errors.InvalidRecord(
            f"The record at byte {position} has a length of {length}, {len(body) - start} remain."
        )
    timestamp_delta, at = read_varlong(body, start + 1, end)
    offset_delta, at = read_varint(body, at, end)
    key, at = _read_bytes(body, at, end)
    value, at = _read_bytes(body, at, end)
    headers, at = _read_headers(body, at, end)
    if at != end:
        raise errors.InvalidRecord(f"The record at byte {position} has a length of {length}, its fields {at - start}.")
    offset = signed_64(base_offset + offset_delta)
    timestamp = signed_64(base_timestamp + timestamp_delta)
    sequence = sequence_after(base_sequence, offset_delta)
    return Record(offset, key, value, timestamp, headers, sequence, end - position), end


def write_record(out: bytearray, record: Record, offset_delta: int, timestamp_delta: int) -> None:
    body = bytearray(1)  # attributes: unused so far
    write_varlong(body, timestamp_delta)
    write_varint(body, offset_delta)
    _write_bytes(body, record.key)
    _write_bytes(body, record.value)
    write_varint(body, len(record.headers))
    for key, value in record.headers:
        _write_bytes(body, key.encode("utf-8", "surrogateescape"))
        _write_bytes(body, value)
    write_varint(out, len(body))
    out += body


def _read_headers(body: memoryview, position: int, end: int) -> tuple[list[Header], int]:
    count, position = read_varint(body, position, end)
    if not 0 <= count <= (end - position) // HEADER_BYTES_MIN:
        raise errors.InvalidRecord(f"A record names {count} headers, {end - position} bytes remain.")
    headers: list[Header] = []
    for _ in range(count):
        key, position = _read_bytes(body, position, end)
        value, position = _read_bytes(body, position, end)
        if key is None:
            raise errors.InvalidRecord("A header key is null.")
        # Kafka's header keys are text, but nothing holds a producer to it: other bytes must survive a rewrite.
        headers.append((key.decode("utf-8", "surrogateescape"), value))
    return headers, position


def _read_bytes(body: memoryview, position: int, end: int) -> tuple[bytes | None, int]:
    length, position = read_varint(body, position, end)
    if length == NULL:
        return None, position
    if not 0 <= length <= end - position:
        raise errors.InvalidRecord(f"A field at byte {position} has a length of {length}, {end - position} remain.")
    return bytes(body[position : position + length]), position + length


def _write_bytes(out: bytearray, value: Buffer | None) -> None:
    if value is None:
        write_varint(out, NULL)
        return
    write_varint(out, len(value))
    out += value
