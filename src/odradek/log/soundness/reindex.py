"""An index that leads astray is built again from the log, while the log goes on.

Until then searches begin at the start of the segment, which is slow and right. The job reads the whole segment, and so
checks it as well. The files of a sealed segment are replaced by the job: nobody else writes to them, and whatever would
give their names to another segment waits for the jobs of the log. Those of the active one belong to the reactor, which
puts the entries of the job before the ones that were added meanwhile.
"""

from typing import TYPE_CHECKING, NamedTuple

from odradek.log import names
from odradek.log.dead_files import unlink_if_there
from odradek.log.failure import LogDamaged, LogFailure, storage_error
from odradek.log.index import transaction_index
from odradek.log.loading.recovery import scan_job
from odradek.log.producers.producer_rebuild import RebuildPlan, rebuild_job
from odradek.log.segment.segment import Segment
from odradek.log.segment.segment_scan import SegmentScan
from odradek.log.truncate import rebuild_plan
from odradek.reactor.ports import Disk, JobOf

if TYPE_CHECKING:
    from odradek.log.log import Log


class ReindexPlan(NamedTuple):
    directory: str
    generation: int
    base_offset: int
    size: int
    interval_bytes: int
    is_active: bool
    producers: RebuildPlan  # up to where the segment begins: what was open there may be aborted in it


def plan(log: "Log", segment: Segment, now_ms: int) -> ReindexPlan | None:
    """None while compaction has not given the segment its name: then it is done at the next start."""
    if segment.files.suffix:
        return None
    return ReindexPlan(
        log.directory,
        log.generation,
        segment.base_offset,
        segment.size,
        log.index_interval_bytes,
        segment.is_active,
        rebuild_plan(log, segment.base_offset, now_ms),
    )


def reindex_job(disk: Disk, planned: ReindexPlan) -> JobOf[SegmentScan | None]:
    """Returns the SegmentScan, None if the segment has left the log. LogDamaged if the log itself does not hold."""
    try:
        producers = yield from rebuild_job(disk, planned.producers)
        scan = SegmentScan(planned.base_offset, planned.interval_bytes, producers)
        yield from scan_job(disk, planned.directory, scan, planned.size)
    except LogFailure as failure:
        if isinstance(failure.__cause__, FileNotFoundError):
            return None
        raise
    stem = f"{planned.directory}/{names.file_name(planned.base_offset, '')}"
    if scan.fault is not None:
        raise LogDamaged(scan.fault, stem + names.LOG, scan.valid_bytes)
    if not planned.is_active:
        _write(disk, stem + names.OFFSET_INDEX, scan.offset_index.encode())
        _write(disk, stem + names.TIME_INDEX, scan.time_index.encode())
        if scan.aborted:
            _write(disk, stem + names.TRANSACTION_INDEX, transaction_index.encode(scan.aborted))
        else:
            unlink_if_there(disk, stem + names.TRANSACTION_INDEX)
    return scan


def _write(disk: Disk, path: str, data: bytes) -> None:
    try:
        disk.write_atomically(path, data)
    except OSError as error:
        raise storage_error(error, "rebuilding an index", path) from error


def install(log: "Log", planned: ReindexPlan, scan: SegmentScan | None) -> bool:
    """False if the log has changed since, or the segment was sealed: then it is done at the next start."""
    segment = log.segments.get(planned.base_offset)
    if scan is None or planned.generation != log.generation or segment is None:
        return False
    if segment.is_active != planned.is_active:
        return False
    dropped = {offset for offset in log.snapshots if offset <= planned.base_offset} - set(planned.producers.snapshots)
    log.snapshots = [offset for offset in log.snapshots if offset not in dropped]
    segment.rescanned(scan)
    return True
