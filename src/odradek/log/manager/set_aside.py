"""One damaged log is set aside: its clients get KAFKA_STORAGE_ERROR, every other log of the dir is served.

Damage is found when a log is loaded or recovered, by the first read of a range, by a search or by compaction. Its
files stay as they are, byte for byte, for `odradek log repair` or an operator. What has to be remembered:

**Its checkpoints say what they said**, the cleaner's too. They go on being written for the others; were the entry of a
log that is set aside left out, or were it that of a log that could not be read to its end, the next recovery would
begin at 0 and cut at the damage what was once acknowledged.

**A recovery that did not come to its end is done again.** After a clean stop the next start reads no log, so the marker
of a clean stop would vouch for one whose tail nobody has looked at since the crash. Then the dir gets no marker: every
log in it is recovered again, which takes time and is always right, for Apache Kafka too if it opens the dir next; a
note of our own beside the log would say nothing to it. A log whose damage was found while it served, and of which
everything was on disk by then, keeps nobody from a clean stop: the next start trusts its end, and the first read that
comes upon the damage sets it aside again (`soundness.py`), so that nothing is ever served around it.

A damaged copy that was on its way to another dir is no partition's log: it leaves the dir, and the move is asked for
again. Should the log itself be in no dir that is online, the copy is kept, as a stray.

In a cluster a replica that is set aside is one that its leader still has. `LogDirs.listen_to_damage` tells the replica
layer which log it is and what happened to it, `LogManager.delete` takes it away with its checkpoints, and
`get_or_create` makes an empty one in its place: a fetcher needs no more than that to drop it and fetch it again.
"""

from typing import TYPE_CHECKING

from odradek.broken_rule import present
from odradek.log import names
from odradek.log.failure import LogDamaged
from odradek.log.manager.log_dir import CHECKPOINTS, LogDir, SetAsideLog
from odradek.log.manager.log_dirs import checkpoint_offset
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.log.log import Log
    from odradek.log.manager.manager import LogManager


def set_aside(manager: "LogManager", damage: LogDamaged) -> None:
    """Takes out a log that serves, unless the damage is in what has left the dir already, or was found before."""
    log_dir = present(manager.dirs.holding(damage.path), "a damaged file lies in one of the log dirs")
    name = damage.path.removeprefix(f"{log_dir.path}/").partition("/")[0]
    parsed = names.parse_dir_name(name)
    topic_partition = TopicPartition("", -1) if parsed is None else TopicPartition(*parsed[:2])
    for logs in (log_dir.logs, log_dir.futures):
        log = logs.get(topic_partition)
        if log is not None and log.directory == f"{log_dir.path}/{name}":
            take_out(manager, log_dir, topic_partition, log, damage)


def take_out(
    manager: "LogManager", log_dir: LogDir, topic_partition: TopicPartition, log: "Log", damage: LogDamaged
) -> None:
    """Takes a log out of service and sets it aside.

    The damage may be in another log of the same partition, which a start has found in another dir: until that one is
    repaired, nobody can tell which of the two is longer.
    """
    offsets = {name: checkpoint_offset(log_dir, name, topic_partition, log) for name in CHECKPOINTS}
    needs_recovery = not is_all_on_disk(log)
    found = SetAsideLog(topic_partition, log.directory, damage, offsets, log.size, needs_recovery)
    cleaned_to = manager.cleaner.checkpoints.get(log_dir.path, topic_partition)
    manager.unregister(topic_partition, log)
    if cleaned_to is not None:
        manager.cleaner.checkpoints.set(log_dir.path, topic_partition, cleaned_to)  # it explains the gaps
    remember(manager, log_dir, found)


def is_all_on_disk(log: "Log") -> bool:
    """Whether the files hold all that a clean stop would have left in them: the log to its end, and its producers."""
    is_flushed = log.recovery_point == log.log_end_offset and not log.has_new_names
    return is_flushed and (bool(log.snapshots) or not log.producers.entries)


def remember(manager: "LogManager", log_dir: LogDir, found: SetAsideLog) -> None:
    """Notes a damaged log that is out of service, and tells of it. A damaged copy leaves its dir instead."""
    if found.directory.endswith(names.FUTURE_DIR):
        manager.removals.in_background(_drop_copy(manager, log_dir, found))
        return
    is_news = manager.dirs.find_set_aside(found.topic_partition) is None
    log_dir.set_aside_logs[found.topic_partition] = found
    if is_news:
        manager.dirs.tell_damage(log_dir, found)


def forget(manager: "LogManager", topic_partition: TopicPartition) -> list[tuple[LogDir, str]]:
    """The partition is being deleted: the dirs and directories that it leaves."""
    left = []
    for log_dir in manager.dirs.online:
        found = log_dir.set_aside_logs.pop(topic_partition, None)
        if found is not None:
            manager.cleaner.checkpoints.forget(log_dir.path, topic_partition)
            left.append((log_dir, found.directory))
    return left


async def _drop_copy(manager: "LogManager", log_dir: LogDir, found: SetAsideLog) -> None:
    """Deletes a copy if the log that it was made from is there; else keeps it as a stray."""
    await present(
        manager.start_ended, "a copy is dropped by a manager that was started"
    )  # until then nobody knows which logs there are
    await manager.loop.sleep(0)
    if not manager.is_started:
        return
    is_needless = found.topic_partition in manager.current
    suffix = names.DELETE_DIR if is_needless else names.STRAY_DIR
    await manager.removals.rename_out(log_dir, found.directory, found.topic_partition, suffix, 0)
