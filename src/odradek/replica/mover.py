"""AlterReplicaLogDirs: moves replicas between the log dirs of this broker while they serve.

    begin    an empty copy in the other dir (`LogManager.create_future`)
    copy     batches are read from the log and appended to the copy, slice by slice, at the rate that
             `replica.alter.log.dirs.io.max.bytes.per.second` allows; others have their turn between two slices
    swap     when the copy has caught up it takes the log's place (`replace_current_with_future`)

A move to the dir where the log lies already ends the one that is under way. A partition that is not here yet is made in
the dir that was asked for. After a restart the copies that were left go on.
"""

from typing import TYPE_CHECKING

from odradek.log.failure import LogFailure
from odradek.log.log import Log
from odradek.log.manager.reading import read_or_bring
from odradek.log.read import LOG_END
from odradek.protocol import errors
from odradek.reactor.jobs import Throttle
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Cancelled, DiskFile, JobOf
from odradek.replica.partition import Partition
from odradek.replica.roles import REMOVED

if TYPE_CHECKING:
    from odradek.replica.manager import ReplicaManager

SLICE_BYTES = 1 << 20
RETRY_MS = 100  # a copy that is not durable enough to take over is asked again


class Mover:
    __slots__ = ("_is_stopping", "_moves", "_replicas", "preferred", "throttle")

    def __init__(self, replicas: "ReplicaManager") -> None:
        self._replicas = replicas
        self._moves: dict[tuple[str, int], Pending[None]] = {}
        self._is_stopping = False
        self.throttle: Throttle | None = None
        self.preferred: dict[tuple[str, int], str] = {}  # where a partition goes that is not here yet

    async def alter(self, topic: str, index: int, path: str) -> None:
        """Answered when the copy is begun; the rest goes on by itself."""
        replicas = self._replicas
        logs = replicas.logs
        target = logs.dirs.choose(path)
        partition = replicas.partition(topic, index)
        if partition is None:
            self.preferred[topic, index] = target.path
            replicas.resolve(topic, index)
            return
        log = partition.local_log()
        if logs.dirs.of_log(log) is target:
            await logs.cancel_move(topic, index)
            return
        await logs.create_future(topic, index, target.path)
        self.resume(partition)

    def resume(self, partition: Partition) -> None:
        """Copies on, if there is a copy and nobody does it already."""
        key = (partition.topic.name, partition.index)
        if key in self._moves or self._is_stopping or self._replicas.logs.get_future(*key) is None:
            return
        move = self._moves[key] = self._replicas.loop.spawn(self._move(partition, *key))
        move.when_done(lambda _: self._moves.pop(key, None))

    async def _move(self, partition: Partition, topic: str, index: int) -> None:
        logs = self._replicas.logs
        while not self._is_stopping and partition.role is not REMOVED:
            future, current = logs.get_future(topic, index), logs.get(topic, index)
            if future is None or current is None or future.is_closed or current.is_closed:
                return
            try:
                if future.log_end_offset < current.log_end_offset:
                    await self._copy(current, future)
                elif await logs.replace_current_with_future(topic, index):
                    return
                else:
                    await self._replicas.loop.sleep(RETRY_MS)
            except LogFailure as failure:
                logs.handle_failure(failure)
                return
            except (errors.KafkaError, Cancelled):
                return  # given up, or its disk is full, or we stop: the copy stays until it is asked for again

    async def _copy(self, current: Log, future: Log) -> None:
        """One slice, as a follower of the log would take it."""
        logs = self._replicas.logs
        fetched = await read_or_bring(logs, current, future.log_end_offset, SLICE_BYTES, LOG_END)
        if fetched is None:
            return
        records = fetched.records
        if records is None:
            await self._replicas.loop.sleep(0)
            return
        size = records.size
        try:
            data = await self._read(records.disk_file, size, records.position)
        finally:
            records.release()
        if future.is_closed or fetched.offset != future.log_end_offset:
            return
        future.append_as_follower(data, logs.now_ms)

    async def _read(self, file: DiskFile, size: int, position: int) -> bytearray:
        """Through the throttle, if there is one."""
        job = _read_job(file, size, position)
        if self.throttle is None:
            return await self._replicas.loop.submit(job)
        return await self._replicas.logs.jobs.submit(self, job, self.throttle)

    def update_throttle(self, bytes_per_second: int | None) -> None:
        """Not wired yet: quotas are stored, and not enforced."""
        self.throttle = Throttle(bytes_per_second) if bytes_per_second else None

    async def stop(self) -> None:
        self._is_stopping = True
        self._replicas.logs.jobs.cancel(self)  # what waits for the throttle would wait for long
        for move in list(self._moves.values()):
            await move


def _read_job(file: DiskFile, size: int, position: int) -> JobOf[bytearray]:
    data = bytearray(file.pread(size, position))
    yield len(data)
    return data
