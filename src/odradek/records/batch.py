"""One batch of magic 2 in a buffer, and the walk over a buffer of batches of any magic.

A batch is a view: it copies nothing and holds its buffer. The header is read once; the methods that patch it write to
the buffer, which must then be writable, and keep the crc right.
"""

from collections.abc import Iterator

from odradek.protocol import errors
from odradek.records import layout
from odradek.records.compression import LIMIT_BYTES, decompress, name_of
from odradek.records.crc import crc32c
from odradek.records.layout import CREATE_TIME, LOG_APPEND_TIME, NO_PRODUCER_ID, NO_SEQUENCE
from odradek.records.legacy import LegacyBatch
from odradek.records.record import Record, read_record, sequence_after
from odradek.records.varint import Buffer

_PACK_PLACE = layout.PLACE.pack_into


class RecordBatch:
    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "buffer",
        "count",
        "crc",
        "last_offset_delta",
        "magic",
        "max_timestamp",
        "partition_leader_epoch",
        "producer_epoch",
        "producer_id",
    )

    base_offset: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int

    def __init__(self, buffer: Buffer) -> None:
        """`buffer` is exactly one batch, as `batches` cuts it."""
        if len(buffer) < layout.HEADER_SIZE:
            raise errors.CorruptMessage(f"A batch of {len(buffer)} bytes is smaller than its header.")
        self.buffer = memoryview(buffer)
        (
            self.base_offset,
            length,
            self.partition_leader_epoch,
            self.magic,
            self.crc,
            self.attributes,
            self.last_offset_delta,
            self.base_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.count,
        ) = layout.HEADER.unpack_from(self.buffer)
        if self.magic != layout.MAGIC_MAX or length + layout.LOG_OVERHEAD != len(buffer):
            raise errors.CorruptMessage(f"A buffer of {len(buffer)} bytes is no batch: magic {self.magic}, {length=}.")

    def __repr__(self) -> str:
        return f"RecordBatch({self.base_offset}-{self.last_offset}, count={self.count}, {self.codec_name})"

    @property
    def size(self) -> int:
        return len(self.buffer)

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.last_offset + 1

    @property
    def last_sequence(self) -> int:
        return sequence_after(self.base_sequence, self.last_offset_delta)

    @property
    def compression(self) -> int:
        return self.attributes & layout.COMPRESSION_MASK

    @property
    def codec_name(self) -> str:
        return name_of(self.compression)

    @property
    def timestamp_type(self) -> int:
        return LOG_APPEND_TIME if self.attributes & layout.TIMESTAMP_TYPE_MASK else CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & layout.TRANSACTIONAL_MASK)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & layout.CONTROL_MASK)

    @property
    def has_delete_horizon(self) -> bool:
        return bool(self.attributes & layout.DELETE_HORIZON_MASK)

    @property
    def delete_horizon_ms(self) -> int | None:
        return self.base_timestamp if self.has_delete_horizon else None

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def has_sequence(self) -> bool:
        return self.base_sequence != NO_SEQUENCE

    @property
    def computed_crc(self) -> int:
        return crc32c(self.buffer[layout.ATTRIBUTES_OFFSET :])

    @property
    def is_valid(self) -> bool:
        return self.crc == self.computed_crc

    def ensure_valid(self) -> None:
        if not self.is_valid:
            raise errors.CorruptMessage(
                f"The batch is corrupt: its crc is {self.crc}, that of its bytes is {self.computed_crc}."
            )

    def body(self, limit_bytes: int = LIMIT_BYTES) -> memoryview:
        """The records, decompressed if need be."""
        return decompress(self.compression, self.buffer[layout.HEADER_SIZE :], limit_bytes=limit_bytes)

    def records(self, limit_bytes: int = LIMIT_BYTES) -> Iterator[Record]:
        append_time = self.max_timestamp if self.timestamp_type == LOG_APPEND_TIME else None
        for record in self.records_as_written(limit_bytes):
            if append_time is not None:
                record.timestamp = append_time
            yield record

    def records_as_written(self, limit_bytes: int = LIMIT_BYTES) -> Iterator[Record]:
        """With the timestamps of their producer, also where the log append time has overruled them."""
        body = self.body(limit_bytes)
        position = 0
        for _ in range(self.count):
            if position == len(body):
                raise errors.InvalidRecord(f"The batch names {self.count} records and holds fewer.")
            record, position = read_record(body, position, self.base_offset, self.base_timestamp, self.base_sequence)
            yield record
        if position != len(body):
            raise errors.InvalidRecord(f"{len(body) - position} bytes follow the {self.count} records of the batch.")

    def assign(self, base_offset: int, partition_leader_epoch: int) -> None:
        """Gives the batch its place in the log. Both fields stand before the crc, which stays as it is."""
        buffer = self.buffer
        _PACK_PLACE(buffer, 0, base_offset, len(buffer) - layout.LOG_OVERHEAD, partition_leader_epoch)
        self.base_offset = base_offset
        self.partition_leader_epoch = partition_leader_epoch

    def set_max_timestamp(self, timestamp_type: int, max_timestamp: int) -> None:
        """Leaves the buffer alone if nothing changes: the crc of a large batch is not free."""
        is_append_time = bool(self.attributes & layout.TIMESTAMP_TYPE_MASK)
        if max_timestamp == self.max_timestamp and (timestamp_type == LOG_APPEND_TIME) == is_append_time:
            return
        attributes = self.attributes & ~layout.TIMESTAMP_TYPE_MASK
        if timestamp_type == LOG_APPEND_TIME:
            attributes |= layout.TIMESTAMP_TYPE_MASK
        self.attributes = attributes
        self.max_timestamp = max_timestamp
        layout.ATTRIBUTES.pack_into(self.buffer, layout.ATTRIBUTES_OFFSET, attributes)
        layout.TIMESTAMP.pack_into(self.buffer, layout.MAX_TIMESTAMP_OFFSET, max_timestamp)
        self.crc = self.computed_crc
        layout.CRC.pack_into(self.buffer, layout.CRC_OFFSET, self.crc)


Batch = RecordBatch | LegacyBatch


def batches(buffer: Buffer) -> Iterator[Batch]:
    """Every whole batch; one that is cut off at the end is left out, as fetch responses may have it."""
    view = memoryview(buffer)
    position = 0
    while (size := batch_size(view, position)) is not None and position + size <= len(view):
        piece = view[position : position + size]
        yield RecordBatch(piece) if piece[layout.MAGIC_OFFSET] == layout.MAGIC_MAX else LegacyBatch(piece)
        position += size


def sole_batch(buffer: Buffer) -> RecordBatch | None:
    """The batch, if the buffer is exactly one of magic 2: a Produce request mostly brings that and nothing else."""
    if len(buffer) < layout.HEADER_SIZE or buffer[layout.MAGIC_OFFSET] != layout.MAGIC_MAX:
        return None
    (length,) = layout.LENGTH.unpack_from(buffer, layout.LENGTH_OFFSET)
    return RecordBatch(buffer) if length + layout.LOG_OVERHEAD == len(buffer) else None


def batch_size(view: memoryview, position: int) -> int | None:
    """The size of the batch that begins at `position`; None if too little of it is there to tell."""
    if position + layout.MAGIC_OFFSET >= len(view):
        return None
    (length,) = layout.LENGTH.unpack_from(view, position + layout.LENGTH_OFFSET)
    magic = view[position + layout.MAGIC_OFFSET]
    if length < layout.LEGACY_HEADER_V0:
        raise errors.CorruptMessage(f"Record size {length} is less than the minimum record overhead (14)")
    if magic > layout.MAGIC_MAX:
        raise errors.CorruptMessage(f"Invalid magic found in record: {magic}")
    if length < layout.LENGTH_MIN[magic]:
        raise errors.CorruptMessage(f"A batch of magic {magic} cannot have a length of {length} bytes.")
    return int(length) + layout.LOG_OVERHEAD
