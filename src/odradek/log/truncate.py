"""Cutting off the end of a log: a follower gives up what its leader does not have.

Whole batches go, and the log then ends where its last batch ends: an end that no batch bears witness to would be
another one after a restart. So the new end may lie before the offset that was asked for, inside a batch or in a gap.

The cut is made at once, on the reactor's thread: the segment list, the high watermark and the files must agree before
anything else happens. What takes reading (the producers at the new end) is a job; appends wait for it.

The recovery point that is on disk must not lie past the new end when the log grows again, or the next recovery would
miss bytes that were never promised: a caller that truncates below it first writes a lower one, which
`recovery_point_for` gives: the start of the segment, as where in it the cut will fall is only known afterwards.
"""

from typing import TYPE_CHECKING

from odradek.log import names
from odradek.log.dead_files import Deletion, unlink_if_there
from odradek.log.failpoint import failpoint
from odradek.log.producers import producer_snapshot
from odradek.log.producers.producer_rebuild import RebuildPlan
from odradek.log.producers.producer_state import ProducerState
from odradek.log.roll import jitter_ms
from odradek.log.segment.segment import Segment
from odradek.log.soundness import soundness

if TYPE_CHECKING:
    from odradek.log.log import Log


def truncate_to(log: "Log", offset: int, now_ms: int) -> RebuildPlan | None:
    if offset >= log.log_end_offset:
        log.epochs.truncate_from_end(offset)  # there may be an epoch that began at the end and has no records yet
        return None
    if offset < log.segments.first.base_offset:
        truncate_fully_and_start_at(log, offset, now_ms)
        return None
    _changed(log)
    failpoint("log.truncate.before_cut")
    dropped = [segment for segment in log.segments if segment.base_offset > offset]
    _condemn(log, remove_segments(log, dropped))
    failpoint("log.truncate.after_segments")
    last = log.segments.last
    if last.file is None:
        last.open(log.config.segment_index_bytes)
        last.jitter_ms = jitter_ms(log)
    soundness.locate(log, last, offset, may_block=True)  # damage must not decide where the cut falls
    last.truncate_to(offset, now_ms)
    failpoint("log.truncate.after_indexes")
    log.active = last
    _forget_unflushed(log, last)
    end_offset = last.end_offset()
    if end_offset < log.log_start_offset <= offset:
        truncate_fully_and_start_at(log, log.log_start_offset, now_ms)  # all that is left was deleted before
        return None
    return _moved_end(log, end_offset, now_ms)


def recovery_point_for(log: "Log", offset: int) -> int:
    """0 below the first segment: the log begins anew, and is without any file meanwhile."""
    segment = log.segments.floor(offset)
    return 0 if segment is None else min(log.recovery_point, segment.base_offset)


def _changed(log: "Log") -> None:
    log.generation += 1
    log.forget_places()


def _forget_unflushed(log: "Log", segment: Segment) -> None:
    """The active segment is always part of a flush: its file must not be there twice."""
    file = log.unflushed.pop(segment.base_offset, None)
    if file is not None:
        file.release()


def _moved_end(log: "Log", offset: int, now_ms: int) -> RebuildPlan | None:
    log.log_end_offset = offset
    if log.active.indexes.doubted is not None:
        log.active.indexes.doubted.cut(log.active.size, offset)
    log.recovery_point = min(log.recovery_point, offset)
    log.log_start_offset = min(log.log_start_offset, offset)
    log.epochs.truncate_from_end(offset)
    _drop_snapshots_past(log, offset)
    failpoint("log.truncate.after_snapshots")
    plan = _rebuild_plan(log, offset, now_ms)
    if plan is None:
        log.producers.map_end_offset = offset
    if log.high_watermark > offset:
        # A transaction whose marker was cut off is open again; which one, only the rebuilt producers will tell (T1).
        log.has_stale_producers = plan is not None
        log.update_high_watermark(offset)
    return plan


def _drop_snapshots_past(log: "Log", offset: int) -> None:
    while log.snapshots and log.snapshots[-1] > offset:
        unlink_if_there(log.storage.disk, producer_snapshot.path_of(log.directory, log.snapshots.pop()))
        log.has_new_names = True
    log.unsynced_snapshots = [kept for kept in log.unsynced_snapshots if kept <= offset]


def _rebuild_plan(log: "Log", offset: int, now_ms: int) -> RebuildPlan | None:
    """None if there is nothing to forget: no producer was known before the cut, so none is after it."""
    if not len(log.producers):
        return None
    log.refusal = "its producers are being read again after a truncation"
    return rebuild_plan(log, offset, now_ms)


def rebuild_plan(log: "Log", offset: int, now_ms: int) -> RebuildPlan:
    return RebuildPlan(
        log.directory,
        log.topic_partition,
        generation=log.generation,
        start_offset=log.segments.first.base_offset,
        end_offset=offset,
        segments=[(segment.base_offset, segment.size, segment.path(names.LOG)) for segment in log.segments],
        snapshots=list(log.snapshots),
        now_ms=now_ms,
        expiration_ms=log.producer_id_expiration_ms,
    )


def install(log: "Log", plan: RebuildPlan, producers: ProducerState) -> bool:
    if plan.generation != log.generation:
        return False
    log.snapshots = plan.snapshots
    log.producers = producers
    log.has_stale_producers = False
    log.producers.high_watermark_moved(log.high_watermark)
    log.refusal = None
    log.find_first_unstable_offset()
    return True


def _condemn(log: "Log", deletion: Deletion) -> None:
    """Renamed at once, as the names may be needed again; somebody unlinks them later."""
    deletion.rename(log.storage.disk)
    if deletion.groups:
        log.deletions.append(deletion)


def truncate_fully_and_start_at(log: "Log", offset: int, now_ms: int) -> None:
    _changed(log)
    log.refusal = None
    deletion = remove_segments(log, list(log.segments))
    deletion.groups.append([producer_snapshot.path_of(log.directory, kept) for kept in log.snapshots])
    log.snapshots.clear()
    log.unsynced_snapshots.clear()
    _condemn(log, deletion)
    failpoint("log.truncate_fully.after_delete")
    _begin_at(log, offset, now_ms)


def _begin_at(log: "Log", offset: int, now_ms: int) -> None:
    segment = Segment(log.storage, log.directory, offset, 0, now_ms)
    segment.jitter_ms = jitter_ms(log)
    segment.create(log.config.segment_index_bytes)
    log.segments.add(segment)
    log.active = segment
    log.has_new_names = True
    log.epochs.clear()
    log.producers.clear(offset)
    log.has_stale_producers = False
    log.log_end_offset = log.log_start_offset = offset
    log.recovery_point = min(log.recovery_point, offset)
    log.update_high_watermark(offset)


def remove_segments(log: "Log", segments: list[Segment]) -> Deletion:
    """Out of the list; their files are still there, for the deletion to rename."""
    groups = []
    for segment in segments:
        segment.release()
        log.segments.remove(segment)
        _forget_unflushed(log, segment)
        groups.append([segment.path(kind) for kind in names.SEGMENT_FILES])
    if segments:
        log.has_new_names = True
    return Deletion(log.directory, groups)
