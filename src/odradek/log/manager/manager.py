"""The log manager: every log of a broker, in however many log dirs.

    start ─ open and lock the dirs ─ load ─ schedules and cleaner run ─ ... ─ stop ─ flush, close, checkpoint, marker

It belongs to the reactor's thread. A method that has to wait for the disk is a coroutine; operations that change which
logs there are (create, delete, move, truncate) are done one at a time per partition, in the order of the calls. All
jobs of a log have its directory as their key, so that they never overlap; those of a dir have its path.

A dir that fails takes its logs offline, and its listeners are told (`dirs.listen`); the rest goes on. A log that is
damaged is set aside alone (`dirs.listen_to_damage`). The logs that a caller still holds are closed: appends to them are
refused, reads fail.

The parts have their own files: starting, stopping, moves, checkpointed_truncation, schedules; `log_dirs.py`: the dirs.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TypeVar

from odradek.config.listeners import log_dirs as configured_log_dirs
from odradek.config.sources import BrokerLayers
from odradek.log import names
from odradek.log.cleaner.cleaner import Cleaner, CleanerConfig
from odradek.log.failure import LogDamaged, LogFailure, NotInCache
from odradek.log.flush import FlushPlan, flush_job
from odradek.log.loading.loaded import LoadedLog
from odradek.log.log import Log
from odradek.log.manager import checkpointed_truncation as truncation
from odradek.log.manager import mending, moves, set_aside, starting, stopping
from odradek.log.manager.dir_loading import DirLoading, IsStray, OnProgress
from odradek.log.manager.gates import Gates
from odradek.log.manager.log_dir import NO_BROKER_EPOCH, LogDir, LookedAt
from odradek.log.manager.log_dirs import LogDirs
from odradek.log.manager.manager_config import LogManagerConfig, TopicConfigs
from odradek.log.manager.partition_dirs import PartitionToLoad, create_job, write_topic_id_job
from odradek.log.manager.removals import Leaving, Removals
from odradek.log.manager.schedules import Schedules
from odradek.log.storage import OPEN_FILES_MAX, Storage
from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import format_uuid
from odradek.reactor.jobs import JobQueue
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Cancelled, Disk

T = TypeVar("T")


class LogManager:
    __slots__ = (
        "_indexes",
        "_stopped",
        "cleaner",
        "config",
        "current",
        "dirs",
        "disk",
        "futures",
        "gates",
        "is_started",
        "jobs",
        "loadings",
        "loop",
        "on_reindexed",
        "on_replaced",
        "removals",
        "schedules",
        "start_ended",
        "storage",
        "topic_configs",
        "topic_ids",
    )

    def __init__(
        self,
        loop: Loop,
        layers: BrokerLayers,
        *,
        log_dirs: Sequence[str] | None = None,
        topic_overrides: Mapping[str, Mapping[str, object]] | None = None,
        jobs: JobQueue | None = None,
        open_files_max: int = OPEN_FILES_MAX,
    ) -> None:
        """`log_dirs` goes before the configs log.dirs and log.dir."""
        self.loop = loop
        self.disk: Disk = loop.ports.disk
        self.jobs = jobs or JobQueue(loop)
        self.storage = Storage(self.disk, loop.ports.rng, open_files_max=open_files_max)
        self.storage.on_index_damage = self._index_damaged
        self.config = LogManagerConfig.from_config(layers.config)
        self.topic_configs = TopicConfigs(layers, topic_overrides or {})
        self.current: dict[TopicPartition, Log] = {}
        self.futures: dict[TopicPartition, Log] = {}  # copies on their way to another dir
        self._indexes: dict[str, set[int]] = {}  # the partitions of each topic that have a log or a copy
        self.topic_ids: dict[str, bytes] = {}  # by the log's directory
        self.dirs = LogDirs(
            loop, self.jobs, log_dirs or configured_log_dirs(layers.config), self._drop_logs, self._set_aside
        )
        self.dirs.cordoned = frozenset(self.config.cordoned_log_dirs or ())
        self.cleaner = Cleaner(
            loop, self.jobs, CleanerConfig.from_config(layers.config), on_failure=self.handle_failure
        )
        self.removals = Removals(loop, self.dirs)
        self.schedules = Schedules(self)
        self.on_replaced: Callable[[TopicPartition, Log], None] | None = None  # a copy has become the log
        self.on_reindexed: Callable[[str], None] | None = (
            None  # the indexes of a segment were damaged, and no longer are
        )
        self.is_started = False
        self.start_ended: Pending[None] | None = None  # from the beginning of the start on
        self.loadings: list[DirLoading] = []
        self.gates = Gates(loop)  # of what is being created, deleted, moved or truncated
        self._stopped: Pending[None] | None = None

    # Start and stop.

    async def start(
        self,
        *,
        is_stray: IsStray | None = None,
        on_progress: OnProgress | None = None,
        looked_at: Mapping[str, LookedAt] | None = None,
    ) -> None:
        """LogDirRefused if an operator has to look first, KafkaStorageError if no dir is left online.

        `looked_at` is what the caller knows of dirs already, by path: these are not looked at again.
        """
        await starting.start(self, is_stray, on_progress, looked_at or {})

    async def stop(self, broker_epoch: int = NO_BROKER_EPOCH) -> None:
        """A clean stop; a second call waits for the first."""
        if self._stopped is None:
            self._stopped = self.loop.spawn(stopping.stop(self, broker_epoch))
        await self._stopped

    @property
    def is_stopping(self) -> bool:
        return self._stopped is not None

    @property
    def unclosed(self) -> dict[str, str]:
        """The dirs that a stop could not close cleanly, with the reason: the next start has to recover them."""
        dirs = self.dirs.by_path.values()
        return {log_dir.path: log_dir.unclosed for log_dir in dirs if log_dir.unclosed is not None}

    # Which logs there are.

    def get(self, topic: str, partition: int) -> Log | None:
        return self.current.get(TopicPartition(topic, partition))

    def get_future(self, topic: str, partition: int) -> Log | None:
        return self.futures.get(TopicPartition(topic, partition))

    def all_logs(self) -> list[Log]:
        return [*self.current.values(), *self.futures.values()]

    def topic_id(self, log: Log) -> bytes | None:
        return self.topic_ids.get(log.directory)

    def register(self, topic_partition: TopicPartition, log: Log, *, is_future: bool) -> None:
        log_dir = self.dirs.of_log(log)
        (log_dir.futures if is_future else log_dir.logs)[topic_partition] = log
        (self.futures if is_future else self.current)[topic_partition] = log
        self._indexes.setdefault(topic_partition[0], set()).add(topic_partition[1])
        if not is_future:
            self.cleaner.add(log)

    def unregister(self, topic_partition: TopicPartition, log: Log) -> None:
        """Closes it, too. Its files stay."""
        log_dir = self.dirs.of_log(log)
        for logs in (log_dir.logs, log_dir.futures, self.current, self.futures):
            if logs.get(topic_partition) is log:
                del logs[topic_partition]
        if topic_partition not in self.current and topic_partition not in self.futures:
            self._forget_index(*topic_partition)
        self.take_down(log)

    def _forget_index(self, topic: str, index: int) -> None:
        indexes = self._indexes.get(topic, set())
        indexes.discard(index)
        if not indexes:
            self._indexes.pop(topic, None)

    def take_down(self, log: Log) -> None:
        self.cleaner.remove(log)
        log.abandon()
        self.topic_ids.pop(log.directory, None)
        self.jobs.cancel(log.directory)

    def build(self, loaded: LoadedLog, topic: str, topic_id: bytes | None) -> Log:
        log = Log(
            self.storage,
            loaded,
            self.topic_configs.of(topic),
            self.now_ms,
            producer_id_expiration_ms=self.config.producer_id_expiration_ms,
            on_roll=self._rolled,
        )
        if topic_id is not None:
            self.topic_ids[log.directory] = topic_id
        return log

    @property
    def now_ms(self) -> int:
        return self.loop.ports.clock.wall_ms()

    async def exclusively(self, topic_partition: TopicPartition, work: Callable[[], Coroutine[object, None, T]]) -> T:
        """After everything that was asked of this partition before."""
        return await self.gates.through([topic_partition], work)

    # Creating.

    async def get_or_create(
        self,
        topic: str,
        partition: int,
        topic_id: bytes | None = None,
        *,
        is_future: bool = False,
        target_dir: str | None = None,
        is_new: bool = False,
    ) -> Log:
        """The log, made if it is not there: in `target_dir`, else in the dir with the fewest partitions.

        While a dir is offline only a partition that is known to be new is made: any other may lie in that dir.
        InconsistentTopicId if the log belongs to an earlier topic of the same name.
        """
        topic_partition = TopicPartition(topic, partition)
        logs = self.futures if is_future else self.current
        if topic_partition not in logs or topic_partition in self.gates:
            await self.exclusively(
                topic_partition, lambda: self._create(topic_partition, topic_id, is_future, target_dir, is_new)
            )
        log = logs[topic_partition]
        await self._ensure_topic_id(log, topic_id)
        return log

    async def _create(
        self, topic_partition: TopicPartition, topic_id: bytes | None, is_future: bool, target: str | None, is_new: bool
    ) -> None:
        if topic_partition in (self.futures if is_future else self.current):
            return
        log_dir = self.dirs.choose(target)
        self._ensure_creatable(topic_partition, log_dir, is_future, is_new)
        log_dir.creating += 1
        try:
            await self._create_in(log_dir, topic_partition, topic_id, is_future)
        finally:
            log_dir.creating -= 1

    async def _create_in(
        self, log_dir: LogDir, topic_partition: TopicPartition, topic_id: bytes | None, is_future: bool
    ) -> None:
        await self.dirs.forget(log_dir, topic_partition)
        name = self.removals.future_name(topic_partition) if is_future else names.dir_name(*topic_partition)
        to_load = PartitionToLoad(f"{log_dir.path}/{name}", topic_partition, self.topic_configs.of(topic_partition[0]))
        expiration_ms = self.config.producer_id_expiration_ms
        job = create_job(self.disk, to_load, topic_id, log_dir.path, self.now_ms, expiration_ms)
        loaded: LoadedLog = await self.dirs.run(log_dir, to_load.directory, job)
        self.register(topic_partition, self.build(loaded, topic_partition[0], topic_id), is_future=is_future)

    def _ensure_creatable(
        self, topic_partition: TopicPartition, log_dir: LogDir, is_future: bool, is_new: bool
    ) -> None:
        shown = names.dir_name(*topic_partition)
        if (aside := self.dirs.find_set_aside(topic_partition)) is not None:
            raise errors.KafkaStorageError(f"{shown} is set aside: {aside.damage}")
        if self.is_stopping:
            raise errors.KafkaStorageError(f"{shown} is not created: the broker is stopping.")
        if not is_new and (offline := self.dirs.offline):
            where = ", ".join(each.path for each in offline)
            raise errors.KafkaStorageError(f"{shown} is not created: it may lie in a dir that is offline ({where}).")
        if is_future and topic_partition in log_dir.logs:
            raise errors.InvalidRequest(f"{shown} is in {log_dir.path} already; a copy needs another dir.")

    async def _ensure_topic_id(self, log: Log, topic_id: bytes | None) -> None:
        if topic_id is None:
            return
        known = self.topic_ids.get(log.directory)
        if known is None:
            self.topic_ids[log.directory] = topic_id
            job = write_topic_id_job(self.disk, log.directory, topic_id)
            await self.dirs.run(self.dirs.of_log(log), log.directory, job)
        elif known != topic_id:
            raise errors.InconsistentTopicId(
                f"The log of {log.topic_partition} belongs to the topic with the id {format_uuid(known)}, not "
                f"{format_uuid(topic_id)}: delete it first."
            )

    # Deleting.

    async def delete(self, topic: str, partition: int, *, is_future: bool = False) -> bool:
        """Takes the log out of service and renames its directory; its files go after file.delete.delay.ms."""
        if not is_future and self.dirs.find_set_aside(TopicPartition(topic, partition)) is not None:
            await self.delete_all([TopicPartition(topic, partition)])
            return True
        return await self._put_out(topic, partition, is_future)

    async def delete_all(self, partitions: Sequence[TopicPartition]) -> None:
        """Deletes many logs, and copies that are on their way to another dir: one job and one fsync per dir."""

        async def put_out() -> None:
            leaving: dict[LogDir, list[Leaving]] = {}
            for topic_partition in partitions:
                self._take_out(topic_partition, leaving)
            await self._rename_all_out(leaving)

        await self.gates.through(partitions, put_out)

    async def _rename_all_out(self, leaving: dict[LogDir, list[Leaving]]) -> None:
        """A dir that fails does not keep the others from it; its error comes last."""
        failed: errors.KafkaStorageError | None = None
        for log_dir, directories in leaving.items():
            try:
                await self.removals.rename_all_out(log_dir, directories)
            except errors.KafkaStorageError as error:
                failed = failed or error
        if failed is not None:
            raise failed

    def _take_out(self, topic_partition: TopicPartition, leaving: dict[LogDir, list[Leaving]]) -> None:
        for logs in (self.futures, self.current):
            log = logs.get(topic_partition)
            if log is not None:
                log_dir = self.dirs.of_log(log)
                self.unregister(topic_partition, log)
                left = (log.directory, topic_partition, log.config.file_delete_delay_ms)
                leaving.setdefault(log_dir, []).append(left)
        delay_ms = self.topic_configs.of(topic_partition[0]).file_delete_delay_ms
        for log_dir, directory in set_aside.forget(self, topic_partition):
            leaving.setdefault(log_dir, []).append((directory, topic_partition, delay_ms))

    async def _put_out(self, topic: str, partition: int, is_future: bool) -> bool:
        topic_partition = TopicPartition(topic, partition)
        logs = self.futures if is_future else self.current

        async def put_out() -> bool:
            log = logs.get(topic_partition)
            if log is None:
                return False
            log_dir = self.dirs.of_log(log)
            self.unregister(topic_partition, log)
            await self.removals.rename_out(
                log_dir, log.directory, topic_partition, names.DELETE_DIR, log.config.file_delete_delay_ms
            )
            return True

        return await self.exclusively(topic_partition, put_out)

    # Moving a replica between dirs.

    async def create_future(self, topic: str, partition: int, target_dir: str) -> Log:
        """An empty copy in another dir, beginning at the log start offset; the caller fills it as a follower would."""
        return await moves.create_future(self, TopicPartition(topic, partition), target_dir)

    async def replace_current_with_future(self, topic: str, partition: int) -> bool:
        """The copy becomes the log. False while it is behind: copy on, and ask again."""
        return await moves.replace_current_with_future(self, TopicPartition(topic, partition))

    async def cancel_move(self, topic: str, partition: int) -> bool:
        return await moves.cancel_move(self, TopicPartition(topic, partition))

    # Truncating.

    async def truncate_to(self, topic: str, partition: int, offset: int, *, is_future: bool = False) -> None:
        """Drops everything from `offset` on, so that no crash can bring the recovery point back past the new end."""
        await truncation.truncate(self, TopicPartition(topic, partition), offset, is_future=is_future, fully=False)

    async def truncate_fully_and_start_at(
        self, topic: str, partition: int, offset: int, *, is_future: bool = False
    ) -> None:
        await truncation.truncate(self, TopicPartition(topic, partition), offset, is_future=is_future, fully=True)

    # Reading.

    def read_ahead(self, log: Log, cold: NotInCache) -> Pending[None]:
        """After NotInCache, in the same turn. Done when the read can be tried again; an error has failed the dir.

        Not in the order of the log's other jobs: a read does not wait for a compaction.
        """
        cold.file.acquire()
        return self.loop.spawn(mending.read_ahead(self, log, cold))

    def _index_damaged(self, directory: str, base_offset: int) -> None:
        self.removals.in_background(mending.reindex(self, directory, base_offset))

    # Flushing.

    def flush(self, log: Log) -> Pending[None]:
        """Done when the log is durable up to its present end. An error has taken the dir offline, or the disk is full.

        A task of its own: the plan's files stay open until its job has ended, whoever stops waiting for it.
        """
        return self.loop.spawn(self._flush(log))

    async def _flush(self, log: Log) -> None:
        """Once more if the log has changed meanwhile, as by its cleaner: a plan's end counts for that log alone."""
        while not log.is_closed:
            log_dir = self.dirs.of_log(log)
            try:
                plan = log.begin_flush(self.now_ms)
            except LogFailure as failure:
                self.handle_failure(failure)
                raise
            if plan is None or await self.run_flush(log_dir, log, plan):
                return

    async def run_flush(self, log_dir: LogDir, log: Log, plan: FlushPlan) -> bool:
        """Whether the recovery point has moved to the plan's end."""
        try:
            await self.dirs.run(log_dir, log.directory, flush_job(self.disk, plan))
        except Cancelled:
            log.not_flushed(plan)
            if not log.is_closed:  # else it was deleted, and there is nothing left to be made durable
                raise
            return False
        except BaseException:
            log.not_flushed(plan)
            raise
        else:
            return log.flushed(plan)

    def _rolled(self, log: Log) -> None:
        """A sealed segment is flushed soon: until then its file stays open, and a recovery would have to read it."""
        self.removals.in_background(self._flush_soon(log))

    async def _flush_soon(self, log: Log) -> None:
        await self.loop.sleep(0)  # the append that rolled the log comes first
        await self.flush(log)

    # Configs.

    def update_topic_config(self, topic: str, overrides: Mapping[str, object]) -> None:
        """All configs that the topic has of its own, from now on. ConfigError for a bad one."""
        config = self.topic_configs.update(topic, overrides)
        for index in self._indexes.get(topic, ()):
            for logs in (self.current, self.futures):
                log = logs.get(TopicPartition(topic, index))
                if log is not None:
                    log.update_config(config)

    def update_broker_defaults(self, layers: BrokerLayers) -> None:
        self.config = LogManagerConfig.from_config(layers.config)
        self.dirs.cordoned = frozenset(self.config.cordoned_log_dirs or ())
        self.topic_configs.update_layers(layers)
        self.cleaner.update_config(CleanerConfig.from_config(layers.config))
        for logs in (self.current, self.futures):
            for (topic, _), log in logs.items():
                log.producer_id_expiration_ms = self.config.producer_id_expiration_ms
                log.update_config(self.topic_configs.of(topic))

    # Failure.

    def handle_failure(self, failure: LogFailure) -> None:
        """Takes the dir offline that the path of the failure lies in, or sets the log aside that is damaged."""
        log_dir = self.dirs.holding(failure.path)
        if log_dir is not None:
            self.dirs.handle(log_dir, failure)

    def _set_aside(self, damage: LogDamaged) -> None:
        set_aside.set_aside(self, damage)

    def _drop_logs(self, log_dir: LogDir) -> None:
        for topic_partition, log in log_dir.all_logs():
            self.unregister(topic_partition, log)
        self.cleaner.checkpoints.remove_dir(log_dir.path)
