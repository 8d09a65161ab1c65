"""The log dirs as DescribeLogDirs tells them: what lies in each, how large, how far copies are behind."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from odradek.log.log import Log
from odradek.log.manager.log_dir import LogDir
from odradek.reactor.ports import Disk, JobOf

if TYPE_CHECKING:
    from odradek.replica.manager import ReplicaManager

UNKNOWN_BYTES = -1
UNKNOWN_LAG = -1  # Kafka's own value for a replica of which nobody can tell how far it is

Wanted = Mapping[str, frozenset[int]]  # partitions by topic


class ReplicaInDir(NamedTuple):
    topic: str
    partition: int
    size_bytes: int
    offset_lag: int
    is_future: bool


class DirVolume(NamedTuple):
    total_bytes: int
    usable_bytes: int


def replicas_in(replicas: "ReplicaManager", log_dir: LogDir, wanted: Wanted | None) -> list[ReplicaInDir]:
    """`wanted` None is all. A log that is set aside is there too: it takes up its bytes, and has no lag to tell."""
    found = [
        ReplicaInDir(topic, index, aside.size, UNKNOWN_LAG, False)
        for (topic, index), aside in sorted(log_dir.set_aside_logs.items())
        if wanted is None or index in wanted.get(topic, ())
    ]
    for is_future, logs in ((False, log_dir.logs), (True, log_dir.futures)):
        for (topic, index), log in sorted(logs.items()):
            if wanted is None or index in wanted.get(topic, ()):
                found.append(ReplicaInDir(topic, index, log.size, _lag(replicas, topic, index, log), is_future))
    return found


def _lag(replicas: "ReplicaManager", topic: str, index: int, log: Log) -> int:
    """Behind the log it is a copy of; the log itself is behind its own high watermark only on a follower."""
    current = replicas.logs.get(topic, index)
    if current is None:
        return 0
    if log is current:
        return max(0, log.high_watermark - log.log_end_offset)
    return max(0, current.log_end_offset - log.log_end_offset)


def volume_job(disk: Disk, path: str) -> JobOf[DirVolume]:
    """Returns DirVolume."""
    yield 0
    try:
        return DirVolume(disk.total_bytes(path), disk.free_bytes(path))
    except OSError:
        return DirVolume(UNKNOWN_BYTES, UNKNOWN_BYTES)
