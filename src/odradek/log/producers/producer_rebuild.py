"""The producer state at the end of a log: the newest snapshot that checks out, and a replay of the log from there.

The same job serves the start of a broker and a truncation. Its result is a fresh state (P5); nothing that a live log
holds is touched.
"""

from odradek.log.batches.batch_pieces import BatchPieces
from odradek.log.dead_files import unlink_if_there
from odradek.log.failure import LogDamaged, file_error
from odradek.log.producers import producer_snapshot
from odradek.log.producers.producer_snapshot import CorruptSnapshot
from odradek.log.producers.producer_state import ProducerState, is_expired
from odradek.protocol import errors
from odradek.reactor.ports import Disk, JobOf
from odradek.records import layout
from odradek.records.batch import RecordBatch, batch_size


class RebuildPlan:
    """`segments` are (base offset, size, path), in order; `start_offset` is the first of them.

    `snapshots` are offsets; the job drops damaged ones.
    """

    __slots__ = (
        "directory",
        "end_offset",
        "expiration_ms",
        "generation",
        "now_ms",
        "segments",
        "snapshots",
        "start_offset",
        "topic_partition",
    )

    def __init__(
        self,
        directory: str,
        topic_partition: str,
        *,
        generation: int,
        start_offset: int,
        end_offset: int,
        segments: list[tuple[int, int, str]],
        snapshots: list[int],
        now_ms: int,
        expiration_ms: int,
    ) -> None:
        self.directory = directory
        self.topic_partition = topic_partition
        self.generation = generation
        self.start_offset = start_offset
        self.end_offset = end_offset
        self.segments = segments
        self.snapshots = snapshots
        self.now_ms = now_ms
        self.expiration_ms = expiration_ms


def rebuild_job(disk: Disk, plan: RebuildPlan) -> JobOf[ProducerState]:
    """Returns the ProducerState at `end_offset`."""
    state = ProducerState(plan.topic_partition)
    state.clear(plan.start_offset)
    _load_snapshot(disk, plan, state)
    for number, (base_offset, size, path) in enumerate(plan.segments):
        following = plan.segments[number + 1][0] if number + 1 < len(plan.segments) else plan.end_offset
        if size and state.map_end_offset < following and base_offset < plan.end_offset:
            yield from _replay_segment(disk, plan, state, path, size)
    state.map_end_offset = plan.end_offset
    return state


def _load_snapshot(disk: Disk, plan: RebuildPlan, state: ProducerState) -> None:
    """The newest within the log's bounds that checks out; a damaged one is removed."""
    for offset in reversed(plan.snapshots.copy()):
        if not plan.start_offset <= offset <= plan.end_offset:
            continue
        try:
            entries = producer_snapshot.read(disk, plan.directory, offset)
        except (CorruptSnapshot, FileNotFoundError):
            unlink_if_there(disk, producer_snapshot.path_of(plan.directory, offset))
            plan.snapshots.remove(offset)
            continue
        alive = [entry for entry in entries if not is_expired(entry, plan.now_ms, plan.expiration_ms)]
        state.load(alive, offset)
        return


def _replay_segment(disk: Disk, plan: RebuildPlan, state: ProducerState, path: str, size: int) -> JobOf[None]:
    try:
        file = disk.open(path, writable=False)
    except OSError as error:
        raise file_error(error, "opening", path) from error
    try:
        pieces = BatchPieces(file, 0, size)
        while not pieces.is_at_end:
            piece = pieces.next_piece()
            used = _replay_piece(state, piece, plan.end_offset)
            if not pieces.advance(piece, used):
                raise LogDamaged("a batch is cut off or has an impossible length", path, pieces.position)
            yield used
    except errors.CorruptMessage as error:
        raise LogDamaged(error.message, path, pieces.position) from error
    finally:
        file.close()


def _replay_piece(state: ProducerState, piece: memoryview, end_offset: int) -> int:
    """Plays what the state has not seen yet; how many bytes were whole batches."""
    at = 0
    while (size := batch_size(piece, at)) is not None and at + size <= len(piece):
        if piece[at + layout.MAGIC_OFFSET] == layout.MAGIC_MAX:
            batch = RecordBatch(piece[at : at + size])
            if batch.producer_id >= 0 and state.map_end_offset <= batch.last_offset < end_offset:
                batch.ensure_valid()
                completed = state.replay(batch)
                if completed is not None:
                    state.complete(completed)
        at += size
    return at
