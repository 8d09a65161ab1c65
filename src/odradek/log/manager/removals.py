"""What leaves a log dir later: directories of deleted partitions and files of deleted segments, after their delay.

Each is a task that sleeps for `file.delete.delay.ms` and then runs a job. Nobody waits for them; the stop gives them
up, and the next start finishes what it finds under the names that end in -delete and .deleted.
"""

from collections.abc import Coroutine, Sequence

from odradek.log import names
from odradek.log.dead_files import Deletion
from odradek.log.failure import DiskFull, LogFailure
from odradek.log.log import Log
from odradek.log.manager.log_dir import LogDir
from odradek.log.manager.log_dirs import LogDirs
from odradek.log.manager.partition_dirs import remove_job, rename_job
from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Cancelled, Disk, Stream

UNIQUE_ID_BYTES = names.UNIQUE_ID_DIGITS // 2


Leaving = tuple[str, TopicPartition, int]  # a directory, whose it is, and file.delete.delay.ms


def removals_key(log_dir: LogDir) -> str:
    """Directories of a dir are removed one after the other: nobody waits for it."""
    return f"{log_dir.path} removals"


class Removals:
    __slots__ = ("_dirs", "_disk", "_ids", "_loop", "_tasks")

    def __init__(self, loop: Loop, dirs: LogDirs) -> None:
        self._loop = loop
        self._disk: Disk = loop.ports.disk
        self._dirs = dirs
        self._ids: Stream = loop.ports.rng.stream("log.manager")
        self._tasks: dict[Pending[None], None] = {}  # in order, so that a simulation gives them up in the same one

    def unique_name(self, topic_partition: TopicPartition, suffix: str) -> str:
        """No two are alike: a partition may be deleted, made and deleted again before the first is gone."""
        return names.unique_dir_name(*topic_partition, self._ids.bytes(UNIQUE_ID_BYTES).hex(), suffix)

    def future_name(self, topic_partition: TopicPartition) -> str:
        """A start has to know whose copy it is: a name that would have to be cut is refused."""
        name = self.unique_name(topic_partition, names.FUTURE_DIR)
        if names.parse_dir_name(name) != (*topic_partition, names.FUTURE_DIR):
            shown = names.dir_name(*topic_partition)
            raise errors.InvalidRequest(
                f"{shown} cannot move: with {names.FUTURE_DIR} its name is too long for a file."
            )
        return name

    async def rename_out(
        self, log_dir: LogDir, directory: str, topic_partition: TopicPartition, suffix: str, delay_ms: int
    ) -> None:
        """Returns when the new name is durable; a directory that is to be deleted goes after the delay."""
        new = f"{log_dir.path}/{self.unique_name(topic_partition, suffix)}"
        await self._dirs.run(log_dir, directory, rename_job(self._disk, [(directory, new)], log_dir.path))
        if suffix == names.STRAY_DIR:
            log_dir.strays.append(new)
        else:
            self.remove_later(log_dir, [new], delay_ms)

    async def rename_all_out(self, log_dir: LogDir, leaving: Sequence[Leaving]) -> None:
        """Renames the directories of many partitions that are deleted together: one job, one fsync."""
        for directory, _, _ in leaving:
            await self._dirs.until_jobs_ended(directory)  # its jobs were cancelled, and may still be at their last step
        renames = [
            (directory, f"{log_dir.path}/{self.unique_name(topic_partition, names.DELETE_DIR)}")
            for directory, topic_partition, _ in leaving
        ]
        await self._dirs.run(log_dir, f"{log_dir.path} renames", rename_job(self._disk, renames, log_dir.path))
        by_delay: dict[int, list[str]] = {}
        for (_, new), (_, _, delay_ms) in zip(renames, leaving, strict=True):
            by_delay.setdefault(delay_ms, []).append(new)
        for delay_ms, directories in by_delay.items():
            self.remove_later(log_dir, directories, delay_ms)

    def remove_later(self, log_dir: LogDir, directories: Sequence[str], delay_ms: int) -> None:
        log_dir.condemned.update(dict.fromkeys(directories))

        async def remove() -> None:
            await self._loop.sleep(delay_ms)
            await self._forget_checkpoints(log_dir)
            job = remove_job(self._disk, directories, log_dir.path)
            await self._dirs.run(log_dir, removals_key(log_dir), job)
            for directory in directories:
                log_dir.condemned.pop(directory, None)

        self.in_background(remove())

    async def _forget_checkpoints(self, log_dir: LogDir) -> None:
        """Before the directory goes: an entry without any is that of a log that was lost (`lost_directories.py`)."""
        try:
            await self._dirs.save_all(log_dir)
        except DiskFull:
            return  # what is removed may make the space that they need

    def unlink_later(self, log: Log, deletion: Deletion) -> None:
        """The files of segments that have left the log."""

        async def unlink() -> None:
            await self._loop.sleep(log.config.file_delete_delay_ms)
            # A move may have renamed the directory since.
            moved = [[f"{log.directory}/{path.rpartition('/')[2]}" for path in group] for group in deletion.groups]
            job = Deletion(log.directory, moved).unlink_job(self._disk)
            await self._dirs.run(self._dirs.of_log(log), log.directory, job)

        self.in_background(unlink())

    def in_background(self, coroutine: Coroutine[object, None, None]) -> None:
        """A dir that fails here has told its listeners; a full disk refuses nothing for good."""
        task = self._loop.spawn(_quietly(coroutine))
        if not task.is_done:
            self._tasks[task] = None
            task.when_done(self._tasks.pop)

    def give_up(self) -> list[Pending[None]]:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        return tasks


async def _quietly(coroutine: Coroutine[object, None, None]) -> None:
    try:
        await coroutine
    except (LogFailure, DiskFull, Cancelled):
        return
