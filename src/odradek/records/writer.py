"""Builds one batch of magic 2 from record objects: for conversion, control records, tools and tests.

Offsets and timestamps of the records are absolute; the batch holds their distances from its base. A delete horizon
takes the place of the base timestamp. Producers and Spark build from columns, in the kernel.
"""

from collections.abc import Iterable

from odradek.records import layout
from odradek.records.compression import NONE, compress
from odradek.records.crc import crc32c
from odradek.records.layout import (
    CREATE_TIME,
    LOG_APPEND_TIME,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
)
from odradek.records.record import Record, signed_64, write_record


class BatchFields:
    """The fields of a batch header that do not follow from its records."""

    __slots__ = (
        "base_sequence",
        "delete_horizon_ms",
        "is_control",
        "is_transactional",
        "log_append_time",
        "partition_leader_epoch",
        "producer_epoch",
        "producer_id",
    )

    def __init__(
        self,
        *,
        partition_leader_epoch: int = NO_LEADER_EPOCH,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        is_transactional: bool = False,
        is_control: bool = False,
        log_append_time: int | None = None,
        delete_horizon_ms: int | None = None,
    ) -> None:
        self.partition_leader_epoch = partition_leader_epoch
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.is_transactional = is_transactional
        self.is_control = is_control
        self.log_append_time = log_append_time
        self.delete_horizon_ms = delete_horizon_ms

    @property
    def timestamp_type(self) -> int:
        return CREATE_TIME if self.log_append_time is None else LOG_APPEND_TIME

    def attributes(self, codec: int) -> int:
        return (
            codec
            | (layout.TIMESTAMP_TYPE_MASK if self.log_append_time is not None else 0)
            | (layout.TRANSACTIONAL_MASK if self.is_transactional else 0)
            | (layout.CONTROL_MASK if self.is_control else 0)
            | (layout.DELETE_HORIZON_MASK if self.delete_horizon_ms is not None else 0)
        )


def record_batch(
    records: Iterable[Record],
    fields: BatchFields | None = None,
    *,
    codec: int = NONE,
    level: int | None = None,
    base_offset: int | None = None,
    last_offset: int | None = None,
) -> bytes:
    """The bytes of the batch, of one record at least.

    Compaction keeps the offset range of a batch that lost records at its ends: then both offsets are given.
    """
    fields = fields or BatchFields()
    base_timestamp = fields.delete_horizon_ms
    max_timestamp = NO_TIMESTAMP
    count = 0
    body = bytearray()
    for record in records:
        base_offset = record.offset if base_offset is None else base_offset
        base_timestamp = record.timestamp if base_timestamp is None else base_timestamp
        write_record(body, record, record.offset - base_offset, signed_64(record.timestamp - base_timestamp))
        max_timestamp = max(max_timestamp, record.timestamp)
        count += 1
    if base_offset is None or base_timestamp is None or not count:
        raise ValueError("a batch of no records is an empty_batch")
    last = record.offset if last_offset is None else last_offset
    if fields.log_append_time is not None:
        max_timestamp = fields.log_append_time
    packed = compress(codec, body, level)
    return framed(packed, fields, codec, base_offset, last - base_offset, base_timestamp, max_timestamp, count)


def empty_batch(fields: BatchFields, base_offset: int, last_offset: int, max_timestamp: int) -> bytes:
    """What the cleaner leaves of a producer's last batch: no record, only the producer's sequence and the offsets."""
    return framed(b"", fields, NONE, base_offset, last_offset - base_offset, NO_TIMESTAMP, max_timestamp, 0)


def framed(
    section: bytes,
    fields: BatchFields,
    codec: int,
    base_offset: int,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    count: int,
) -> bytes:
    """A header before a record section that is already compressed."""
    batch = bytearray(layout.HEADER_SIZE)
    batch += section
    layout.HEADER.pack_into(
        batch,
        0,
        base_offset,
        len(batch) - layout.LOG_OVERHEAD,
        fields.partition_leader_epoch,
        layout.MAGIC_MAX,
        0,
        fields.attributes(codec),
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        fields.producer_id,
        fields.producer_epoch,
        fields.base_sequence,
        count,
    )
    layout.CRC.pack_into(batch, layout.CRC_OFFSET, crc32c(memoryview(batch)[layout.ATTRIBUTES_OFFSET :]))
    return bytes(batch)
