"""Loading all log dirs at once: jobs that read, slices that apply.

Each dir has `num.recovery.threads.per.data.dir` workers. A worker hands a handful of partitions to a job and builds the
logs from what comes back, in slices, so that the reactor goes on serving. After a clean stop a log costs a fraction of
a millisecond, so a job takes many; a log that has to be recovered has a job to itself.

A log that is damaged is handed to `on_damaged`, and the others go on; a disk that fails takes its dir offline.
"""

from collections import deque
from collections.abc import Callable

from odradek.log import names
from odradek.log.config import LogConfig
from odradek.log.loading.loaded import Recovered
from odradek.log.log import Log
from odradek.log.manager.log_dir import CHECKPOINTS, LogDir, PartitionDir, SetAsideLog
from odradek.log.manager.log_dirs import LogDirs
from odradek.log.manager.partition_dirs import (
    DamagedPartition,
    LoadedPartition,
    PartitionToLoad,
    count_segments_job,
    load_partitions_job,
)
from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Cancelled, JobOf
from odradek.reactor.slices import Slices
from odradek.reactor.timers import Timer

PARTITIONS_PER_JOB = 32
PROGRESS_MS = 2000


class LoadProgress:
    """`recovering` has (bytes read, bytes to read) of the logs that are being recovered, by directory.

    `recovered` are those that were, `reindexed` the segments whose indexes had to be built again.

    `is_over` when nothing more will be loaded: all of it is, or the dir has failed, or the broker stops.
    """

    __slots__ = ("is_over", "path", "recovered", "recovering", "reindexed", "remaining_logs", "remaining_segments")

    def __init__(self, path: str) -> None:
        self.path = path
        self.is_over = False
        self.remaining_logs = 0
        self.remaining_segments = 0
        self.recovering: dict[str, tuple[int, int]] = {}
        self.recovered: list[Recovered] = []
        self.reindexed: list[str] = []

    def __repr__(self) -> str:
        return f"LoadProgress({self.path}, {self.remaining_logs} logs, {self.remaining_segments} segments left)"


OnProgress = Callable[[LoadProgress], None]
# Takes topic, partition and the id in the partition's directory; True if this broker has no such replica any more.
IsStray = Callable[[str, int, bytes | None], bool]


class DirLoading:
    """Loads one dir. `build` makes a Log of what a job has read."""

    __slots__ = (
        "_build",
        "_dirs",
        "_expiration_ms",
        "_is_stray",
        "_log_dir",
        "_loop",
        "_on_damaged",
        "_on_progress",
        "_progress",
        "_segments",
        "_timer",
        "_waiting",
        "strays",
    )

    def __init__(
        self,
        loop: Loop,
        dirs: LogDirs,
        log_dir: LogDir,
        build: Callable[[LoadedPartition], Log],
        on_damaged: Callable[[LogDir, SetAsideLog], None],
        expiration_ms: int,
        on_progress: OnProgress | None,
        is_stray: IsStray | None,
    ) -> None:
        self._loop = loop
        self._dirs = dirs
        self._log_dir = log_dir
        self._build = build
        self._on_damaged = on_damaged
        self._expiration_ms = expiration_ms
        self._on_progress = on_progress
        self._is_stray = is_stray
        self.strays: list[PartitionToLoad] = []  # found among the partitions; their directories are still to be renamed
        self._progress = LoadProgress(log_dir.path)
        self._segments: dict[str, int] = {}  # to recover, by directory
        self._waiting: deque[PartitionToLoad] = deque()
        self._timer: Timer | None = None

    async def load(self, config_of: Callable[[str], LogConfig], workers: int) -> None:
        self._sort_out(config_of)
        self._progress.remaining_logs = len(self._waiting)
        try:
            await self._count_segments()
            self._tell()
            tasks: list[Pending[None]] = [self._loop.spawn(self._work(number)) for number in range(workers)]
            for task in tasks:
                await task
        except (errors.KafkaStorageError, Cancelled):
            self._waiting.clear()  # the dir is offline by now, or the broker stops
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self._progress.is_over = True
        self._tell_now()

    def _sort_out(self, config_of: Callable[[str], LogConfig]) -> None:
        log_dir = self._log_dir
        for partition in log_dir.partitions:
            if partition.suffix == names.DELETE_DIR:
                log_dir.condemned[f"{log_dir.path}/{partition.name}"] = None
            elif partition.suffix == names.STRAY_DIR:
                log_dir.strays.append(f"{log_dir.path}/{partition.name}")
            else:
                self._waiting.append(to_load(log_dir, partition, config_of))
        log_dir.partitions = []

    async def _count_segments(self) -> None:
        if self._log_dir.had_clean_shutdown or not self._waiting:
            return
        job = count_segments_job(self._loop.ports.disk, list(self._waiting))
        self._segments = await self._dirs.run(self._log_dir, self._log_dir.path, job)
        self._progress.remaining_segments = sum(self._segments.values())

    def give_up(self) -> None:
        """The broker stops: what is being recovered ends at the next yield, and is recovered again another time."""
        self._waiting.clear()
        for key in sorted(self._log_dir.keys):
            self._dirs.jobs.cancel(key)

    async def _work(self, number: int) -> None:
        slices = Slices(self._loop)
        while self._waiting:
            some = self._take()
            try:
                found = await self._dirs.run(self._log_dir, f"{self._log_dir.path} {number}", self._job(some))
            except (errors.KafkaStorageError, Cancelled):
                self._waiting.clear()
                return
            slices.restart()
            for loaded in found:
                if self._log_dir.is_online:
                    self._apply(loaded)
                await slices.pause_if_over()

    def _take(self) -> list[PartitionToLoad]:
        count = PARTITIONS_PER_JOB if self._log_dir.had_clean_shutdown else 1
        return [self._waiting.popleft() for _ in range(min(count, len(self._waiting)))]

    def _job(self, some: list[PartitionToLoad]) -> JobOf[list[LoadedPartition | DamagedPartition]]:
        return load_partitions_job(
            self._loop.ports.disk,
            some,
            had_clean_shutdown=self._log_dir.had_clean_shutdown,
            now_ms=self._loop.ports.clock.wall_ms(),
            expiration_ms=self._expiration_ms,
            progress=self._note_bytes,
        )

    def _note_bytes(self, directory: str, done: int, total: int) -> None:
        """Called in the job: one entry of a dict is all that it shares with the reactor."""
        self._progress.recovering[directory] = (done, total)

    def _apply(self, loaded: LoadedPartition | DamagedPartition) -> None:
        to_load = loaded.to_load
        if self._is_stray is not None and self._is_stray(*to_load.topic_partition, loaded.topic_id):
            self.strays.append(to_load)
        elif isinstance(loaded, DamagedPartition):
            self._set_aside(loaded)
        else:
            self._take_in(loaded)
        self._progress.remaining_logs -= 1
        self._progress.remaining_segments -= self._segments.pop(to_load.directory, 0)
        self._progress.recovering.pop(to_load.directory, None)

    def _take_in(self, loaded: LoadedPartition) -> None:
        topic_partition = loaded.to_load.topic_partition
        self._progress.reindexed += loaded.log.reindexed
        if loaded.log.recovered is not None:
            self._progress.recovered.append(loaded.log.recovered)
        log = self._build(loaded)
        is_future = log.directory.endswith(names.FUTURE_DIR)
        logs = self._log_dir.futures if is_future else self._log_dir.logs
        logs[topic_partition] = log
        high_watermark = self._log_dir.checkpointed(names.REPLICATION_OFFSETS, topic_partition)
        if high_watermark is not None:
            log.update_high_watermark(high_watermark)

    def _set_aside(self, damaged: DamagedPartition) -> None:
        log_dir, to_load = self._log_dir, damaged.to_load
        offsets = {name: log_dir.checkpointed(name, to_load.topic_partition) for name in CHECKPOINTS}
        needs_recovery = not log_dir.had_clean_shutdown
        found = SetAsideLog(
            to_load.topic_partition, to_load.directory, damaged.damage, offsets, damaged.size, needs_recovery
        )
        self._on_damaged(log_dir, found)

    def _tell(self) -> None:
        """At once, and from now on every now and then."""
        if self._on_progress is not None:
            self._on_progress(self._progress)
            self._timer = self._loop.after(PROGRESS_MS, self._tell)

    def _tell_now(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self._progress)


def to_load(log_dir: LogDir, partition: PartitionDir, config_of: Callable[[str], LogConfig]) -> PartitionToLoad:
    topic_partition: TopicPartition = partition.topic_partition
    return PartitionToLoad(
        f"{log_dir.path}/{partition.name}",
        topic_partition,
        config_of(topic_partition[0]),
        log_dir.checkpointed(names.RECOVERY_POINTS, topic_partition) or 0,
        log_dir.checkpointed(names.LOG_START_OFFSETS, topic_partition) or 0,
    )
