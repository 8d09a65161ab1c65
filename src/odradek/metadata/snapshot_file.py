"""A snapshot of metadata records as bytes, for whoever has all of them at hand: see `records/metadata_log.py`.

Formatting writes `bootstrap.checkpoint` and the first snapshot of a quorum with it, and a start reads the former. The
quorum itself writes and reads its snapshots in steps (`raft/snapshots.py`).
"""

from collections.abc import Iterable
from typing import NamedTuple

from odradek.metadata.record_versions import Versioned
from odradek.protocol.errors import KafkaError, PeerProtocolError
from odradek.protocol.frames import METADATA
from odradek.protocol.messages.control_records import KRaftVersionRecord, VotersRecord
from odradek.records import control
from odradek.records.metadata_log import (
    Control,
    control_batch,
    snapshot_footer,
    snapshot_header,
    values_batch,
    whole_snapshot,
)

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
    head = [snapshot_header(last_contained_log_timestamp)]
    if voters is not None:
        version = KRaftVersionRecord(k_raft_version=1)
        head += [(control.KRAFT_VERSION, version.to_bytes(0)), (control.KRAFT_VOTERS, voters.to_bytes(0))]
    pieces = [control_batch(head, 0, epoch, now_ms)]
    offset = len(head)
    values = [METADATA.encode(record, version) for record, version in records]
    for start in range(0, len(values), RECORDS_PER_BATCH):
        chunk = values[start : start + RECORDS_PER_BATCH]
        pieces.append(values_batch(chunk, offset, epoch, now_ms))
        offset += len(chunk)
    pieces.append(control_batch([snapshot_footer()], offset, epoch, now_ms))
    return b"".join(pieces)


def read_snapshot(data: bytes) -> SnapshotContent:
    """What a snapshot holds. CorruptSnapshot if it is not a whole one."""
    try:
        head, batches = whole_snapshot(data)
        records = [METADATA.decode(record.value or b"") for batch in batches for record in batch.records()]
        return SnapshotContent(records, head.last_contained_log_timestamp, *_quorum(head.quorum))
    except (KafkaError, PeerProtocolError) as error:
        raise CorruptSnapshot(str(error)) from None


def _quorum(controls: Iterable[Control]) -> tuple[int, VotersRecord | None]:
    """kraft.version and the voters, as far as they are told."""
    kraft_version, voters = 0, None
    for kind, value in controls:
        if kind == control.KRAFT_VERSION:
            kraft_version = KRaftVersionRecord.decode(value, 0).k_raft_version
        elif kind == control.KRAFT_VOTERS:
            voters = VotersRecord.decode(value, 0)
    return kraft_version, voters
