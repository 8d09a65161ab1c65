"""Partitions whose directory is gone, although the checkpoint of the recovery points tells of records in it.

A directory only leaves a log dir under a name that ends in -delete or -stray, or for another dir, and before what is
deleted is removed, the checkpoints are written without it (`removals.py`). So an entry without any directory is one
that somebody else has taken away, after a crash too. Whether it is missed, the metadata tells: the topic may have been
deleted since. Made again, it would be an empty log, and nobody would hear of what was lost.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from odradek.log import names
from odradek.log.failure import LogDamaged
from odradek.log.manager import set_aside
from odradek.log.manager.dir_loading import IsStray
from odradek.log.manager.log_dir import CHECKPOINTS, LogDir, SetAsideLog
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.log.manager.manager import LogManager

Offsets = Mapping[TopicPartition, int]


def without_directory(recovery_points: Offsets, log_starts: Offsets, listing: Iterable[str]) -> list[TopicPartition]:
    """Returns the partitions that had records and have no directory, under whatever suffix."""
    parsed = {name: found for name in listing if (found := names.parse_dir_name(name)) is not None}
    known = {found[:2] for found in parsed.values()}
    cut = [found for name, found in parsed.items() if found[2] and len(name) == names.DIR_NAME_MAX]
    return [
        key
        for key, offset in recovery_points.items()
        if offset > log_starts.get(key, 0)
        and key not in known
        and not any(key[1] == partition and key[0].startswith(topic) for topic, partition, _ in cut)
    ]


def reason(log_start_offset: int, recovery_point: int) -> str:
    return f"the directory is gone: the log ends at offset {log_start_offset}, it was on disk up to {recovery_point}"


def missed_in(log_dir: LogDir) -> list[TopicPartition]:
    """Returns the partitions of a dir that have lost their directory. Asked before anything is loaded."""
    recovery_points = log_dir.written.get(names.RECOVERY_POINTS, {})
    log_starts = log_dir.written.get(names.LOG_START_OFFSETS, {})
    return without_directory(recovery_points, log_starts, (partition.name for partition in log_dir.partitions))


def set_lost_aside(
    manager: "LogManager", log_dir: LogDir, missed: Iterable[TopicPartition], is_stray: IsStray | None
) -> None:
    """Sets those aside that are in no other dir either. Asked when all logs are known."""
    for topic_partition in missed:
        is_elsewhere = topic_partition in manager.current or manager.dirs.find_set_aside(topic_partition) is not None
        if not is_elsewhere and (is_stray is None or not is_stray(*topic_partition, None)):
            set_aside.remember(manager, log_dir, _lost(log_dir, topic_partition))


def _lost(log_dir: LogDir, topic_partition: TopicPartition) -> SetAsideLog:
    offsets = {name: log_dir.checkpointed(name, topic_partition) for name in CHECKPOINTS}
    directory = f"{log_dir.path}/{names.dir_name(*topic_partition)}"
    told = reason(offsets[names.LOG_START_OFFSETS] or 0, offsets[names.RECOVERY_POINTS] or 0)
    # Nothing is left to be recovered: it keeps nobody from a clean stop.
    return SetAsideLog(topic_partition, directory, LogDamaged(told, directory), offsets, 0, needs_recovery=False)
