"""Batches of the metadata log and its snapshots: records in their frames, control records, whole snapshots (KIP-630).

    header [KRaftVersion, Voters]   one control batch; the two others from kraft.version 1 on
    records ...                     in batches
    footer                          one control batch

is a snapshot. Its offsets count from 0 and mean nothing outside of the file. The same layout serves
`bootstrap.checkpoint`, which a newly formatted dir has, and `OFFSET-EPOCH.checkpoint` beside the metadata log.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from odradek.protocol import errors
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.messages.control_records import SnapshotFooterRecord, SnapshotHeaderRecord
from odradek.records import control, layout
from odradek.records.batch import RecordBatch, batches
from odradek.records.record import Record
from odradek.records.varint import Buffer
from odradek.records.writer import BatchFields, record_batch

MANY_RECORDS = 64  # from here on the kernel does it
BATCH_BYTES_MAX = 2**31 - 1

Control = tuple[int, bytes]  # the type of a control record and its value


# Writing


def values_batch(values: Iterable[bytes], base_offset: int, epoch: int, now_ms: int) -> bytes:
    """A batch of records that are in their frames already."""
    values = list(values)
    if len(values) >= MANY_RECORDS:
        return _built_by_kernel(values, base_offset, epoch, now_ms)
    records = (Record(offset, None, value, now_ms) for offset, value in enumerate(values, base_offset))
    return record_batch(records, BatchFields(partition_leader_epoch=epoch))


def _built_by_kernel(values: list[bytes], base_offset: int, epoch: int, now_ms: int) -> bytes:
    """The bytes that `record_batch` makes, in a tenth of the time: a topic with 10,000 partitions is one batch."""
    from odradek.records.build import build  # a broker that only starts need not load it

    built = build(
        values,
        default_timestamp=now_ms,
        batch_bytes_max=BATCH_BYTES_MAX,
        request_bytes_max=BATCH_BYTES_MAX,
        base_offset=base_offset,
    )
    batch = bytearray(built.data)
    batch[layout.LEADER_EPOCH_OFFSET : layout.LEADER_EPOCH_OFFSET + 4] = epoch.to_bytes(
        4, "big", signed=True
    )  # outside of the CRC
    return bytes(batch)


def control_batch(controls: Sequence[Control], base_offset: int, epoch: int, now_ms: int) -> bytes:
    records = [
        Record(offset, control.control_key(kind), value, now_ms)
        for offset, (kind, value) in enumerate(controls, base_offset)
    ]
    return record_batch(records, BatchFields(partition_leader_epoch=epoch, is_control=True))


def snapshot_header(last_contained_log_timestamp: int) -> Control:
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=last_contained_log_timestamp)
    return control.SNAPSHOT_HEADER, header.to_bytes(0)


def snapshot_footer() -> Control:
    return control.SNAPSHOT_FOOTER, SnapshotFooterRecord(version=0).to_bytes(0)


# Reading


def record_batches(data: Buffer) -> list[RecordBatch]:
    """CorruptMessage for anything but whole or cut off batches of magic 2."""
    found = []
    for batch in batches(data):
        if not isinstance(batch, RecordBatch):
            raise errors.CorruptMessage(f"A batch of magic {batch.magic} has no place in the metadata log.")
        found.append(batch)
    return found


def controls_of(batch: RecordBatch) -> list[Control]:
    return [(control.control_type(record.key), bytes(record.value or b"")) for record in batch.records()]


class SnapshotHead(NamedTuple):
    """What the first batch of a snapshot says. `quorum` are the control records behind the header."""

    last_contained_log_timestamp: int
    quorum: list[Control]


def snapshot_head(first: RecordBatch | None) -> SnapshotHead:
    """CorruptMessage for a batch that no snapshot begins with."""
    controls = controls_of(first) if first is not None and first.is_control else []
    if not controls or controls[0][0] != control.SNAPSHOT_HEADER:
        raise errors.CorruptMessage("it has no header")
    try:
        header = SnapshotHeaderRecord.decode(controls[0][1], 0)
    except PeerProtocolError as error:
        raise errors.CorruptMessage(f"its header is damaged: {error}") from error
    return SnapshotHead(header.last_contained_log_timestamp, controls[1:])


def whole_snapshot(data: bytes) -> tuple[SnapshotHead, list[RecordBatch]]:
    """The head of a snapshot, and its batches of records.

    KafkaError if it is not a whole one: a part of an image is another image.
    """
    found = record_batches(data)
    for batch in found:
        batch.ensure_valid()
    if sum(batch.size for batch in found) != len(data):
        raise errors.CorruptMessage("its last batch is cut off")
    head = snapshot_head(found[0] if found else None)
    footer = controls_of(found[-1]) if found[-1].is_control else []
    if not footer or footer[-1][0] != control.SNAPSHOT_FOOTER:
        raise errors.CorruptMessage("it has no footer")
    if any(batch.is_control for batch in found[1:-1]):
        raise errors.CorruptMessage("something follows its footer")
    return head, found[1:-1]
