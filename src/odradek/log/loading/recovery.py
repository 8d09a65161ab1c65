"""Recovery of a log that was not closed: what is past the recovery point is trusted only as far as it holds.

From the segment with the recovery point on, every batch is checked. The first that is not sound ends the log, whatever
follows it: pages that were never synced reach the disk in any order, so a good batch behind a bad one proves nothing.
Below the recovery point nothing is ever cut: those bytes were on the disk once, so a bad batch there is damage, and the
log is set aside with the file and the position (L7); the other logs of the dir go on.

Segments behind the end go first, and durably; only then is the segment with the end cut. The other way round, a crash
in between would leave a log that looks whole with a hole in it. Run again, at any point, it gives the same log.
"""

from collections.abc import Callable

from odradek.log import names
from odradek.log.batches.batch_check import EpochWitness
from odradek.log.batches.batch_search import DamagedSegment
from odradek.log.config import LogConfig
from odradek.log.dead_files import unlink_all, unlink_if_there
from odradek.log.failpoint import failpoint
from odradek.log.failure import LogDamaged, LogDirFailure, file_error
from odradek.log.index import transaction_index
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.loading.loaded import LoadedLog, Recovered, SegmentFacts
from odradek.log.producers import producer_snapshot
from odradek.log.producers.producer_rebuild import RebuildPlan, rebuild_job
from odradek.log.producers.producer_state import ProducerState
from odradek.log.segment.segment_scan import SegmentScan
from odradek.reactor.ports import Disk, JobOf

Progress = Callable[[str, int, int], None]  # directory, bytes read so far, bytes to read


def recover(
    disk: Disk,
    loaded: LoadedLog,
    config: LogConfig,
    recovery_point: int,
    now_ms: int,
    expiration_ms: int,
    progress: Progress | None = None,
) -> JobOf[None]:
    """Reads the segments from the recovery point on; `loaded` has the log's end and its producers afterwards."""
    first = _first_unflushed(loaded.segments, recovery_point)
    unflushed = loaded.segments[first:]
    producers = yield from _producers_at(disk, loaded, unflushed[0].base_offset, now_ms, expiration_ms)
    drop_snapshots(disk, loaded, lambda offset: offset > unflushed[0].base_offset)
    total, done = sum(facts.size for facts in unflushed), 0
    next_offset = unflushed[0].base_offset
    witness = epoch_witness(loaded, recovery_point)
    loaded.epochs.truncate_from_end(next_offset)  # from here on the batches tell: the file may be of another past
    for number, facts in enumerate(unflushed):
        if number and not _follows(next_offset, facts.base_offset, config):
            yield from _drop(disk, loaded, unflushed[number:])
            break
        if number:
            _snapshot(disk, loaded, producers, facts.base_offset)
        scan = SegmentScan(
            facts.base_offset,
            config.index_interval_bytes,
            producers,
            loaded.epochs,
            gapless_from=None if config.is_compacted else recovery_point,
            witness=witness,
            witnessed_to=recovery_point,
        )
        for moved in scan_job(disk, loaded.directory, scan, facts.size):
            done += moved
            if progress is not None:
                progress(loaded.directory, done, total)
            yield moved
        next_offset = scan.next_offset
        if scan.fault is not None:
            _refuse_below(loaded, scan, recovery_point)
            yield from _drop(disk, loaded, unflushed[number + 1 :])
        apply_scan(disk, loaded.directory, facts, scan)
        failpoint("log.recover.after_segment")
        if scan.fault is not None:
            break
    _conclude(disk, loaded, producers, next_offset, first)
    loaded.recovered = Recovered(done, total - sum(facts.size for facts in loaded.segments[first:]))


def _conclude(disk: Disk, loaded: LoadedLog, producers: ProducerState, end_offset: int, first: int) -> None:
    """What the log is from now on. The snapshot at its end comes first: it is one of those that are to be synced.

    From segment `first` on nothing need be on the disk yet: cuts and indexes were written to the page cache.
    """
    loaded.log_end_offset = end_offset
    loaded.producers = producers
    producers.map_end_offset = end_offset
    _snapshot(disk, loaded, producers, end_offset)
    loaded.unflushed = [facts.base_offset for facts in loaded.segments[first:-1]]
    loaded.unsynced_snapshots = [offset for offset in loaded.snapshots if offset >= loaded.segments[first].base_offset]
    loaded.has_new_names = True


def epoch_witness(loaded: LoadedLog, recovery_point: int) -> EpochWitness:
    """What the file of leader epochs knows for certain: it is written before the recovery point moves."""
    durable = LeaderEpochs(loaded.epochs.entries)
    durable.truncate_from_end(recovery_point)
    return EpochWitness(durable)


def _first_unflushed(segments: list[SegmentFacts], recovery_point: int) -> int:
    """The number of the segment that holds the recovery point."""
    below = [number for number, facts in enumerate(segments) if facts.base_offset <= recovery_point]
    return below[-1] if below else 0


def _producers_at(disk: Disk, loaded: LoadedLog, offset: int, now_ms: int, expiration_ms: int) -> JobOf[ProducerState]:
    plan = rebuild_plan(loaded, offset, now_ms, expiration_ms)
    producers = yield from rebuild_job(disk, plan)
    loaded.snapshots = plan.snapshots
    return producers


def rebuild_plan(loaded: LoadedLog, end_offset: int, now_ms: int, expiration_ms: int) -> RebuildPlan:
    return RebuildPlan(
        loaded.directory,
        loaded.topic_partition,
        generation=0,
        start_offset=loaded.segments[0].base_offset,
        end_offset=end_offset,
        segments=[
            (facts.base_offset, facts.size, names.log_path(loaded.directory, facts.base_offset))
            for facts in loaded.segments
        ],
        snapshots=loaded.snapshots,
        now_ms=now_ms,
        expiration_ms=expiration_ms,
    )


def _follows(next_offset: int, base_offset: int, config: LogConfig) -> bool:
    """Whether a segment goes on where the one before ends.

    One that begins earlier was cut off by a truncation whose rename did not reach the disk. One that begins later tells
    that the end of the one before was lost at a whole batch; only compaction leaves a gap there that is none.
    """
    return base_offset == next_offset or (base_offset > next_offset and config.is_compacted)


def scan_job(disk: Disk, directory: str, scan: SegmentScan, size: int) -> JobOf[None]:
    path = names.log_path(directory, scan.base_offset)
    try:
        file = disk.open(path, writable=False)
    except OSError as error:
        raise file_error(error, "opening", path) from error
    try:
        yield from scan.run(file, size)
    except DamagedSegment as damage:
        raise LogDamaged(damage.reason, path, damage.position) from damage
    finally:
        file.close()


def _refuse_below(loaded: LoadedLog, scan: SegmentScan, recovery_point: int) -> None:
    if scan.next_offset < recovery_point:
        raise LogDamaged(
            f"{scan.fault}, at offset {scan.next_offset}, below the recovery point {recovery_point} of "
            f"{loaded.topic_partition}; it was on disk once, so the disk has damaged it",
            names.log_path(loaded.directory, scan.base_offset),
            scan.valid_bytes,
        )


def _drop(disk: Disk, loaded: LoadedLog, doomed: list[SegmentFacts]) -> JobOf[None]:
    if not doomed:
        return
    failpoint("log.recover.before_drop")
    # The highest first: a crash in between leaves the others, which the next recovery finds as they are now.
    for facts in reversed(doomed):
        stem = f"{loaded.directory}/{names.file_name(facts.base_offset, '')}"
        unlink_all(disk, (stem + kind for kind in names.SEGMENT_FILES))
        loaded.segments.remove(facts)
        yield 0
    disk.fsync_dir(loaded.directory)


def apply_scan(disk: Disk, directory: str, facts: SegmentFacts, scan: SegmentScan, *, atomically: bool = False) -> None:
    """Cuts the log where its soundness ends and writes the indexes that belong to it.

    `atomically` is for a segment that no later recovery will look at: a crash must not leave half an index there.
    """
    stem = f"{directory}/{names.file_name(facts.base_offset, '')}"
    failpoint("log.recover.before_truncate")
    try:
        if scan.valid_bytes < facts.size:
            _truncate(disk, stem + names.LOG, scan.valid_bytes)
        failpoint("log.recover.after_truncate")
        write = disk.write_atomically if atomically else _Rewrite(disk).write
        write(stem + names.OFFSET_INDEX, scan.offset_index.encode())
        write(stem + names.TIME_INDEX, scan.time_index.encode())
        if scan.aborted:
            write(stem + names.TRANSACTION_INDEX, transaction_index.encode(scan.aborted))
        else:
            unlink_if_there(disk, stem + names.TRANSACTION_INDEX)
    except OSError as error:
        raise LogDirFailure(f"recovery failed: {error}", stem + names.LOG) from error
    failpoint("log.recover.after_indexes")
    facts.size = scan.valid_bytes
    facts.max_timestamp = scan.max_timestamp
    facts.offset_of_max_timestamp = scan.offset_of_max_timestamp
    facts.has_transaction_index = bool(scan.aborted)
    facts.is_checked = True


def _truncate(disk: Disk, path: str, size: int) -> None:
    file = disk.open(path)
    try:
        file.truncate(size)
    finally:
        file.close()


class _Rewrite:
    """Puts new content into a file, into the page cache. The same content is left alone."""

    __slots__ = ("_disk",)

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def write(self, path: str, data: bytes) -> None:
        if self._disk.exists(path) and self._disk.size(path) == len(data) and self._disk.read(path) == data:
            return
        file = self._disk.open(path, create=True)
        try:
            file.truncate(0)
            if data and file.append([data]) != len(data):
                raise LogDirFailure("the disk is full: an index could not be written", path)
        finally:
            file.close()


def drop_snapshots(disk: Disk, loaded: LoadedLog, is_stray: Callable[[int], bool]) -> None:
    for offset in [offset for offset in loaded.snapshots if is_stray(offset)]:
        unlink_if_there(disk, producer_snapshot.path_of(loaded.directory, offset))
        loaded.snapshots.remove(offset)


def _snapshot(disk: Disk, loaded: LoadedLog, producers: ProducerState, offset: int) -> None:
    """So that the next recovery, and the next start, need not read what this one has read."""
    if offset <= (loaded.snapshots[-1] if loaded.snapshots else loaded.log_start_offset):
        return
    producer_snapshot.write(disk, loaded.directory, offset, producers.entries)
    loaded.snapshots.append(offset)
