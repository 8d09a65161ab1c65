"""Conversion: another codec, down to magic 1 or 0 for old fetchers, up to magic 2 for old producers.

Going down loses what the old formats have no place for: headers, producer ids, and control batches, which are left
out whole. Offsets stay, and so do the codec and the timestamps, but for magic 0. A zstd batch cannot go down: no
client that asks for the old formats could read it, and Kafka does not recompress for it.
"""

from collections.abc import Iterable, Iterator

from odradek.protocol import errors
from odradek.records import layout
from odradek.records.batch import Batch, RecordBatch, batches
from odradek.records.compression import LIMIT_BYTES, NONE, ZSTD, compress
from odradek.records.layout import LOG_APPEND_TIME
from odradek.records.legacy import LegacyBatch, message_set
from odradek.records.record import Record
from odradek.records.varint import Buffer
from odradek.records.writer import BatchFields, framed, record_batch


class Appendable:
    """One batch, ready for the log."""

    __slots__ = ("converted_count", "data", "last_offset")

    def __init__(self, data: Buffer, last_offset: int, converted_count: int) -> None:
        self.data = data
        self.last_offset = last_offset
        self.converted_count = converted_count  # records that changed their magic, for the metrics


class DownConverted:
    __slots__ = ("converted_count", "data")

    def __init__(self, data: bytes, converted_count: int) -> None:
        self.data = data
        self.converted_count = converted_count


def recompress(batch: RecordBatch, codec: int, level: int | None = None, limit_bytes: int = LIMIT_BYTES) -> bytes:
    """The batch in another codec. The records are not touched: only the section around them is."""
    fields = BatchFields(
        partition_leader_epoch=batch.partition_leader_epoch,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        is_transactional=batch.is_transactional,
        is_control=batch.is_control,
        log_append_time=batch.max_timestamp if batch.timestamp_type == LOG_APPEND_TIME else None,
        delete_horizon_ms=batch.delete_horizon_ms,
    )
    return framed(
        compress(codec, batch.body(limit_bytes), level),
        fields,
        codec,
        batch.base_offset,
        batch.last_offset_delta,
        batch.base_timestamp,
        batch.max_timestamp,
        batch.count,
    )


def up_convert(
    messages: Iterable[LegacyBatch],
    base_offset: int,
    *,
    codec: int = NONE,
    level: int | None = None,
    log_append_time: int | None = None,
    partition_leader_epoch: int = layout.NO_LEADER_EPOCH,
    limit_bytes: int = LIMIT_BYTES,
) -> Appendable:
    """All messages as one batch of magic 2, with consecutive offsets from `base_offset` on."""
    records = _Counted(_renumbered(messages, base_offset, limit_bytes))
    fields = BatchFields(partition_leader_epoch=partition_leader_epoch, log_append_time=log_append_time)
    data = record_batch(records, fields, codec=codec, level=level)
    return Appendable(data, base_offset + records.count - 1, converted_count=records.count)


def down_convert(buffer: Buffer, to_magic: int, first_offset: int = 0, limit_bytes: int = LIMIT_BYTES) -> DownConverted:
    """Every batch of a higher magic rewritten; the others as they are.

    `first_offset` is where the fetcher asked to begin: plain messages before it are left out, for a reader of
    the old formats would take them as an answer to its fetch. In a compressed set it skips them by itself.
    """
    parts: list[Buffer] = []
    converted_count = 0
    for batch in batches(buffer):
        if batch.magic <= to_magic:
            parts.append(batch.buffer)
        elif not batch.is_control:
            records = _Counted(_wanted(batch, first_offset, limit_bytes))
            parts.append(_as_message_set(batch, records, to_magic))
            converted_count += records.count
    return DownConverted(b"".join(parts), converted_count)


class _Counted:
    """Counts what passes: records are converted one at a time, for a list of them takes forty times their bytes."""

    __slots__ = ("_records", "count")

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = records
        self.count = 0

    def __iter__(self) -> Iterator[Record]:
        for record in self._records:
            self.count += 1
            yield record


def _renumbered(messages: Iterable[LegacyBatch], offset: int, limit_bytes: int) -> Iterator[Record]:
    for message in messages:
        for record in message.records(limit_bytes):
            record.offset = offset
            offset += 1
            yield record


def _wanted(batch: Batch, first_offset: int, limit_bytes: int) -> Iterator[Record]:
    if batch.compression == ZSTD:
        raise errors.UnsupportedCompressionType("A batch that is compressed with zstd cannot be converted down.")
    for record in batch.records(limit_bytes):
        if record.offset >= first_offset or batch.compression != NONE:
            yield record


def _as_message_set(batch: Batch, records: Iterable[Record], to_magic: int) -> bytes:
    return message_set(
        records,
        to_magic,
        codec=batch.compression,
        timestamp_type=batch.timestamp_type,
        log_append_time=batch.max_timestamp,
    )
