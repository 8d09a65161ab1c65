"""The directory of a partition as a whole: made, loaded, renamed on its way out or as a stray, removed. All of it in
jobs; what loading does inside of it is `log/loading/load.py`.

A directory that is deleted first gets a name that ends in -delete, durably. From then on no start takes it for a log,
and its files can go one by one, now or after a restart.
"""

from collections.abc import Iterable

from odradek.log import checkpoint, names
from odradek.log.checkpoint import CorruptCheckpoint
from odradek.log.config import LogConfig
from odradek.log.dead_files import unlink_if_there
from odradek.log.failure import LogDamaged
from odradek.log.loading.load import load_log
from odradek.log.loading.loaded import LoadedLog
from odradek.log.loading.recovery import Progress
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import format_uuid, parse_uuid
from odradek.reactor.atomic_write import write_atomically
from odradek.reactor.ports import Disk, JobOf


class PartitionToLoad:
    """Plain values of one partition, for a job."""

    __slots__ = ("config", "directory", "log_start_offset", "recovery_point", "topic_partition")

    def __init__(
        self,
        directory: str,
        topic_partition: TopicPartition,
        config: LogConfig,
        recovery_point: int = 0,
        log_start_offset: int = 0,
    ) -> None:
        self.directory = directory
        self.topic_partition = topic_partition
        self.config = config
        self.recovery_point = recovery_point
        self.log_start_offset = log_start_offset

    def load_job(
        self, disk: Disk, *, had_clean_shutdown: bool, now_ms: int, expiration_ms: int, progress: Progress | None = None
    ) -> JobOf[LoadedLog]:
        return load_log(
            disk,
            self.directory,
            names.dir_name(*self.topic_partition),
            self.config,
            had_clean_shutdown=had_clean_shutdown,
            recovery_point=self.recovery_point,
            log_start_offset=self.log_start_offset,
            now_ms=now_ms,
            producer_id_expiration_ms=expiration_ms,
            progress=progress,
        )


class LoadedPartition:
    """`topic_id` is None where an older release has made the directory."""

    __slots__ = ("log", "to_load", "topic_id")

    def __init__(self, to_load: PartitionToLoad, log: LoadedLog, topic_id: bytes | None) -> None:
        self.to_load = to_load
        self.log = log
        self.topic_id = topic_id


class DamagedPartition:
    """One that cannot be loaded. `topic_id` is None where it is not known."""

    __slots__ = ("damage", "size", "to_load", "topic_id")

    def __init__(self, to_load: PartitionToLoad, damage: LogDamaged, topic_id: bytes | None, size: int) -> None:
        self.to_load = to_load
        self.damage = damage
        self.topic_id = topic_id
        self.size = size


def create_job(
    disk: Disk, to_load: PartitionToLoad, topic_id: bytes | None, log_dir: str, now_ms: int, expiration_ms: int
) -> JobOf[LoadedLog]:
    """Returns the LoadedLog of an empty partition whose directory is durable: what is synced in it later will stay."""
    disk.mkdir(to_load.directory)
    if topic_id is not None:  # its name becomes durable with those of the first segment
        write_topic_id(disk, to_load.directory, topic_id, syncs_name=False)
    yield 0
    # As after a crash, though there should be nothing to load: an earlier attempt may have ended in one and left files.
    loaded = yield from to_load.load_job(disk, had_clean_shutdown=False, now_ms=now_ms, expiration_ms=expiration_ms)
    disk.fsync_dir(log_dir)
    return loaded


def write_topic_id(disk: Disk, directory: str, topic_id: bytes, *, syncs_name: bool = True) -> None:
    data = checkpoint.format_partition_metadata(format_uuid(topic_id))
    write_atomically(disk, f"{directory}/{names.PARTITION_METADATA}", data, syncs_name=syncs_name)


def write_topic_id_job(disk: Disk, directory: str, topic_id: bytes) -> JobOf[None]:
    write_topic_id(disk, directory, topic_id)
    yield 0


def read_topic_id(disk: Disk, directory: str) -> bytes | None:
    path = f"{directory}/{names.PARTITION_METADATA}"
    try:
        return parse_uuid(checkpoint.parse_partition_metadata(disk.read(path)))
    except FileNotFoundError:
        return None
    except (CorruptCheckpoint, ValueError) as error:
        raise LogDamaged(f"the topic id cannot be read: {error}", path) from error


def load_partitions_job(
    disk: Disk,
    partitions: list[PartitionToLoad],
    *,
    had_clean_shutdown: bool,
    now_ms: int,
    expiration_ms: int,
    progress: Progress | None,
) -> JobOf[list[LoadedPartition | DamagedPartition]]:
    """Returns a LoadedPartition for each, or a DamagedPartition."""
    found: list[LoadedPartition | DamagedPartition] = []
    for to_load in partitions:
        topic_id = None
        try:
            topic_id = read_topic_id(disk, to_load.directory)
            loaded = yield from to_load.load_job(
                disk,
                had_clean_shutdown=had_clean_shutdown,
                now_ms=now_ms,
                expiration_ms=expiration_ms,
                progress=progress,
            )
            found.append(LoadedPartition(to_load, loaded, topic_id))
        except LogDamaged as damage:
            found.append(DamagedPartition(to_load, damage, topic_id, _log_bytes(disk, to_load.directory)))
        yield 0
    return found


def _log_bytes(disk: Disk, directory: str) -> int:
    try:
        return sum(disk.size(f"{directory}/{name}") for name in disk.list(directory) if name.endswith(names.LOG))
    except OSError:
        return 0  # it is damaged as it is, and this is only shown


def rename_job(disk: Disk, renames: Iterable[tuple[str, str]], log_dir: str) -> JobOf[None]:
    """To names that end in -delete or -stray. One that is gone already was renamed before."""
    for old, new in renames:
        try:
            disk.rename(old, new)
        except FileNotFoundError:
            if disk.exists(old):
                raise
        yield 0
    disk.fsync_dir(log_dir)


def remove_job(disk: Disk, directories: Iterable[str], log_dir: str) -> JobOf[None]:
    for directory in directories:
        for name in _listed(disk, directory):
            unlink_if_there(disk, f"{directory}/{name}")
            yield 0
        try:
            disk.rmdir(directory)
        except FileNotFoundError:
            continue
    disk.fsync_dir(log_dir)


def _listed(disk: Disk, directory: str) -> list[str]:
    try:
        return disk.list(directory)
    except FileNotFoundError:
        return []


def fsync_dir_job(disk: Disk, directory: str) -> JobOf[None]:
    """What goes wrong is for `LogDirs.run` to judge: a full disk is no failure of the dir here."""
    disk.fsync_dir(directory)
    yield 0


def count_unflushed_segments(disk: Disk, partition: PartitionToLoad) -> int:
    """How many a recovery will read: from the one with the recovery point on."""
    bases = sorted(
        parts[0]
        for name in disk.list(partition.directory)
        if (parts := names.split(name)) is not None and parts[1:] == (names.LOG, "")
    )
    below = sum(base <= partition.recovery_point for base in bases)
    return len(bases) - max(0, below - 1)


def count_segments_job(disk: Disk, partitions: list[PartitionToLoad]) -> JobOf[dict[str, int]]:
    """Returns the number of segments to recover by directory."""
    counts = {}
    for partition in partitions:
        counts[partition.directory] = count_unflushed_segments(disk, partition)
        yield 0
    return counts
