"""Messages of magic 0 and 1: read and write message sets, plain and compressed.

To the rest of the package every message is a batch. A plain one holds itself; a compressed one is a wrapper whose
value is a compressed message set. The wrapper has the offset of its last inner message, and the inner offsets are

- magic 0: the absolute ones,
- magic 1: relative, counted from that of the first inner message; the absolute ones follow from the wrapper's.
  Some producers leave the wrapper's at 0: then the inner offsets count from 0.

The wrapper's timestamp is the largest of the inner ones or, as its attributes say, the log append time, which then
holds for all of them. Magic 0 has no timestamps at all.
"""

from collections.abc import Iterable, Iterator
from struct import Struct

from odradek.protocol import errors
from odradek.records import layout
from odradek.records.compression import LIMIT_BYTES, NONE, ZSTD, compress, decompress, name_of
from odradek.records.crc import crc32
from odradek.records.layout import (
    CREATE_TIME,
    LOG_APPEND_TIME,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    NO_TIMESTAMP_TYPE,
)
from odradek.records.record import Record, signed_64
from odradek.records.varint import Buffer

OFFSET_AND_SIZE = Struct(">qi")
LENGTH = Struct(">i")
NULL = -1


class LegacyBatch:
    """One message with the attributes of a batch."""

    __slots__ = ("attributes", "buffer", "crc", "last_offset", "magic", "timestamp")

    last_offset: int
    crc: int
    timestamp: int

    # What came with magic 2.
    partition_leader_epoch = NO_LEADER_EPOCH
    producer_id = NO_PRODUCER_ID
    producer_epoch = NO_PRODUCER_EPOCH
    base_sequence = NO_SEQUENCE
    last_sequence = NO_SEQUENCE
    count = None
    delete_horizon_ms = None
    is_transactional = False
    is_control = False
    has_delete_horizon = False
    has_producer_id = False
    has_sequence = False

    def __init__(self, buffer: Buffer) -> None:
        """`buffer` is exactly one message, its offset and size included."""
        if len(buffer) < layout.LOG_OVERHEAD + layout.LEGACY_HEADER_V0:
            raise errors.CorruptMessage(f"A message of {len(buffer)} bytes is smaller than its header.")
        self.buffer = memoryview(buffer)
        self.last_offset, length = OFFSET_AND_SIZE.unpack_from(self.buffer)
        (self.crc,) = layout.CRC.unpack_from(self.buffer, layout.LEGACY_CRC_OFFSET)
        self.magic = self.buffer[layout.MAGIC_OFFSET]
        self.attributes = self.buffer[layout.LEGACY_ATTRIBUTES_OFFSET]
        if length + layout.LOG_OVERHEAD != len(buffer) or self.magic > 1 or length < layout.LENGTH_MIN[self.magic]:
            raise errors.CorruptMessage(
                f"A buffer of {len(buffer)} bytes is no message: magic {self.magic}, {length=}."
            )
        self.timestamp = NO_TIMESTAMP
        if self.magic:
            (self.timestamp,) = layout.TIMESTAMP.unpack_from(self.buffer, layout.LEGACY_TIMESTAMP_OFFSET)

    def __repr__(self) -> str:
        return f"LegacyBatch(magic={self.magic}, last_offset={self.last_offset}, {self.codec_name})"

    @property
    def size(self) -> int:
        return len(self.buffer)

    @property
    def base_offset(self) -> int:
        """The first inner offset: of a compressed message it takes decompression to know."""
        if self.compression == NONE:
            return self.last_offset
        return next(self.records()).offset

    @property
    def next_offset(self) -> int:
        return self.last_offset + 1

    @property
    def max_timestamp(self) -> int:
        return self.timestamp

    @property
    def compression(self) -> int:
        return self.attributes & layout.COMPRESSION_MASK

    @property
    def codec_name(self) -> str:
        return name_of(self.compression)

    @property
    def timestamp_type(self) -> int:
        if self.magic == 0:
            return NO_TIMESTAMP_TYPE
        return LOG_APPEND_TIME if self.attributes & layout.TIMESTAMP_TYPE_MASK else CREATE_TIME

    @property
    def computed_crc(self) -> int:
        return crc32(self.buffer[layout.MAGIC_OFFSET :])

    @property
    def is_valid(self) -> bool:
        return self.crc == self.computed_crc

    def ensure_valid(self) -> None:
        if not self.is_valid:
            raise errors.CorruptMessage(
                f"The message is corrupt: its crc is {self.crc}, that of its bytes is {self.computed_crc}."
            )

    def key_and_value(self) -> tuple[memoryview | None, memoryview | None]:
        start = layout.LOG_OVERHEAD + (layout.LEGACY_HEADER_V1 if self.magic else layout.LEGACY_HEADER_V0) - 8
        key, start = _read_bytes(self.buffer, start)
        value, start = _read_bytes(self.buffer, start)
        if start != len(self.buffer):
            raise errors.InvalidRecord(f"{len(self.buffer) - start} bytes follow the value of a message.")
        return key, value

    def records(self, limit_bytes: int = LIMIT_BYTES) -> Iterator[Record]:
        return (record for record, _ in self.records_and_messages(limit_bytes))

    def records_and_messages(self, limit_bytes: int = LIMIT_BYTES) -> Iterator[tuple[Record, "LegacyBatch"]]:
        """Each record and the message it was read from, one at a time: small messages compress a thousandfold."""
        if self.compression == NONE:
            yield self._record(self.last_offset, self.timestamp), self
            return
        body = self._inner_set(limit_bytes)
        base_offset = self._relative_base(_last_offset(body)) if self.magic else 0
        for inner in messages(body):
            if inner.magic != self.magic or inner.compression != NONE:
                raise errors.InvalidRecord(
                    f"A compressed message of magic {self.magic} holds {inner!r}; allowed is the same magic, plain."
                )
            timestamp = self.timestamp if self.timestamp_type == LOG_APPEND_TIME else inner.timestamp
            yield inner._record(signed_64(base_offset + inner.last_offset), timestamp), inner

    def _inner_set(self, limit_bytes: int) -> memoryview:
        if self.compression == ZSTD:
            raise errors.InvalidRecord(f"A message of magic {self.magic} cannot be compressed with zstd.")
        value = self.key_and_value()[1]
        if value is None:
            raise errors.InvalidRecord("A compressed message has no value.")
        body = decompress(self.compression, value, limit_bytes=limit_bytes, magic=self.magic)
        if next(messages(body), None) is None:
            raise errors.InvalidRecord("A compressed message holds no message.")
        return body

    def set_max_timestamp(self, timestamp_type: int, max_timestamp: int) -> None:
        if self.magic == 0 or (timestamp_type, max_timestamp) == (self.timestamp_type, self.timestamp):
            return
        self.attributes = self.compression | (timestamp_type == LOG_APPEND_TIME and layout.TIMESTAMP_TYPE_MASK)
        self.timestamp = max_timestamp
        self.buffer[layout.LEGACY_ATTRIBUTES_OFFSET] = self.attributes
        layout.TIMESTAMP.pack_into(self.buffer, layout.LEGACY_TIMESTAMP_OFFSET, max_timestamp)
        self.crc = self.computed_crc
        layout.CRC.pack_into(self.buffer, layout.LEGACY_CRC_OFFSET, self.crc)

    def _relative_base(self, last_inner_offset: int) -> int:
        if self.last_offset == 0:
            return 0
        if self.last_offset < last_inner_offset:
            raise errors.InvalidRecord(
                f"A compressed message has offset {self.last_offset}, below its last inner one, {last_inner_offset}."
            )
        return self.last_offset - last_inner_offset

    def _record(self, offset: int, timestamp: int) -> Record:
        key, value = self.key_and_value()
        return Record(
            offset,
            None if key is None else bytes(key),
            None if value is None else bytes(value),
            timestamp,
            size_bytes=self.size,
        )


def messages(view: memoryview) -> Iterator[LegacyBatch]:
    """The messages of a set, one that is cut off at the end left out."""
    return (LegacyBatch(view[start:end]) for start, end in _bounds(view))


def _bounds(view: memoryview) -> Iterator[tuple[int, int]]:
    position = 0
    while position + layout.LOG_OVERHEAD <= len(view):
        _, length = OFFSET_AND_SIZE.unpack_from(view, position)
        if length < layout.LEGACY_HEADER_V0:
            raise errors.CorruptMessage(f"A message cannot have a size of {length} bytes.")
        end = position + layout.LOG_OVERHEAD + length
        if end > len(view):
            return
        yield position, end
        position = end


def _last_offset(view: memoryview) -> int:
    start = 0
    for start, _ in _bounds(view):  # noqa: B007 -- only the last one counts
        pass
    (offset,) = layout.BASE_OFFSET.unpack_from(view, start)
    return int(offset)


def message(
    offset: int, magic: int, attributes: int, timestamp: int, key: Buffer | None, value: Buffer | None
) -> bytes:
    """The bytes of one message."""
    out = bytearray(layout.MAGIC_OFFSET)
    out += bytes((magic, attributes))
    if magic:
        out += layout.TIMESTAMP.pack(timestamp)
    for field in (key, value):
        out += LENGTH.pack(NULL if field is None else len(field))
        out += field or b""
    OFFSET_AND_SIZE.pack_into(out, 0, offset, len(out) - layout.LOG_OVERHEAD)
    layout.CRC.pack_into(out, layout.LEGACY_CRC_OFFSET, crc32(memoryview(out)[layout.MAGIC_OFFSET :]))
    return bytes(out)


def message_set(
    records: Iterable[Record],
    magic: int,
    *,
    codec: int = NONE,
    level: int | None = None,
    timestamp_type: int = CREATE_TIME,
    log_append_time: int = NO_TIMESTAMP,
) -> bytes:
    """The records as a message set, in which headers have no place. Compressed, it is one wrapper."""
    is_append_time = bool(magic) and timestamp_type == LOG_APPEND_TIME
    attributes = layout.TIMESTAMP_TYPE_MASK if is_append_time else 0
    inner = bytearray()
    base_offset = last_offset = 0
    max_timestamp = NO_TIMESTAMP
    for record in records:
        if not inner and magic and codec != NONE:
            base_offset = record.offset
        timestamp = log_append_time if is_append_time else record.timestamp
        offset = signed_64(record.offset - base_offset)
        inner += message(offset, magic, attributes, timestamp, record.key, record.value)
        last_offset = record.offset
        max_timestamp = max(max_timestamp, timestamp)
    if codec == NONE or not inner:
        return bytes(inner)
    packed = compress(codec, inner, level, magic)
    return message(last_offset, magic, attributes | codec, max_timestamp, None, packed)


def _read_bytes(buffer: memoryview, position: int) -> tuple[memoryview | None, int]:
    start = position + LENGTH.size
    if start > len(buffer):
        raise errors.InvalidRecord("A message ends inside a length.")
    (length,) = LENGTH.unpack_from(buffer, position)
    if length == NULL:
        return None, start
    if not 0 <= length <= len(buffer) - start:
        raise errors.InvalidRecord(
            f"A field of a message has a length of {length}, {len(buffer) - start} bytes remain."
        )
    return buffer[start : start + length], start + length
