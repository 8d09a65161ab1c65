"""What the log manager does when a read has come upon something: bytes to be read ahead, an index to be built again."""

from typing import TYPE_CHECKING

from odradek.log import names, read
from odradek.log.failure import LogFailure, NotInCache
from odradek.log.log import Log
from odradek.log.segment.segment import Segment
from odradek.log.soundness import reindex as indexes
from odradek.log.soundness import time_search
from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.log.manager.manager import LogManager


def _why_closed(manager: "LogManager", log: Log) -> errors.KafkaStorageError:
    """If somebody else has found damage in it meanwhile, the damage; what it has left otherwise, nobody has to know."""
    parsed = names.parse_dir_name(log.topic_partition)
    aside = None if parsed is None else manager.dirs.find_set_aside(TopicPartition(*parsed[:2]))
    closed = f"The log of {log.topic_partition} was closed while it was read."
    return errors.KafkaStorageError(closed) if aside is None else aside.damage


async def read_ahead(manager: "LogManager", log: Log, cold: NotInCache) -> None:
    """The file was acquired by the caller, and is released here."""
    log_dir = manager.dirs.of_log(log)
    job = read.read_ahead(cold)
    try:
        checked = await manager.dirs.run(log_dir, f"{log.directory} reads", job)
    finally:
        cold.file.release()
    if log.is_closed:  # else whoever reads would try again for ever: nobody is told any more what was found
        raise _why_closed(manager, log)
    try:
        log.note_checked(checked)
    except LogFailure as failure:
        manager.handle_failure(failure)
        raise


async def prove_times(manager: "LogManager", log: Log, segment: Segment) -> bool:
    """Whether its largest timestamp is that of its batches afterwards. LogDamaged if they are damaged."""
    log_dir, generation = manager.dirs.of_log(log), log.generation
    target = next(each for each in time_search.targets(log, 0, 0) if each.base_offset == segment.base_offset)
    job = time_search.largest_timestamp_job(manager.disk, target)
    found = await manager.dirs.run(log_dir, f"{log.directory} reads", job)
    if found is not None:
        log.note_times(generation, [found])
    return not segment.has_doubted_times


async def reindex(manager: "LogManager", directory: str, base_offset: int) -> None:
    await manager.loop.sleep(0)  # whoever came upon the index goes on first
    log = next((log for log in manager.all_logs() if log.directory == directory), None)
    segment = None if log is None or log.is_closed else log.segments.get(base_offset)
    if log is None or segment is None or (planned := indexes.plan(log, segment, manager.now_ms)) is None:
        return
    log_dir = manager.dirs.of_log(log)
    scan = await manager.dirs.run(log_dir, log.directory, indexes.reindex_job(manager.disk, planned))
    try:
        is_installed = indexes.install(log, planned, scan)
    except LogFailure as failure:
        manager.handle_failure(failure)
        return
    if is_installed and manager.on_reindexed is not None:
        manager.on_reindexed(names.log_path(directory, base_offset))
