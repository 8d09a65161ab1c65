"""What leaves a log dir later: directories of deleted partitions and files of deleted segments, after their delay.

Each is a task that sleeps for `file.delete.delay.ms` and then runs a job. Nobody waits for them; the stop gives them
up, and the next start finishes what it finds under the names that end in -delete and .deleted.
"""

from collections.abc import Coroutine
from typing import Any

from odradek.log import names
from odradek.log.checkpoint import TopicPartition
from odradek.log.deletion import Deletion
from odradek.log.failure import DiskFull, LogDirFailure
from odradek.log.log import Log
from odradek.log.log_dir import LogDir
from odradek.log.log_dirs import LogDirs
from odradek.log.partition_dirs import remove_job, rename_job
from odradek.protocol import errors
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Cancelled, Disk, Stream

UNIQUE_ID_BYTES = names.UNIQUE_ID_DIGITS // 2


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
        await self._dirs.run(log_dir, directory, rename_job(self._disk, directory, new, log_dir.path))
        if suffix == names.STRAY_DIR:
            log_dir.strays.append(new)
        else:
            log_dir.condemned.append(new)
            self.remove_later(log_dir, new, delay_ms)

    def remove_later(self, log_dir: LogDir, directory: str, delay_ms: int) -> None:
        async def remove() -> None:
            await self._loop.sleep(delay_ms)
            await self._dirs.run(log_dir, directory, remove_job(self._disk, directory, log_dir.path))
            log_dir.condemned.remove(directory)

        self.in_background(remove())

    def unlink_later(self, log: Log, deletion: Deletion) -> None:
        """The files of segments that have left the log."""

        async def unlink() -> None:
            await self._loop.sleep(log.config.file_delete_delay_ms)
            # A move may have renamed the directory since.
            moved = [[f"{log.directory}/{path.rpartition('/')[2]}" for path in group] for group in deletion.groups]
            job = Deletion(log.directory, moved).unlink_job(self._disk)
            await self._dirs.run(self._dirs.of_log(log), log.directory, job)

        self.in_background(unlink())

    def in_background(self, coroutine: Coroutine[Any, None, None]) -> None:
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


async def _quietly(coroutine: Coroutine[Any, None, None]) -> None:
    try:
        await coroutine
    except (LogDirFailure, DiskFull, Cancelled):
        return
