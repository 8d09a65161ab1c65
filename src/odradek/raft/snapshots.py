"""Snapshots: the whole state before an offset, in a file of batches between a header and a footer.

    00000000000000000091-0000000001.checkpoint               everything before offset 91, the last of it of epoch 1
    00000000000000000091-0000000001-3.checkpoint.part        being written; a start removes it
    00000000000000000091-0000000001.checkpoint.deleted       on its way out

A snapshot gets its name when it is complete and durable, so that one with a name can be trusted. The one at offset 0,
epoch 0 is put there when a quorum with kraft.version 1 is formatted: it holds the first voters and no state.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from odradek.log.dead_files import unlink_if_there
from odradek.log.failure import LogDirFailure
from odradek.protocol import errors
from odradek.protocol.declare import Message
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.frames import METADATA
from odradek.raft.batches import ControlFacts, facts_of, messages_of
from odradek.raft.keys import OffsetAndEpoch
from odradek.raft.listener import SnapshotReader
from odradek.reactor.atomic_write import append_all
from odradek.reactor.ports import Disk, DiskFile, JobOf
from odradek.records.batch import RecordBatch
from odradek.records.metadata_log import (
    Control,
    control_batch,
    record_batches,
    snapshot_footer,
    snapshot_head,
    snapshot_header,
    values_batch,
    whole_snapshot,
)

SUFFIX = ".checkpoint"
PART_SUFFIX = ".checkpoint.part"
DELETED_SUFFIX = ".checkpoint.deleted"
BOOTSTRAP = OffsetAndEpoch(0, 0)

RECORDS_PER_STEP = 200
HEAD_BYTES = 64 * 1024  # the first batch is in there: header, version and voters


class SnapshotFacts(NamedTuple):
    id: OffsetAndEpoch
    size: int
    last_contained_log_timestamp: int


def file_name(snapshot_id: OffsetAndEpoch) -> str:
    return f"{snapshot_id.offset:020d}-{snapshot_id.epoch:010d}{SUFFIX}"


def part_name(snapshot_id: OffsetAndEpoch, number: int) -> str:
    return f"{snapshot_id.offset:020d}-{snapshot_id.epoch:010d}-{number}{PART_SUFFIX}"


def id_of(name: str) -> OffsetAndEpoch | None:
    """The id that a finished snapshot is named by; None for every other file."""
    stem = name.removesuffix(SUFFIX)
    offset, dash, epoch = stem.partition("-")
    is_ours = stem != name and dash and len(offset) == 20 and len(epoch) == 10
    if not is_ours or not (offset + epoch).isascii() or not (offset + epoch).isdigit():
        return None
    return OffsetAndEpoch(int(offset), int(epoch))


# Writing.


def write_job(
    disk: Disk,
    directory: str,
    snapshot_id: OffsetAndEpoch,
    part: str,
    records: Iterable[tuple[Message, int]],
    quorum: Sequence[Control],
    last_contained_log_timestamp: int,
    now_ms: int,
    batch_bytes: int,
) -> JobOf[SnapshotFacts]:
    """Returns SnapshotFacts of a snapshot that is durable. `records` is walked here: it must not change meanwhile."""
    path = f"{directory}/{part}"
    try:
        file = disk.open(path, create=True)
        try:
            file.truncate(0)
            head = [snapshot_header(last_contained_log_timestamp), *quorum]
            append_all(file, control_batch(head, 0, snapshot_id.epoch, now_ms))
            offset = len(head)
            for values in _grouped(records, batch_bytes):
                if values:
                    append_all(file, values_batch(values, offset, snapshot_id.epoch, now_ms))
                    offset += len(values)
                yield 0
            append_all(file, control_batch([snapshot_footer()], offset, snapshot_id.epoch, now_ms))
            file.fsync()
            size = file.size()
        finally:
            file.close()
        finish(disk, directory, part, snapshot_id)
    except OSError as error:
        raise LogDirFailure(f"writing a snapshot failed: {error}", path) from error
    return SnapshotFacts(snapshot_id, size, last_contained_log_timestamp)


def _grouped(records: Iterable[tuple[Message, int]], batch_bytes: int) -> Iterator[list[bytes]]:
    """The values of one batch after the other; an empty list now and then, to let others go on."""
    values: list[bytes] = []
    size = 0
    for number, (message, version) in enumerate(records):
        value = METADATA.encode(message, version)
        if values and size + len(value) > batch_bytes:
            yield values
            values, size = [], 0
        elif number % RECORDS_PER_STEP == 0:
            yield []
        values.append(value)
        size += len(value) + 32
    yield values


def finish(disk: Disk, directory: str, part: str, snapshot_id: OffsetAndEpoch) -> None:
    """The content is durable; now the name becomes so."""
    disk.rename(f"{directory}/{part}", f"{directory}/{file_name(snapshot_id)}")
    disk.fsync_dir(directory)


def append_piece_job(disk: Disk, path: str, position: int, data: bytes) -> JobOf[int]:
    """One piece of a snapshot that comes from the leader. Returns the size so far."""
    try:
        file = disk.open(path, create=True)
        try:
            if position == 0:
                file.truncate(0)
            if file.size() == position:
                append_all(file, data)
            size = file.size()
        finally:
            file.close()
    except OSError as error:
        raise LogDirFailure(f"writing a snapshot failed: {error}", path) from error
    yield len(data)
    return size


def install_job(
    disk: Disk, directory: str, part: str, snapshot_id: OffsetAndEpoch
) -> JobOf[tuple[SnapshotFacts, ControlFacts]]:
    """What came from the leader is checked, made durable and named. Returns SnapshotFacts and ControlFacts.

    A LogDirFailure is the disk's fault, any other KafkaError the leader's.
    """
    path = f"{directory}/{part}"
    try:
        file = disk.open(path)
        try:
            file.fsync()
            size = file.size()
        finally:
            file.close()
        yield 0
        timestamp, facts, _ = _parsed(disk.read(path))
        yield size
        finish(disk, directory, part, snapshot_id)
    except OSError as error:
        raise LogDirFailure(f"installing a snapshot failed: {error}", path) from error
    return SnapshotFacts(snapshot_id, size, timestamp), facts


# Reading.


def read_job(disk: Disk, directory: str, snapshot_id: OffsetAndEpoch) -> JobOf[SnapshotReader]:
    """Returns the SnapshotReader, everything decoded."""
    path = f"{directory}/{file_name(snapshot_id)}"
    try:
        data = disk.read(path)
    except OSError as error:
        raise LogDirFailure(f"reading a snapshot failed: {error}", path) from error
    yield len(data)
    decoded = []
    try:
        timestamp, _, found = _parsed(data)
        for batch in found:
            messages = messages_of(batch)
            if messages:
                decoded.append(messages)
            yield 0
    except (PeerProtocolError, errors.KafkaError) as error:
        raise LogDirFailure(f"a snapshot is damaged: {error}", path) from error
    return SnapshotReader(snapshot_id.offset, snapshot_id.epoch, decoded, timestamp)


def _parsed(data: bytes) -> tuple[int, ControlFacts, list[RecordBatch]]:
    """KafkaError if it is not a whole snapshot."""
    head, found = whole_snapshot(data)
    return head.last_contained_log_timestamp, facts_of(head.quorum), found


def read_head(disk: Disk, directory: str, snapshot_id: OffsetAndEpoch) -> tuple[SnapshotFacts, ControlFacts]:
    """Blocks. Header and quorum records only: the rest is read when a listener needs it."""
    path = f"{directory}/{file_name(snapshot_id)}"
    file = disk.open(path, writable=False)
    try:
        size = file.size()
        found = record_batches(file.pread(min(size, HEAD_BYTES), 0))
        if found:
            found[0].ensure_valid()
        head = snapshot_head(found[0] if found else None)
        facts = facts_of(head.quorum)
    except errors.KafkaError as error:
        raise LogDirFailure(f"a snapshot is damaged: {error}", path) from error
    finally:
        file.close()
    return SnapshotFacts(snapshot_id, size, head.last_contained_log_timestamp), facts


def read_piece_job(
    disk: Disk, directory: str, snapshot_id: OffsetAndEpoch, position: int, max_bytes: int
) -> JobOf[tuple[int, bytes] | None]:
    """Returns (size of the snapshot, bytes from the position on); None if there is no such snapshot."""
    path = f"{directory}/{file_name(snapshot_id)}"
    try:
        file: DiskFile = disk.open(path, writable=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LogDirFailure(f"opening a snapshot failed: {error}", path) from error
    try:
        size = file.size()
        data = file.pread(min(max_bytes, size - position), position) if 0 <= position < size else b""
    except OSError as error:
        raise LogDirFailure(f"reading a snapshot failed: {error}", path) from error
    finally:
        file.close()
    yield len(data)
    return size, data


# Removing.


def retire_job(disk: Disk, directory: str, snapshot_ids: Sequence[OffsetAndEpoch]) -> JobOf[None]:
    """Durably out of the way; `remove_job` unlinks them later, when nobody reads them any more."""
    for snapshot_id in snapshot_ids:
        path = f"{directory}/{file_name(snapshot_id)}"
        try:
            disk.rename(path, path + ".deleted")
        except FileNotFoundError:
            continue
        except OSError as error:
            raise LogDirFailure(f"renaming a snapshot failed: {error}", path) from error
        yield 0
    try:
        disk.fsync_dir(directory)
    except OSError as error:
        raise LogDirFailure(f"fsync of the directory failed: {error}", directory) from error


def remove_job(disk: Disk, paths: Sequence[str]) -> JobOf[None]:
    for path in paths:
        unlink_if_there(disk, path)
        yield 0
