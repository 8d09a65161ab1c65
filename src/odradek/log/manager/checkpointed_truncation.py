"""Truncating a log that has checkpoints: they are lowered first, durably, and only then the log is cut.

The other way round, a crash after the cut, with the log grown again, would leave a recovery point past bytes that were
never synced: recovery would take a torn tail for damage. A log start offset past the end would drop the whole log.

A log that begins anew is without any file for a moment, or after a crash: until its first one is durable the recovery
point is 0, so that nobody misses what was there before.
"""

from typing import TYPE_CHECKING

from odradek.log.failure import LogFailure
from odradek.log.log import Log
from odradek.log.manager.log_dir import LogDir
from odradek.log.manager.partition_dirs import fsync_dir_job
from odradek.log.producers.producer_rebuild import RebuildPlan, rebuild_job
from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.log.manager.manager import LogManager


async def truncate(
    manager: "LogManager", topic_partition: TopicPartition, offset: int, *, is_future: bool, fully: bool
) -> None:
    async def work() -> None:
        log = (manager.futures if is_future else manager.current).get(topic_partition)
        if log is None:
            raise errors.ReplicaNotAvailable(f"{topic_partition[0]}-{topic_partition[1]} has no log on this broker.")
        await _truncate(manager, topic_partition, log, offset, fully)

    await manager.exclusively(topic_partition, work)


async def _truncate(manager: "LogManager", topic_partition: TopicPartition, log: Log, offset: int, fully: bool) -> None:
    log_dir = manager.dirs.of_log(log)
    manager.cleaner.pause(log)
    try:
        if fully or offset < log.log_end_offset:
            recovery_point = 0 if fully else log.recovery_point_for(offset)
            await manager.dirs.hold_down(log_dir, topic_partition, offset, recovery_point)
        await _quiet(manager, log)
        plan = _cut(manager, log_dir, log, offset, fully)
        manager.cleaner.truncated(log, offset)
        _unlink_cut_off(manager, log)
        if log.log_end_offset == log.segments.first.base_offset:
            await manager.dirs.run(log_dir, log.directory, fsync_dir_job(manager.disk, log.directory))
        if plan is not None:
            await _rebuild(manager, log_dir, log, plan)
    finally:
        manager.dirs.let_up(log_dir, topic_partition)
        manager.cleaner.resume(log)


async def _quiet(manager: "LogManager", log: Log) -> None:
    """No round of the cleaner, no rename by retention is under way: a new segment may get the name of an old one."""
    while manager.cleaner.is_cleaning(log) or manager.jobs.is_busy(log.directory):
        await manager.dirs.until_jobs_ended(log.directory)
        await manager.loop.sleep(0)  # whoever waits for the last job goes on first


def _cut(manager: "LogManager", log_dir: LogDir, log: Log, offset: int, fully: bool) -> RebuildPlan | None:
    if log_dir.failure is not None:
        raise log_dir.failure
    try:
        if fully:
            log.truncate_fully_and_start_at(offset, manager.now_ms)
            return None
        return log.truncate_to(offset, manager.now_ms)
    except LogFailure as failure:
        manager.handle_failure(failure)
        raise


def _unlink_cut_off(manager: "LogManager", log: Log) -> None:
    deletions, log.deletions = log.deletions, []
    for deletion in deletions:
        manager.removals.unlink_later(log, deletion)


async def _rebuild(manager: "LogManager", log_dir: LogDir, log: Log, plan: RebuildPlan) -> None:
    producers = await manager.dirs.run(log_dir, log.directory, rebuild_job(manager.disk, plan))
    if not log.install(plan, producers):
        raise errors.KafkaStorageError(f"{log.topic_partition} has changed while its producers were read again.")
