"""The log dirs of a broker together: work in one of them, its failure, its checkpoints, the choice for a new partition.

A dir fails as a whole and for good: at the first error of its disk its logs go offline, nothing is written to it any
more, and the others go on. What a full disk refuses is no failure: nothing was written, the old state stands. Damage to
one log is none either: that log is set aside (`set_aside.py`).

A checkpoint may say less than the truth, never more: a recovery point past the end of a log would read as lost records,
a log start offset past its end would drop them all. So whoever lowers an offset (a truncation) or uses a name again (a
partition that is created after one of the same name was deleted) writes the lower one, or the gap, first.
"""

from collections.abc import Callable, Sequence

from odradek.broken_rule import instance
from odradek.log import checkpoint, names
from odradek.log.failure import LogDamaged, LogDirFailure, LogFailure, storage_error
from odradek.log.log import Log
from odradek.log.manager.log_dir import CHECKPOINTS, LogDir, LogDirRefused, Saving, SetAsideLog
from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.jobs import JobQueue
from odradek.reactor.loop import Loop
from odradek.reactor.ports import Cancelled, Disk, JobOf, R

# Takes the dir, and whether it was the last one online.
OnDirFailure = Callable[[LogDir, bool], None]
OnDamage = Callable[[LogDir, SetAsideLog], None]


class LogDirs:
    __slots__ = (
        "_damage_listeners",
        "_disk",
        "_drop_logs",
        "_full_listeners",
        "_listeners",
        "_loop",
        "_set_aside",
        "by_path",
        "cordoned",
        "jobs",
    )

    def __init__(
        self,
        loop: Loop,
        jobs: JobQueue,
        paths: Sequence[str],
        drop_logs: Callable[[LogDir], None],
        set_aside: Callable[[LogDamaged], None],
    ) -> None:
        """`drop_logs` takes the logs of a dir that has failed out of service, before the listeners are told.

        `set_aside` does so with one that is damaged.
        """
        clean = [path.rstrip("/") or "/" for path in paths]
        twice = sorted({path for path in clean if clean.count(path) > 1})
        if twice or not clean:
            raise LogDirRefused(f"log.dirs names {', '.join(twice)} twice" if twice else "there is no log dir")
        self._loop = loop
        self._disk: Disk = loop.ports.disk
        self._drop_logs = drop_logs
        self._set_aside = set_aside
        self._damage_listeners: list[OnDamage] = []
        self._listeners: list[OnDirFailure] = []
        self._full_listeners: list[Callable[[LogDir], None]] = []
        self.jobs = jobs
        self.by_path = {path: LogDir(path) for path in clean}
        self.cordoned: frozenset[str] = frozenset()  # these get no new partitions

    def __repr__(self) -> str:
        return f"LogDirs({list(self.by_path.values())})"

    @property
    def online(self) -> list[LogDir]:
        return [log_dir for log_dir in self.by_path.values() if log_dir.is_online]

    @property
    def offline(self) -> list[LogDir]:
        return [log_dir for log_dir in self.by_path.values() if not log_dir.is_online]

    def listen(self, listener: OnDirFailure) -> None:
        self._listeners.append(listener)

    def listen_when_full(self, listener: Callable[[LogDir], None]) -> None:
        self._full_listeners.append(listener)

    def listen_to_damage(self, listener: OnDamage) -> None:
        self._damage_listeners.append(listener)

    def tell_damage(self, log_dir: LogDir, found: SetAsideLog) -> None:
        for listener in list(self._damage_listeners):
            listener(log_dir, found)

    def full(self, path: str) -> None:
        """A disk has refused to take more: no failure, but an operator must hear of it."""
        log_dir = self.holding(path)
        if log_dir is not None:
            for listener in self._full_listeners:
                listener(log_dir)

    def of_log(self, log: Log) -> LogDir:
        return self.by_path[log.directory.rpartition("/")[0]]

    def holding(self, path: str) -> LogDir | None:
        """The dir that a file or directory lies in; of nested ones the innermost."""
        found = [each for each in self.by_path.values() if f"{path}/".startswith(f"{each.path}/")]
        return max(found, key=lambda log_dir: len(log_dir.path), default=None)

    # Failure.

    def find_set_aside(self, topic_partition: TopicPartition) -> SetAsideLog | None:
        for log_dir in self.online:
            found = log_dir.set_aside_logs.get(topic_partition)
            if found is not None:
                return found
        return None

    def handle(self, log_dir: LogDir, failure: LogFailure) -> None:
        """A disk that fails takes the dir with it, damage only the log that has it."""
        if isinstance(failure, LogDamaged):
            self._set_aside(failure)
        else:
            self.fail(log_dir, instance(failure, LogDirFailure, "what is no damage is the failure of a dir"))

    def fail(self, log_dir: LogDir, failure: LogDirFailure) -> None:
        if not log_dir.is_online:
            return
        log_dir.failure = failure
        log_dir.offline = frozenset(log_dir.logs) | frozenset(log_dir.set_aside_logs)
        self._drop_logs(log_dir)
        for key in sorted(log_dir.keys):
            self.jobs.cancel(key)
        log_dir.release_lock()
        is_last = not self.online
        for listener in list(self._listeners):
            listener(log_dir, is_last)

    async def run(self, log_dir: LogDir, key: str, job: JobOf[R]) -> R:
        """A job that works in the dir; what goes wrong in it is handled, and raised here as well."""
        if log_dir.failure is not None:
            job.close()
            raise log_dir.failure
        log_dir.keys.add(key)
        try:
            return await self.jobs.submit(key, job)
        except LogFailure as failure:
            self.handle(log_dir, failure)
            raise
        except OSError as error:
            raise self._failed(log_dir, error, key) from error
        except Cancelled:
            if log_dir.failure is not None:
                raise log_dir.failure from None
            raise
        finally:
            if not self.jobs.is_busy(key):
                log_dir.keys.discard(key)

    def _failed(self, log_dir: LogDir, error: OSError, key: str) -> errors.KafkaStorageError:
        """The key of a log's job is its directory; that of another is no path."""
        path = key if key.startswith(f"{log_dir.path}/") else log_dir.path
        found = storage_error(error, "an operation of the disk", path)
        if isinstance(found, LogDirFailure):
            self.fail(log_dir, found)
        return found

    async def until_jobs_ended(self, key: str) -> None:
        """Waits for the jobs of this key that are there now, not for those that come later."""
        if self.jobs.is_busy(key):
            await self.jobs.submit(key, _nothing())

    # Checkpoints.

    async def save(self, log_dir: LogDir, name: str, *, even_if_same: bool = False) -> None:
        """Writes a checkpoint if it would say something else than it says.

        `even_if_same` is for those who want to see whether a write succeeds."""
        offsets = offsets_for(log_dir, name)
        saving = log_dir.saving.setdefault(name, [])
        if not even_if_same and not saving and offsets == log_dir.written.get(name):
            return
        mine = Saving(offsets, self._loop.pending())
        saving.append(mine)
        try:
            await self.run(log_dir, log_dir.path, _save(self._disk, f"{log_dir.path}/{name}", offsets))
            log_dir.written[name] = offsets
        finally:
            saving.remove(mine)
            mine.ended.resolve(None)

    async def save_all(self, log_dir: LogDir) -> None:
        for name in CHECKPOINTS:
            await self.save(log_dir, name)

    async def forget(self, log_dir: LogDir, topic_partition: TopicPartition) -> None:
        """No checkpoint speaks of this partition any more, which is not there now and is about to be made.

        Thousands may be made again together: what is written for the first of them does for all.
        """
        for name in CHECKPOINTS:
            while log_dir.checkpoint_may_name(name, topic_partition):
                saving = log_dir.saving.get(name)
                if saving and topic_partition not in saving[-1].offsets:
                    await saving[-1].ended
                else:
                    await self.save(log_dir, name)

    async def hold_down(
        self, log_dir: LogDir, topic_partition: TopicPartition, offset: int, recovery_point: int
    ) -> None:
        """No checkpoint says more for it, until `let_up`: the log may end before `offset`, not before the other."""
        log_dir.floors[topic_partition] = dict.fromkeys(CHECKPOINTS, offset) | {names.RECOVERY_POINTS: recovery_point}
        for name in CHECKPOINTS:
            await self.save(log_dir, name)

    def let_up(self, log_dir: LogDir, topic_partition: TopicPartition) -> None:
        log_dir.floors.pop(topic_partition, None)

    # Where a new partition goes.

    def choose(self, target: str | None = None) -> LogDir:
        """The one with the fewest partitions, the first of them; or the one asked for."""
        if target is not None:
            return self._named(target)
        candidates = [log_dir for log_dir in self.online if log_dir.path not in self.cordoned] or self.online
        if not candidates:
            raise errors.KafkaStorageError("No log dir is online.")
        return min(candidates, key=lambda log_dir: len(log_dir) + log_dir.creating)

    def _named(self, path: str) -> LogDir:
        log_dir = self.by_path.get(path.rstrip("/"))
        if log_dir is None:
            raise errors.LogDirNotFound(f"{path} is none of the log dirs {', '.join(self.by_path)}.")
        if not log_dir.is_online:
            raise errors.KafkaStorageError(f"The log dir {path} is offline.")
        return log_dir


def offsets_for(log_dir: LogDir, name: str) -> dict[TopicPartition, int]:
    """What a checkpoint should say now; of a log that is set aside what it said before."""
    offsets = {aside.topic_partition: aside.offsets.get(name) for aside in log_dir.set_aside_logs.values()}
    for topic_partition, log in log_dir.all_logs():
        offsets[topic_partition] = checkpoint_offset(log_dir, name, topic_partition, log)
    return {topic_partition: offset for topic_partition, offset in offsets.items() if offset is not None}


def checkpoint_offset(log_dir: LogDir, name: str, topic_partition: TopicPartition, log: Log) -> int | None:
    offset = _VALUES[name](log)
    floor = log_dir.floors.get(topic_partition)
    return offset if offset is None or floor is None else min(offset, floor[name])


def _log_start_offset(log: Log) -> int | None:
    """Only where the names of the segments do not tell it."""
    return log.log_start_offset if log.log_start_offset > log.segments.first.base_offset else None


_VALUES: dict[str, Callable[[Log], int | None]] = {
    names.RECOVERY_POINTS: lambda log: log.recovery_point,
    names.LOG_START_OFFSETS: _log_start_offset,
    names.REPLICATION_OFFSETS: lambda log: log.high_watermark,
}


def _save(disk: Disk, path: str, offsets: dict[TopicPartition, int]) -> JobOf[None]:
    checkpoint.write_offsets(disk, path, offsets)
    yield 0


def _nothing() -> JobOf[None]:
    yield 0
