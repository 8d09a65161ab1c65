"""The bytes of a snapshot: a control batch that opens it, batches of records, a control batch that ends it (KIP-630).

    header [KRaftVersion, Voters]   one control batch; the two others from kraft.version 1 on
    records ...                     in batches of up to RECORDS_PER_BATCH
    footer                          one control batch

Offsets count from 0 and mean nothing outside of the file. The same layout serves `bootstrap.checkpoint`, which a newly
formatted dir has, and `OFFSET-EPOCH.checkpoint` beside the metadata log.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from odradek.metadata.record_versions import Versioned
from odradek.protocol.declare import Message
from odradek.protocol.errors import KafkaError, PeerProtocolError
from odradek.protocol.frames import METADATA
from odradek.protocol.messages.control_records import (
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from odradek.records import control
from odradek.records.batch import RecordBatch, batches
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch

RECORDS_PER_BATCH = 1024


class CorruptSnapshot(Exception):  # noqa: N818 - what was found, not what went wrong here
    """A file that is no whole snapshot; the text says where it ends to be one."""


class SnapshotContent(NamedTuple):
    records: list[Versioned]
    last_contained_log_timestamp: int
    kraft_version: int = 0
    voters: VotersRecord | None = None


def snapshot_bytes(
    records: Iterable[Versioned],
    now_ms: int,
    *,
    epoch: int = 0,
    last_contained_log_timestamp: int = 0,
    voters: VotersRecord | None = None,
) -> bytes:
    """The whole file. With `voters` it says kraft.version 1 as well."""
    header: list[tuple[int, Message]] = [
        (
            control.SNAPSHOT_HEADER,
            SnapshotHeaderRecord(last_contained_log_timestamp=last_contained_log_timestamp),
        )
    ]
    if voters is not None:
        header += [(control.KRAFT_VERSION, KRaftVersionRecord(k_raft_version=1)), (control.KRAFT_VOTERS, voters)]
    pieces = [_control_batch(header, 0, now_ms, epoch)]
    offset = len(header)
    for chunk in _chunks(records):
        pieces.append(_data_batch(chunk, offset, now_ms, epoch))
        offset += len(chunk)
    pieces.append(_control_batch([(control.SNAPSHOT_FOOTER, SnapshotFooterRecord())], offset, now_ms, epoch))
    return b"".join(pieces)


def read_snapshot(data: bytes) -> SnapshotContent:
    """What a snapshot holds. One that is cut off is refused: a part of an image is another image."""
    reader = _Reader()
    try:
        for batch in batches(data):
            reader.take(batch)
    except (KafkaError, PeerProtocolError) as error:
        raise CorruptSnapshot(str(error)) from None
    return reader.content()


class _Reader:
    __slots__ = ("_has_ended", "_kraft_version", "_records", "_timestamp", "_voters")

    def __init__(self) -> None:
        self._records: list[Versioned] = []
        self._timestamp: int | None = None
        self._kraft_version = 0
        self._voters: VotersRecord | None = None
        self._has_ended = False

    def take(self, batch: object) -> None:
        if not isinstance(batch, RecordBatch):
            raise CorruptSnapshot("a batch has an old magic")
        batch.ensure_valid()
        if self._has_ended:
            raise CorruptSnapshot("something follows the footer")
        for record in batch.records():
            if batch.is_control:
                self._take_control(record)
            elif self._timestamp is None:
                raise CorruptSnapshot("a record stands before the header")
            else:
                self._records.append(METADATA.decode(record.value or b""))

    def _take_control(self, record: Record) -> None:
        kind, value = control.control_type(record.key), record.value or b""
        if kind == control.SNAPSHOT_HEADER:
            self._timestamp = SnapshotHeaderRecord.decode(value, 0).last_contained_log_timestamp
        elif kind == control.KRAFT_VERSION:
            self._kraft_version = KRaftVersionRecord.decode(value, 0).k_raft_version
        elif kind == control.KRAFT_VOTERS:
            self._voters = VotersRecord.decode(value, 0)
        elif kind == control.SNAPSHOT_FOOTER:
            self._has_ended = True

    def content(self) -> SnapshotContent:
        if self._timestamp is None or not self._has_ended:
            raise CorruptSnapshot("the file is cut off: it has no header or no footer")
        return SnapshotContent(self._records, self._timestamp, self._kraft_version, self._voters)


def _chunks(records: Iterable[Versioned]) -> Iterable[list[Versioned]]:
    chunk: list[Versioned] = []
    for record in records:
        chunk.append(record)
        if len(chunk) == RECORDS_PER_BATCH:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _data_batch(records: Sequence[Versioned], offset: int, now_ms: int, epoch: int) -> bytes:
    rows = [
        Record(offset + index, None, METADATA.encode(record, version), now_ms)
        for index, (record, version) in enumerate(records)
    ]
    return record_batch(rows, BatchFields(partition_leader_epoch=epoch))


def _control_batch(values: Sequence[tuple[int, Message]], offset: int, now_ms: int, epoch: int) -> bytes:
    rows = [
        Record(offset + index, control.control_key(kind), value.to_bytes(0), now_ms)
        for index, (kind, value) in enumerate(values)
    ]
    return record_batch(rows, BatchFields(partition_leader_epoch=epoch, is_control=True))
