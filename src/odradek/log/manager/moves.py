"""Moving a replica from one log dir to another while it serves.

    create    an empty copy in the target dir, `topic-3.<id>-future`, that begins at the log start offset
    copy      the caller appends to it what it reads from the log, as a follower of it
    swap      when the copy has caught up and is as durable as the log: it takes the name `topic-3`, and the log becomes
              -delete
    cancel    the copy becomes -delete

The swap is two renames in two dirs, which no disk does at once. The order makes every crash harmless: the new name is
durable before the old one goes, so that the partition is there once or twice, never not at all, and the start knows
what to do with two (`starting.py`). The copy serves from the moment of its rename; its next flush waits in the queue of
its jobs behind the sync of that name, so that nothing is called durable that a crash could still hide under -future.

Compaction of the log rests while it is copied.
"""

from typing import TYPE_CHECKING

from odradek.log import names
from odradek.log.failure import LogDirFailure, storage_error
from odradek.log.log import Log
from odradek.log.manager.log_dir import LogDir
from odradek.log.manager.partition_dirs import fsync_dir_job
from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.log.manager.manager import LogManager


async def create_future(manager: "LogManager", topic_partition: TopicPartition, target_dir: str) -> Log:
    current = _existing(manager.current, topic_partition)
    known = manager.futures.get(topic_partition)
    if known is not None:
        if manager.dirs.of_log(known) is manager.dirs.choose(target_dir):
            return known
        await cancel_move(manager, topic_partition)
    future = await manager.get_or_create(
        *topic_partition, manager.topic_id(current), is_future=True, target_dir=target_dir, is_new=True
    )
    manager.cleaner.pause(current)
    if future.log_end_offset < current.log_start_offset:
        await manager.truncate_fully_and_start_at(*topic_partition, current.log_start_offset, is_future=True)
    return future


async def cancel_move(manager: "LogManager", topic_partition: TopicPartition) -> bool:
    if not await manager.delete(*topic_partition, is_future=True):
        return False
    current = manager.current.get(topic_partition)
    if current is not None:
        manager.cleaner.resume(current)
    return True


async def replace_current_with_future(manager: "LogManager", topic_partition: TopicPartition) -> bool:
    return await manager.exclusively(topic_partition, lambda: _replace(manager, topic_partition))


async def _replace(manager: "LogManager", topic_partition: TopicPartition) -> bool:
    current = _existing(manager.current, topic_partition)
    future = _existing(manager.futures, topic_partition)
    # What was durable in the log has to be durable in the copy. A flush takes time, in which the log grows: then the
    # caller comes again, and finds the copy durable enough.
    if future.recovery_point < current.recovery_point or future.has_new_names:
        await manager.flush(future)
    await manager.dirs.until_jobs_ended(future.directory)  # jobs that know its old name
    if future.log_end_offset < current.log_end_offset or future.recovery_point < current.recovery_point:
        return False
    if manager.jobs.is_busy(future.directory) or future.is_closed or current.is_closed:
        return False
    _take_over_offsets(current, future)
    source, target = manager.dirs.of_log(current), manager.dirs.of_log(future)
    _rename(manager, target, future, f"{target.path}/{names.dir_name(*topic_partition)}")
    _swap(manager, topic_partition, current, future)
    await _finish(manager, topic_partition, source, target, current, future)
    return True


def _existing(logs: dict[TopicPartition, Log], topic_partition: TopicPartition) -> Log:
    log = logs.get(topic_partition)
    if log is None:
        raise errors.ReplicaNotAvailable(f"There is no such log of {names.dir_name(*topic_partition)} on this broker.")
    return log


def _take_over_offsets(current: Log, future: Log) -> None:
    future.update_high_watermark(current.high_watermark)
    future.increment_log_start_offset(min(current.log_start_offset, future.high_watermark))


def _rename(manager: "LogManager", log_dir: LogDir, log: Log, directory: str) -> None:
    """On the reactor, as an append in between would be lost: one rename, of a directory."""
    for segment in log.segments:
        segment.files.forget()  # they are known by their paths
    try:
        manager.disk.rename(log.directory, directory)
    except OSError as error:
        found = storage_error(error, "renaming a copy", log.directory)
        if isinstance(found, LogDirFailure):
            manager.dirs.fail(log_dir, found)
        raise found from error
    if (topic_id := manager.topic_ids.pop(log.directory, None)) is not None:
        manager.topic_ids[directory] = topic_id
    log.generation += 1  # jobs that are under way know the old paths
    log.directory = directory
    for segment in log.segments:
        segment.files.directory = directory


def _swap(manager: "LogManager", topic_partition: TopicPartition, current: Log, future: Log) -> None:
    source, target = manager.dirs.of_log(current), manager.dirs.of_log(future)
    manager.cleaner.checkpoints.move(topic_partition, source.path, target.path)
    manager.unregister(topic_partition, current)
    del manager.futures[topic_partition], target.futures[topic_partition]
    manager.register(topic_partition, future, is_future=False)
    if manager.on_replaced is not None:
        manager.on_replaced(topic_partition, future)


async def _finish(
    manager: "LogManager",
    topic_partition: TopicPartition,
    source: LogDir,
    target: LogDir,
    current: Log,
    future: Log,
) -> None:
    """Makes the new name of the copy durable, then lets the old log leave its dir."""
    await manager.dirs.run(target, future.directory, fsync_dir_job(manager.disk, target.path))
    delay_ms = current.config.file_delete_delay_ms
    await manager.removals.rename_out(source, current.directory, topic_partition, names.DELETE_DIR, delay_ms)
