"""Opens the directory of the metadata log, as a job: snapshots, the file quorum-state, the log, and who votes.

The log is checked as after a crash: what it promises was fsynced, so nothing of it can be missing, and the tail that
was not is cut where it stops being sound. Up to its recovery point nothing is ever cut: damage there ends the start.
What an interrupted snapshot left behind goes.
"""

from struct import Struct
from typing import NamedTuple

from odradek.log import names
from odradek.log.config import LogConfig
from odradek.log.dead_files import unlink_if_there
from odradek.log.failure import LogDirFailure, dir_failure
from odradek.log.loading.load import load_log
from odradek.log.loading.loaded import LoadedLog, SegmentFacts
from odradek.log.manager.partition_dirs import read_topic_id, write_topic_id
from odradek.log.producers.producer_state import PRODUCER_ID_EXPIRATION_MS
from odradek.protocol import errors
from odradek.protocol.internal_topics import CLUSTER_METADATA_TOPIC
from odradek.raft import election_state, recovery_point, snapshots
from odradek.raft.batches import ControlFacts, facts_of
from odradek.raft.election_state import ElectionState
from odradek.raft.snapshots import BOOTSTRAP, SnapshotFacts
from odradek.reactor.ports import Disk, JobOf
from odradek.records import layout
from odradek.records.batch import RecordBatch, batch_size
from odradek.records.metadata_log import controls_of

TOPIC = CLUSTER_METADATA_TOPIC
TOPIC_ID = bytes(15) + b"\x01"
PARTITION = 0

READ_BYTES = 1 << 20

_LENGTH_AND_ATTRIBUTES = Struct(">i9xh")  # with epoch, magic and crc between them


class LoadedQuorum(NamedTuple):
    log: LoadedLog
    snapshots: list[SnapshotFacts]  # oldest first, without the bootstrap one
    state: ElectionState | None
    controls: list[tuple[int, ControlFacts]]  # by offset; -1 is the bootstrap snapshot


def load_job(disk: Disk, directory: str, config: LogConfig, now_ms: int) -> JobOf[LoadedQuorum]:
    """Returns a LoadedQuorum."""
    try:
        yield from _prepare(disk, directory)
        state = election_state.read(disk, directory)
        facts, controls = _snapshots(disk, directory)
        from_offset = facts[-1].id.offset if facts else 0
        yield 0
        log: LoadedLog = yield from load_log(
            disk,
            directory,
            names.dir_name(TOPIC, PARTITION),
            config,
            had_clean_shutdown=False,
            recovery_point=recovery_point.read(disk, directory),
            log_start_offset=0,
            now_ms=now_ms,
            producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
            snapshot_offset=from_offset,
        )
        controls += yield from _controls(disk, directory, log.segments, from_offset)
    except OSError as error:
        raise dir_failure(error, "loading the metadata log", directory) from error
    return LoadedQuorum(log, facts, state, controls)


def _prepare(disk: Disk, directory: str) -> JobOf[None]:
    disk.mkdir(directory)
    parent = directory.rpartition("/")[0]
    if parent:
        disk.fsync_dir(parent)  # always: a start that was killed may have made the directory and come no further
    if read_topic_id(disk, directory) is None:
        write_topic_id(disk, directory, TOPIC_ID)
    yield 0
    for name in disk.list(directory):
        if name.endswith((snapshots.PART_SUFFIX, snapshots.DELETED_SUFFIX)):
            unlink_if_there(disk, f"{directory}/{name}")
            yield 0


def _snapshots(disk: Disk, directory: str) -> tuple[list[SnapshotFacts], list[tuple[int, ControlFacts]]]:
    ids = [found for name in disk.list(directory) if (found := snapshots.id_of(name)) is not None]
    facts: list[SnapshotFacts] = []
    controls = []
    for snapshot_id in sorted(ids):
        head, quorum = snapshots.read_head(disk, directory, snapshot_id)
        if snapshot_id == BOOTSTRAP:
            controls.append((-1, quorum))
        else:
            facts.append(head)
            controls.append((snapshot_id.offset - 1, quorum))
    return facts, controls


def _controls(
    disk: Disk, directory: str, segments: list[SegmentFacts], from_offset: int
) -> JobOf[list[tuple[int, ControlFacts]]]:
    """The control records of the log itself: headers are looked at, records only where they must be."""
    found: list[tuple[int, ControlFacts]] = []
    for number, segment in enumerate(segments):
        if number + 1 < len(segments) and segments[number + 1].base_offset <= from_offset:
            continue
        file = disk.open(names.log_path(directory, segment.base_offset), writable=False)
        try:
            position = 0
            while position < segment.size:
                piece = file.pread(min(READ_BYTES, segment.size - position), position)
                used = _scan(piece, from_offset, found)
                if not used:  # a batch larger than a piece
                    size = batch_size(memoryview(piece), 0) or segment.size
                    used = _scan(file.pread(size, position), from_offset, found) or len(piece)
                position += used
                yield used
        except errors.KafkaError as error:
            raise LogDirFailure(f"the metadata log is damaged: {error}", file.path) from error
        finally:
            file.close()
    return found


def _scan(piece: bytes, from_offset: int, found: list[tuple[int, ControlFacts]]) -> int:
    """How many bytes of whole batches were looked at."""
    position, end = 0, len(piece)
    unpack = _LENGTH_AND_ATTRIBUTES.unpack_from
    while position + layout.HEADER_SIZE <= end:
        length, attributes = unpack(piece, position + layout.LENGTH_OFFSET)
        size = length + layout.LOG_OVERHEAD
        if position + size > end:
            break
        if attributes & layout.CONTROL_MASK:
            batch = RecordBatch(piece[position : position + size])
            if batch.last_offset >= from_offset:
                found.append((batch.last_offset, facts_of(controls_of(batch))))
        position += size
    return position
