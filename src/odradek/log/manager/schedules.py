"""What the log manager does again and again, on the reactor's timers.

| schedule | interval |
|---|---|
| flush of logs that have waited longer than flush.ms | log.flush.scheduler.interval.ms |
| recovery points | log.flush.offset.checkpoint.interval.ms |
| log start offsets | log.flush.start.offset.checkpoint.interval.ms |
| high watermarks | replica.high.watermark.checkpoint.interval.ms |
| retention, by size, by time and below the log start offset | log.retention.check.interval.ms |
| forgotten producers | producer.id.expiration.check.interval.ms |

A pass looks at all logs, a few milliseconds at a time; what takes the disk is a job. The next pass comes an interval
after the end of the one before, so that a slow disk is never asked faster than it answers.

One thing is done once: soon after a start that had to recover, what was recovered in several segments is made durable.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from odradek.log import names, retention
from odradek.log.dead_files import Deletion
from odradek.log.failure import DiskFull, LogFailure
from odradek.log.log import Log
from odradek.log.manager import mending
from odradek.protocol import errors
from odradek.reactor.pending import Pending
from odradek.reactor.slices import Slices

if TYPE_CHECKING:
    from odradek.log.manager.manager import LogManager

RECOVERED_FLUSH_DELAY_MS = 1000  # the start has the disk to itself until the broker is ready
NEVER_MS = 1 << 53  # an interval of centuries: Kafka's default for flushes, "never"


class Schedules:
    __slots__ = ("_manager", "_tasks")

    def __init__(self, manager: "LogManager") -> None:
        self._manager = manager
        self._tasks: list[Pending[None]] = []

    def start(self) -> None:
        config = self._manager.config
        self._repeat(config.flush_scheduler_interval_ms, self.flush_due)
        self._repeat(config.recovery_point_checkpoint_ms, self.checkpoint_recovery_points)
        self._repeat(config.log_start_checkpoint_ms, self.checkpoint_log_start_offsets)
        self._repeat(config.high_watermark_checkpoint_ms, self.checkpoint_high_watermarks)
        self._repeat(config.retention_check_interval_ms, self.delete_old_segments)
        self._repeat(config.producer_id_expiration_check_ms, self.remove_expired_producers)
        if not all(log_dir.had_clean_shutdown for log_dir in self._manager.dirs.online):
            self._tasks.append(self._manager.loop.spawn(self._flush_recovered()))

    def stop(self) -> None:
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()

    def _repeat(self, interval_ms: int, work: Callable[[], Awaitable[None]]) -> None:
        if interval_ms < NEVER_MS:
            self._tasks.append(self._manager.loop.spawn(self._every(max(1, interval_ms), work)))

    async def _every(self, interval_ms: int, work: Callable[[], Awaitable[None]]) -> None:
        await self._manager.loop.sleep(self._manager.config.initial_task_delay_ms)
        while True:
            await work()
            await self._manager.loop.sleep(interval_ms)

    # Flushing.

    async def flush_due(self) -> None:
        """One after the other: a flush is not urgent, and the disk has others to serve."""
        manager = self._manager
        slices = Slices(manager.loop)
        for log in manager.all_logs():
            waited_ms = manager.now_ms - log.last_flushed_ms
            if log.unflushed_messages and waited_ms >= log.config.flush_ms and not log.is_closed:
                await self._flush(log)
                slices.restart()
            await slices.pause_if_over()

    async def _flush_recovered(self) -> None:
        """So that the next recovery reads one segment of a log, not again all that this one has read.

        It reads the segment with the recovery point in any case: a log whose last segment is that one gains nothing.
        """
        manager = self._manager
        await manager.loop.sleep(RECOVERED_FLUSH_DELAY_MS)
        gaining = [log for log in manager.all_logs() if log.recovery_point < log.active.base_offset]
        for log in gaining:
            if not log.is_closed:
                await self._flush(log)
        if gaining:
            await self.checkpoint_recovery_points()

    async def _flush(self, log: Log) -> None:
        try:
            await self._manager.flush(log)
        except errors.KafkaStorageError:
            return  # the dir is offline and its listeners know, or the disk is full: the next pass tries again

    # Checkpoints.

    async def checkpoint_recovery_points(self) -> None:
        await self._checkpoint(names.RECOVERY_POINTS)

    async def checkpoint_log_start_offsets(self) -> None:
        await self._checkpoint(names.LOG_START_OFFSETS)

    async def checkpoint_high_watermarks(self) -> None:
        await self._checkpoint(names.REPLICATION_OFFSETS)

    async def _checkpoint(self, name: str) -> None:
        for log_dir in self._manager.dirs.online:
            try:
                await self._manager.dirs.save(log_dir, name)
            except errors.KafkaStorageError:
                continue  # as in `_flush`; the old checkpoint is behind, which costs time only

    # Retention.

    async def delete_old_segments(self) -> None:
        slices = Slices(self._manager.loop)
        for log in self._manager.all_logs():
            if not log.is_closed:
                await self._delete_old_segments(log)
            await slices.pause_if_over()

    async def _delete_old_segments(self, log: Log) -> None:
        manager = self._manager
        try:
            await self._prove_times(log)
            if log.is_closed:
                return
            deletion = log.delete_old_segments(manager.now_ms)
        except DiskFull:
            return  # it could not begin a new segment in place of the last old one
        except LogFailure as failure:
            manager.handle_failure(failure)
            return
        if deletion is not None:
            manager.removals.in_background(self._rename(log, deletion))

    async def _prove_times(self, log: Log) -> None:
        while (doubted := retention.next_doubted(log, self._manager.now_ms)) is not None:
            if log.is_closed or not await mending.prove_times(self._manager, log, doubted):
                return  # it has left the log, or its index is being built again

    async def _rename(self, log: Log, deletion: Deletion) -> None:
        manager = self._manager
        await manager.dirs.run(manager.dirs.of_log(log), log.directory, deletion.rename_job(manager.disk))
        manager.removals.unlink_later(log, deletion)

    # Producers.

    async def remove_expired_producers(self) -> None:
        slices = Slices(self._manager.loop)
        now_ms = self._manager.now_ms
        for log in self._manager.all_logs():
            if not log.is_closed:
                log.remove_expired_producers(now_ms)
            await slices.pause_if_over()
