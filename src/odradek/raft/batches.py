"""Batches of the metadata log: records in their frames, and the control records of the quorum."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from odradek.protocol import errors
from odradek.protocol.declare import Message
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.frames import METADATA
from odradek.protocol.messages.control_records import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    Voter,
    VotersRecord,
)
from odradek.raft.core.voters import VoterSet
from odradek.records import control, layout
from odradek.records.batch import RecordBatch, batches
from odradek.records.record import Record
from odradek.records.varint import Buffer
from odradek.records.writer import BatchFields, record_batch

LEADER_CHANGE_VERSION = 0  # what 4.3 writes, too, with kraft.version 1

MANY_RECORDS = 64  # from here on the kernel does it
BATCH_BYTES_MAX = 2**31 - 1
_NO_OP = bytes.fromhex("14 00 00 00 01 08 01140000 00")  # a record without key and headers, its value a frame

Control = tuple[int, bytes]  # the type of a control record and its value


class ControlFacts(NamedTuple):
    """What the control records of a batch or a snapshot say about the quorum itself."""

    kraft_version: int | None = None
    voters: VoterSet | None = None


def values_batch(values: Iterable[bytes], base_offset: int, epoch: int, now_ms: int) -> bytes:
    values = list(values)
    if len(values) >= MANY_RECORDS:
        return _built_by_kernel(values, base_offset, epoch, now_ms)
    records = (Record(offset, None, value, now_ms) for offset, value in enumerate(values, base_offset))
    return record_batch(records, BatchFields(partition_leader_epoch=epoch))


def _built_by_kernel(values: list[bytes], base_offset: int, epoch: int, now_ms: int) -> bytes:
    """The bytes that `record_batch` would write, in a tenth of the time: a topic of 10,000 partitions is one batch."""
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


def leader_change(leader_id: int, voters: VoterSet, granting: Iterable[int]) -> Control:
    message = LeaderChangeMessage(
        version=LEADER_CHANGE_VERSION,
        leader_id=leader_id,
        voters=[Voter(voter_id=voter_id) for voter_id in voters.ids],
        granting_voters=[Voter(voter_id=voter_id) for voter_id in granting],
    )
    return control.LEADER_CHANGE, message.to_bytes(LEADER_CHANGE_VERSION)


def quorum_records(kraft_version: int, voters: VoterSet) -> list[Control]:
    """None at all with kraft.version 0: a 3.3 does not know them."""
    if kraft_version == 0:
        return []
    version = KRaftVersionRecord(version=0, k_raft_version=kraft_version)
    return [(control.KRAFT_VERSION, version.to_bytes(0)), (control.KRAFT_VOTERS, voters.to_record().to_bytes(0))]


def snapshot_header(last_contained_log_timestamp: int) -> Control:
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=last_contained_log_timestamp)
    return control.SNAPSHOT_HEADER, header.to_bytes(0)


def snapshot_footer() -> Control:
    return control.SNAPSHOT_FOOTER, SnapshotFooterRecord(version=0).to_bytes(0)


def controls_of(batch: RecordBatch) -> list[Control]:
    return [(control.control_type(record.key), bytes(record.value or b"")) for record in batch.records()]


def facts_of(controls: Iterable[Control]) -> ControlFacts:
    """InvalidRecord for a value that is no message."""
    version, voters = None, None
    try:
        for kind, value in controls:
            if kind == control.KRAFT_VERSION:
                version = KRaftVersionRecord.decode(value, 0).k_raft_version
            elif kind == control.KRAFT_VOTERS:
                voters = VoterSet.from_record(VotersRecord.decode(value, 0))
    except PeerProtocolError as error:
        raise errors.InvalidRecord(f"A control record of the quorum is damaged: {error}") from error
    return ControlFacts(version, voters)


def is_no_op(batch: RecordBatch) -> bool:
    """Nothing but a NoOpRecord: two of them a second are nearly all that an idle cluster has to read when it starts."""
    return batch.count == 1 and not batch.attributes and batch.buffer[layout.HEADER_SIZE :] == _NO_OP


def values_of(batch: RecordBatch, from_offset: int = 0) -> list[Buffer]:
    """The values of the records from an offset on, to be decoded; none for a control batch."""
    if batch.is_control:
        return []
    if batch.count >= MANY_RECORDS:
        from odradek.records.columns import scan

        values = scan(batch.buffer, from_offset=from_offset, check_crc=False).values().to_list()
    else:
        values = [record.value for record in batch.records() if record.offset >= from_offset]
    if None in values:
        raise errors.InvalidRecord("A record of the metadata log has no value.")
    return values  # type: ignore[return-value]


def messages_of(batch: RecordBatch, from_offset: int = 0) -> list[Message]:
    return [METADATA.decode(value)[0] for value in values_of(batch, from_offset)]


def record_batches(data: Buffer) -> list[RecordBatch]:
    """CorruptMessage for anything but whole or cut off batches of magic 2."""
    found = []
    for batch in batches(data):
        if not isinstance(batch, RecordBatch):
            raise errors.CorruptMessage(f"A batch of magic {batch.magic} has no place in the metadata log.")
        found.append(batch)
    return found
