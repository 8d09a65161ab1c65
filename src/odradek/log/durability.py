"""The reactor's side of a flush and of a clean close: draws up the plan, and applies its end.

A clean close leaves a log that opens without being read: complete indexes, the leader epochs, and a snapshot of the
producers at its very end.
"""

from typing import TYPE_CHECKING

from odradek.log import checkpoint, names, roll
from odradek.log.failpoint import failpoint
from odradek.log.flush import FlushPlan
from odradek.log.producers import producer_snapshot

if TYPE_CHECKING:
    from odradek.log.log import Log

CLOSED = "the log is closed"


def begin_flush(log: "Log", now_ms: int) -> FlushPlan | None:
    log.last_flushed_ms = now_ms
    is_clean = (
        log.recovery_point == log.log_end_offset
        and not log.unflushed
        and not log.unsynced_snapshots
        and not log.epochs.is_dirty
        and not log.has_new_names
    )
    return None if is_clean else _plan(log)


def _plan(log: "Log") -> FlushPlan:
    if log.active.file is not None:
        log.active.indexes.write_pending()  # first: a full disk refuses it, and then there is no plan to release
    plan = FlushPlan(log.directory, log.generation, log.log_end_offset)
    _add_sealed(log, plan)
    _add_active(log, plan)
    plan.snapshots = list(log.unsynced_snapshots)
    plan.snapshot_paths = [producer_snapshot.path_of(log.directory, offset) for offset in plan.snapshots]
    if log.epochs.is_dirty:
        plan.epochs = checkpoint.format_epochs(log.epochs.entries)
    plan.syncs_dir = log.has_new_names
    log.has_new_names = False  # names that are made from now on are for the next plan
    return plan


def _add_sealed(log: "Log", plan: FlushPlan) -> None:
    for base_offset, file in log.unflushed.items():
        segment = log.segments.get(base_offset)
        if segment is None:
            continue
        plan.base_offsets.append(base_offset)
        if file is None:
            plan.log_paths.append(segment.path(names.LOG))
        else:
            plan.files.append(file.acquire())
        plan.index_paths += segment.paths[1:]


def _add_active(log: "Log", plan: FlushPlan) -> None:
    active = log.active
    if active.file is not None:
        plan.files.append(active.file.acquire())
    elif log.recovery_point < log.log_end_offset:
        plan.log_paths.append(active.path(names.LOG))
    else:
        return
    plan.index_paths += active.paths[1:]


def flushed(log: "Log", plan: FlushPlan) -> bool:
    plan.release()
    if plan.generation != log.generation:
        log.has_new_names |= plan.syncs_dir
        return False
    log.recovery_point = max(log.recovery_point, plan.offset)
    for base_offset in plan.base_offsets:
        file = log.unflushed.pop(base_offset, None)
        if file is not None:
            file.release()
    log.unsynced_snapshots = [offset for offset in log.unsynced_snapshots if offset not in plan.snapshots]
    if plan.epochs is not None and plan.epochs == checkpoint.format_epochs(log.epochs.entries):
        log.epochs.is_dirty = False
    return True


def not_flushed(log: "Log", plan: FlushPlan) -> None:
    """The job has failed, or was given up: all of it is for the next plan."""
    plan.release()
    log.has_new_names |= plan.syncs_dir


def begin_close(log: "Log", now_ms: int) -> FlushPlan:
    log.refusal = CLOSED
    if log.active.file is not None:
        log.active.complete_indexes()
    failpoint("log.close.before_snapshot")
    log.producers.map_end_offset = max(log.producers.map_end_offset, log.log_end_offset)
    roll.take_snapshot(log)
    failpoint("log.close.after_snapshot")
    log.last_flushed_ms = now_ms
    return _plan(log)


def closed(log: "Log", plan: FlushPlan) -> None:
    failpoint("log.close.after_fsync")
    flushed(log, plan)
    abandon(log)


def abandon(log: "Log") -> None:
    log.refusal = CLOSED
    log.generation += 1
    for file in log.unflushed.values():
        if file is not None:
            file.release()
    log.unflushed.clear()
    for segment in log.segments:
        segment.release()
