"""One log dir: what a broker finds in it when it starts, and what it leaves there when it stops.

    .lock                      held as long as the broker runs; another process that holds it is an error
    meta.properties            whose dir it is: cluster, node and directory id; left to whoever starts the manager
    .kafka_cleanshutdown       there only after a clean stop. It is removed, durably, before anything else changes: a
                               crash from then on must be followed by a recovery
    *-offset-checkpoint        offsets by partition, as of the last time that they were written
    topic-3/ ...               the partitions, with those that are on their way in or out

Opening (`open_job`) changes nothing but the lock, so that a start that is refused leaves every dir as it was.
"""

import posixpath
from typing import NamedTuple

from odradek.log import checkpoint, names
from odradek.log.checkpoint import CorruptCheckpoint
from odradek.log.failure import LogDamaged, LogDirFailure
from odradek.log.log import Log
from odradek.protocol import releases
from odradek.protocol.internal_topics import CLUSTER_METADATA_TOPIC
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Disk, DiskLock, JobOf

CHECKPOINTS = (names.RECOVERY_POINTS, names.LOG_START_OFFSETS, names.REPLICATION_OFFSETS)
NO_BROKER_EPOCH = -1
REMOTE_INDEX_CACHE = "remote-log-index-cache"  # of tiered storage: no partition, whatever its name looks like


class LogDirRefused(Exception):  # noqa: N818 - the broker's answer to what it found
    """The broker must not start on these dirs: an operator has to look first. Nothing has been changed."""


class PartitionDir:
    """`suffix` is "", -delete, -future or -stray."""

    __slots__ = ("name", "suffix", "topic_partition")

    def __init__(self, name: str, topic_partition: TopicPartition, suffix: str) -> None:
        self.name = name
        self.topic_partition = topic_partition
        self.suffix = suffix

    def __repr__(self) -> str:
        return f"PartitionDir({self.name})"


class LookedAt(NamedTuple):
    """What whoever starts the manager knows of a dir. It has the lock, and keeps it when the manager stops."""

    directory_id: bytes | None = None  # as meta.properties has it; older releases have none
    clean_epoch: int | None = None  # `clean_shutdown_epoch`
    failure: OSError | None = None  # why it cannot be used; then it is not locked either


class DirContents:
    __slots__ = (
        "checkpoints",
        "damaged_checkpoints",
        "directory_id",
        "estimated_recovery_points",
        "had_clean_shutdown",
        "lock",
        "partitions",
    )

    def __init__(self, lock: DiskLock | None, directory_id: bytes | None, had_clean_shutdown: bool) -> None:
        self.lock = lock
        self.directory_id = directory_id
        self.had_clean_shutdown = had_clean_shutdown
        self.checkpoints: dict[str, dict[TopicPartition, int]] = {}  # of the files that are there, by name
        self.damaged_checkpoints: dict[str, str] = {}  # by name, and what is wrong with each
        self.estimated_recovery_points: dict[TopicPartition, int] = {}
        self.partitions: list[PartitionDir] = []


class Saving(NamedTuple):
    """A checkpoint that is being written."""

    offsets: dict[TopicPartition, int]
    ended: Pending[None]  # well or not


class SetAsideLog(NamedTuple):
    """A log that is damaged: it is kept from everybody, and its files stay as they are (`set_aside.py`)."""

    topic_partition: TopicPartition
    directory: str
    damage: LogDamaged
    offsets: dict[str, int | None]  # what the checkpoints go on saying of it, by file name
    size: int
    needs_recovery: bool  # its end is not known to be on disk: no clean stop may vouch for it


class LogDir:
    """Its state on the reactor. `failure` is set when it goes offline, and it never comes back."""

    __slots__ = (
        "condemned",
        "creating",
        "damaged_checkpoints",
        "directory_id",
        "estimated_recovery_points",
        "failure",
        "floors",
        "futures",
        "had_clean_shutdown",
        "keys",
        "lock",
        "logs",
        "offline",
        "partitions",
        "path",
        "saving",
        "set_aside_logs",
        "strays",
        "unclosed",
        "written",
    )

    def __init__(self, path: str) -> None:
        self.path = path
        self.lock: DiskLock | None = None
        self.directory_id: bytes | None = None  # that the controller knows it by
        self.had_clean_shutdown = False
        self.partitions: list[PartitionDir] = []  # found and not loaded yet
        self.logs: dict[TopicPartition, Log] = {}
        self.futures: dict[TopicPartition, Log] = {}
        self.set_aside_logs: dict[TopicPartition, SetAsideLog] = {}
        self.offline: frozenset[TopicPartition] = frozenset()  # that went down with it
        self.condemned: dict[str, None] = {}  # directories that end in -delete, in order
        self.creating = 0  # logs whose job is under way: a new one goes where the fewest are or will be
        self.strays: list[str] = []
        self.written: dict[str, dict[TopicPartition, int]] = {}  # what the checkpoints say, by file name
        self.damaged_checkpoints: dict[str, str] = {}  # found at the start, and what is wrong with each
        self.estimated_recovery_points: dict[TopicPartition, int] = {}  # in place of a damaged checkpoint
        self.saving: dict[str, list[Saving]] = {}  # and what they are about to say, oldest first
        # By partition and checkpoint: it may not say more while a truncation is under way.
        self.floors: dict[TopicPartition, dict[str, int]] = {}
        self.failure: LogDirFailure | None = None
        self.keys: set[str] = set()  # of the jobs that work in it
        self.unclosed: str | None = None  # why a stop could not close it cleanly: then it has no marker

    def __repr__(self) -> str:
        return f"LogDir({self.path}, {len(self)} logs{', offline' if self.failure else ''})"

    def __len__(self) -> int:
        return len(self.logs) + len(self.futures)

    @property
    def is_online(self) -> bool:
        return self.failure is None

    def all_logs(self) -> list[tuple[TopicPartition, Log]]:
        return [*self.logs.items(), *self.futures.items()]

    def opened(self, contents: DirContents) -> None:
        self.lock = contents.lock
        self.directory_id = contents.directory_id
        self.had_clean_shutdown = contents.had_clean_shutdown
        self.partitions = contents.partitions
        self.damaged_checkpoints = contents.damaged_checkpoints
        self.estimated_recovery_points = contents.estimated_recovery_points
        self.written = {name: contents.checkpoints[name] for name in CHECKPOINTS if name in contents.checkpoints}

    def checkpointed(self, name: str, topic_partition: TopicPartition) -> int | None:
        found = self.written.get(name, {}).get(topic_partition)
        if found is None and name == names.RECOVERY_POINTS:
            return self.estimated_recovery_points.get(topic_partition)
        return found

    def checkpoint_may_name(self, name: str, topic_partition: TopicPartition) -> bool:
        """Whether it does on disk, now or when a write that is under way has ended."""
        if topic_partition in self.written.get(name, ()):
            return True
        return any(topic_partition in saving.offsets for saving in self.saving.get(name, ()))

    def release_lock(self) -> None:
        lock, self.lock = self.lock, None
        if lock is not None:
            lock.release()


def is_log_dir(disk: Disk, path: str) -> bool:
    """Whether something in it is a log dir's: be it that of a broker which was never stopped, or damaged.

    A directory that is named like a partition's is none unless it has files of a log: many others end in a number.
    """
    known = {*CHECKPOINTS, names.CLEANER_OFFSETS, names.CLEAN_SHUTDOWN, names.META_PROPERTIES}
    return any(name in known or _is_partition(disk, path, name) for name in disk.list(path))


def _is_partition(disk: Disk, path: str, name: str) -> bool:
    directory = f"{path}/{name}"
    if names.parse_dir_name(name) is None or not disk.is_dir(directory):
        return False
    return any(file == names.PARTITION_METADATA or names.split(file) is not None for file in disk.list(directory))


# At the start.


def open_job(disk: Disk, path: str, known: LookedAt | None = None) -> JobOf[DirContents]:
    """Returns DirContents. LogDirRefused stops the start, an OSError takes this dir offline."""
    lock = None
    if known is None:
        make_dir(disk, path)
        lock = lock_dir(disk, path)
    elif known.failure is not None:
        raise known.failure
    try:
        found = LookedAt(clean_epoch=clean_shutdown_epoch(disk, path)) if known is None else known
        contents = DirContents(lock, found.directory_id, found.clean_epoch is not None)
        yield 0
        contents.partitions = _partitions(disk, path)
        _read_checkpoints(disk, path, contents)
    except BaseException:
        if lock is not None:
            lock.release()
        raise
    return contents


def begin_job(disk: Disk, path: str) -> JobOf[None]:
    """From here on only a recovery may follow a crash."""
    disk.unlink(f"{path}/{names.CLEAN_SHUTDOWN}")
    disk.fsync_dir(path)
    yield 0


def make_dir(disk: Disk, path: str) -> None:
    missing = []
    above = path
    while above and not disk.exists(above):
        missing.append(above)
        above = posixpath.dirname(above)
    if missing:
        disk.mkdir(path)
    for made in reversed(missing):
        disk.fsync_dir(posixpath.dirname(made) or ".")


def lock_dir(disk: Disk, path: str) -> DiskLock:
    """LogDirRefused if another process has it."""
    try:
        return disk.lock(f"{path}/{names.LOCK}")
    except BlockingIOError as error:
        raise LogDirRefused(
            f"The log dir {path} is in use: {error.strerror} ({path}/{names.LOCK}). "
            "Stop the other broker, or give this one a dir of its own: --data, or log.dirs."
        ) from error


def _read_checkpoints(disk: Disk, path: str, contents: DirContents) -> None:
    """One that is damaged is replaced by what the logs themselves tell, and is written anew.

    Without the other three a log begins at its first segment, is committed as far as its replicas say, and is compacted
    from its beginning: nothing is lost by that. Recovery points are another matter: below them nothing may be cut.
    """
    for name in (*CHECKPOINTS, names.CLEANER_OFFSETS):
        if disk.exists(f"{path}/{name}"):
            try:
                contents.checkpoints[name] = checkpoint.read_offsets(disk, f"{path}/{name}")
            except CorruptCheckpoint as error:
                contents.damaged_checkpoints[name] = str(error)
    if names.RECOVERY_POINTS in contents.damaged_checkpoints and not contents.had_clean_shutdown:
        contents.estimated_recovery_points = _estimated_recovery_points(disk, path, contents.partitions)


def _estimated_recovery_points(disk: Disk, path: str, partitions: list[PartitionDir]) -> dict[TopicPartition, int]:
    """The beginning of each last segment: the others were flushed when they were full.

    If that is too much, because the crash came in the middle of such a flush, the partition is set aside and can be
    repaired. If it were too little, what was acknowledged could be cut without a word.
    """
    found: dict[TopicPartition, int] = {}
    for partition in partitions:
        parts = [names.split(name) for name in disk.list(f"{path}/{partition.name}")]
        bases = [each[0] for each in parts if each is not None and each[1:] == (names.LOG, "")]
        if bases and not partition.suffix:
            found[partition.topic_partition] = max(bases)
    return found


_OF_A_FILE_SYSTEM = "lost+found"


def _partitions(disk: Disk, path: str) -> list[PartitionDir]:
    found: list[PartitionDir] = []
    foreign: list[str] = []
    topics: dict[str, str] = {}  # one string per topic, however many partitions it has
    for name in disk.list(path):
        if name == REMOTE_INDEX_CACHE or not disk.is_dir(f"{path}/{name}"):
            continue
        parsed = names.parse_dir_name(name)
        if parsed is None:
            foreign.append(name)
        elif parsed[0] != CLUSTER_METADATA_TOPIC:  # the quorum's log is not the manager's
            topic = topics.setdefault(parsed[0], parsed[0])
            found.append(PartitionDir(name, TopicPartition(topic, parsed[1]), parsed[2]))
    if foreign == [_OF_A_FILE_SYSTEM]:
        raise LogDirRefused(
            f"The log dir {path} is the root of a file system, which keeps {_OF_A_FILE_SYSTEM} there: give a directory "
            f"below it, such as {path}/data."
        )
    if foreign:
        raise LogDirRefused(
            f"The log dir {path} holds directories that are no partitions: {', '.join(foreign)}. Expected names like "
            "topic-0 or topic-0.<id>-delete; move everything else out of it."
        )
    return found


def clean_shutdown_epoch(disk: Disk, path: str) -> int | None:
    """The broker epoch that a clean stop wrote down; None after any other end.

    Up to 3.x the file is empty. One that does not parse still tells of a clean stop, of no epoch.
    """
    marker = f"{path}/{names.CLEAN_SHUTDOWN}"
    if not disk.exists(marker):
        return None
    import json  # for this one file: not worth its time when the package is imported

    try:
        return int(json.loads(disk.read(marker))["brokerEpoch"])
    except (ValueError, TypeError, KeyError):
        return NO_BROKER_EPOCH


# At the stop.


def clean_shutdown_marker(release: str, broker_epoch: int) -> bytes:
    if not releases.by_name(release).behaviour.writes_broker_epoch_at_stop:
        return b""
    return f'{{"version":0,"brokerEpoch":{broker_epoch}}}'.encode()


def mark_clean_job(disk: Disk, path: str, marker: bytes) -> JobOf[None]:
    """The last thing that is written: everything that it vouches for is durable already."""
    disk.write_atomically(f"{path}/{names.CLEAN_SHUTDOWN}", marker)
    yield 0
