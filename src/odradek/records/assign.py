"""Gives checked records their offsets: in place where that is enough, else in a batch that is written anew."""

from odradek.broken_rule import instance
from odradek.protocol import errors
from odradek.records import layout
from odradek.records.batch import RecordBatch
from odradek.records.checked import CheckedRecords, PlainRecords
from odradek.records.convert import Appendable, recompress, up_convert
from odradek.records.legacy import LegacyBatch
from odradek.records.varint import Buffer

_PACK_PLACE = layout.PLACE.pack_into


def assign(checked: CheckedRecords, base_offset: int, partition_leader_epoch: int, now_ms: int) -> Appendable:
    """The one batch to append. `now_ms` is that of the check: with LogAppendTime both must tell the same time.

    In place, the buffer that was checked is written to, and the batch is a view of it. Only a rebuilt batch is
    measured against max.message.bytes again: the check has measured the other.
    """
    first = checked.batches[0]
    if isinstance(first, RecordBatch) and not checked.needs_rebuild:
        return _assign_in_place(first, checked, base_offset, partition_leader_epoch)
    rules = checked.rules
    if isinstance(first, RecordBatch):
        rebuilt = recompress(first, checked.target_codec, rules.compression_level, rules.decompressed_bytes_max)
        placed = _assign_in_place(RecordBatch(bytearray(rebuilt)), checked, base_offset, partition_leader_epoch)
    else:
        messages = [batch for batch in checked.batches if isinstance(batch, LegacyBatch)]
        placed = up_convert(
            messages,
            base_offset,
            codec=checked.target_codec,
            level=rules.compression_level,
            log_append_time=now_ms if rules.is_append_time else None,
            partition_leader_epoch=partition_leader_epoch,
            limit_bytes=rules.decompressed_bytes_max,
        )
    _check_size(placed.data, rules.max_message_bytes, rules.topic_partition)
    return placed


def rebuilt(checked: CheckedRecords, now_ms: int) -> CheckedRecords:
    """Records that cannot stay as they are, as the one batch that can: the slow part of `assign`, for a job."""
    placed = assign(checked, 0, layout.NO_LEADER_EPOCH, now_ms)
    batch = RecordBatch(bytearray(placed.data))
    ready = CheckedRecords.in_place(batch, checked.rules, checked.max_timestamp, checked.index_of_max_timestamp)
    ready.source_codec = checked.source_codec
    ready.target_codec = checked.target_codec
    return ready


def place(batch: RecordBatch, checked: CheckedRecords, base_offset: int, partition_leader_epoch: int) -> int:
    """`assign` for one batch that stays as it is: patches it where it lies. Returns its last offset."""
    batch.assign(base_offset, partition_leader_epoch)
    attributes = batch.attributes
    if (
        batch.max_timestamp != checked.max_timestamp
        or attributes & layout.TIMESTAMP_TYPE_MASK
        or checked.rules.is_append_time
    ) and not attributes & layout.CONTROL_MASK:
        batch.set_max_timestamp(checked.rules.timestamp_type, checked.max_timestamp)
    return base_offset + batch.last_offset_delta


def place_plain(checked: PlainRecords, base_offset: int, partition_leader_epoch: int) -> int:
    """Patches a batch that only the kernel has looked at, where it lies. Returns its last offset."""
    if checked.told_max_timestamp != checked.max_timestamp or checked.rules.is_append_time:
        batch = instance(checked.batches[0], RecordBatch, "a plain batch is one of magic 2")
        return place(batch, checked, base_offset, partition_leader_epoch)
    buffer = checked.buffer
    _PACK_PLACE(buffer, 0, base_offset, len(buffer) - layout.LOG_OVERHEAD, partition_leader_epoch)
    return base_offset + checked.count - 1


def _assign_in_place(
    batch: RecordBatch, checked: CheckedRecords, base_offset: int, partition_leader_epoch: int
) -> Appendable:
    last_offset = place(batch, checked, base_offset, partition_leader_epoch)
    return Appendable(batch.buffer, last_offset, converted_count=0)


def _check_size(data: Buffer, bytes_max: int, topic_partition: str) -> None:
    if len(data) > bytes_max:
        raise errors.MessageTooLarge(
            f"A batch for {topic_partition} was rewritten to {len(data)} bytes, max.message.bytes is {bytes_max}."
        )
