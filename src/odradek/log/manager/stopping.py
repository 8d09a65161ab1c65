"""The clean stop of the log manager: everything durable, every log closed, then the word that it was so.

    operations and background work end ─ per dir: logs closed ─ checkpoints ─ clean-shutdown marker ─ lock let go of

The marker is the last thing that a dir gets, and only if every log in it was closed, or set aside with all of it on
disk (`set_aside.py`): the next start trusts it and reads no log. A dir that fails or is full on the way has none, and
is recovered.
"""

from typing import TYPE_CHECKING

from odradek.log.failure import DiskFull, LogFailure
from odradek.log.flush import FlushPlan
from odradek.log.log import Log
from odradek.log.manager import starting
from odradek.log.manager.log_dir import LogDir, clean_shutdown_marker, mark_clean_job
from odradek.log.manager.removals import removals_key
from odradek.protocol import errors
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Cancelled
from odradek.reactor.slices import Slices

if TYPE_CHECKING:
    from odradek.log.manager.manager import LogManager

# Logs of a dir that are closed side by side: each waits for several fsyncs, which a file system does together.
CLOSING_AT_ONCE = 16


async def stop(manager: "LogManager", broker_epoch: int) -> None:
    await starting.give_up(manager)
    manager.schedules.stop()
    await manager.cleaner.stop()
    await manager.gates.until_idle()
    for task in manager.removals.give_up():
        await task
    if not manager.is_started:
        return  # a start that did not come to its end has let go of everything
    dirs = manager.dirs.online
    stopping: list[Pending[None]] = [manager.loop.spawn(_stop_dir(manager, log_dir, broker_epoch)) for log_dir in dirs]
    for task in stopping:
        await task
    manager.current.clear()
    manager.futures.clear()
    manager.storage.files.close()


async def _stop_dir(manager: "LogManager", log_dir: LogDir, broker_epoch: int) -> None:
    try:
        await _cut_removals_short(manager, log_dir)
        await _close_logs(manager, log_dir)
        await manager.dirs.save_all(log_dir)
        if log_dir.path in manager.cleaner.checkpoints.changed_dirs:
            await manager.dirs.run(
                log_dir, log_dir.path, manager.cleaner.checkpoints.save_job(manager.disk, log_dir.path)
            )
        if log_dir.unclosed is None and not any(found.needs_recovery for found in log_dir.set_aside_logs.values()):
            marker = clean_shutdown_marker(manager.topic_configs.layers.release, broker_epoch)
            await manager.dirs.run(log_dir, log_dir.path, mark_clean_job(manager.disk, log_dir.path, marker))
    except errors.KafkaStorageError as error:
        _leave_unclosed(log_dir, error)
    finally:
        log_dir.release_lock()


async def _cut_removals_short(manager: "LogManager", log_dir: LogDir) -> None:
    """A removal may take long; the next start goes on with it."""
    manager.jobs.cancel(removals_key(log_dir))
    await manager.dirs.until_jobs_ended(removals_key(log_dir))


async def _close_logs(manager: "LogManager", log_dir: LogDir) -> None:
    logs = [log for _, log in log_dir.all_logs()]
    count = max(CLOSING_AT_ONCE, manager.config.recovery_threads_per_dir)
    workers: list[Pending[None]] = [manager.loop.spawn(_close_some(manager, log_dir, logs)) for _ in range(count)]
    for worker in workers:
        await worker
    if log_dir.failure is not None:
        raise log_dir.failure


async def _close_some(manager: "LogManager", log_dir: LogDir, logs: list[Log]) -> None:
    slices = Slices(manager.loop)
    while logs and log_dir.is_online:
        log = logs.pop()
        await manager.dirs.until_jobs_ended(log.directory)
        if not log.is_closed:
            await _close(manager, log_dir, log)
        await slices.pause_if_over()


async def _close(manager: "LogManager", log_dir: LogDir, log: Log) -> None:
    try:
        plan = log.begin_close(manager.now_ms)
    except LogFailure as failure:
        manager.handle_failure(failure)
        return
    except DiskFull as full:
        _leave_to_recovery(manager, log_dir, log, full)
        return
    try:
        if _has_work(plan):
            await manager.run_flush(log_dir, log, plan)
        log.closed(plan)
    except DiskFull as full:
        _leave_to_recovery(manager, log_dir, log, full)
    except (errors.KafkaStorageError, Cancelled) as error:
        _leave_unclosed(log_dir, error)
        log.abandon()


def _leave_to_recovery(manager: "LogManager", log_dir: LogDir, log: Log, full: DiskFull) -> None:
    """Its records are in the files; what a clean stop adds to them had no space."""
    _leave_unclosed(log_dir, full)
    manager.dirs.full(log.directory)
    log.abandon()


def _leave_unclosed(log_dir: LogDir, error: Exception) -> None:
    """The dir gets no marker, and the next start recovers it. The first reason is the one that is told."""
    if log_dir.unclosed is None:
        log_dir.unclosed = f"no space left to write {error.path}" if isinstance(error, DiskFull) else str(error)


def _has_work(plan: FlushPlan) -> bool:
    return bool(
        plan.files
        or plan.log_paths
        or plan.index_paths
        or plan.snapshot_paths
        or plan.epochs is not None
        or plan.syncs_dir
    )
