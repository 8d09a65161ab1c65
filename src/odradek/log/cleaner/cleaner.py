"""The cleaner: finds the log that needs compaction most, cleans it, round after round.

    worker:   assess all compacted logs ─ none is due ─ sleep log.cleaner.backoff.ms
                     │ the filthiest
              round: key map ─ group ─ swap in ─ group ─ swap in ─ ... ─ raise the checkpoint

Workers are coroutines on the reactor, `log.cleaner.threads` of them; what they wait for are jobs. A log is cleaned by
one of them at a time. A round is given up when its log changes under it: `pause` (before a truncation, a deletion or a
move) ends the running job at its next yield, and whatever else bumps the generation is noticed before anything is
swapped in. A log that cannot be cleaned is left out, and the others go on; it stays so until a restart. Damage, and a
disk that fails, are reported to who owns the dir.

With `cleanup.policy=compact,delete` the same log is also subject to retention, which is not the cleaner's business:
segments that went meanwhile change the generation.
"""

from collections.abc import Callable

from odradek.broken_rule import present
from odradek.config.broker import TABLE
from odradek.config.snapshot import Snapshot, field
from odradek.log import names
from odradek.log.cleaner import clean_job
from odradek.log.cleaner.clean_batches import CleanStats, LastRecord
from odradek.log.cleaner.clean_job import CleanerLimits, CleanRound, CleanTask, Replacement
from odradek.log.cleaner.cleanable import LAG_UNLIMITED_MS, LogToClean, dirty_segments, filthiest, log_to_clean
from odradek.log.cleaner.cleaner_checkpoint import CleanerCheckpoints
from odradek.log.cleaner.key_map import SECRET_BYTES
from odradek.log.dir_sync import sync_dir_job
from odradek.log.failure import DiskFull, LogDirFailure, LogFailure, NotInCache
from odradek.log.index.transaction_index import AbortedTransaction
from odradek.log.log import Log
from odradek.log.read import read_ahead
from odradek.log.replace import swap_job
from odradek.log.soundness.committed import all_aborted
from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.jobs import JobQueue, Throttle
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Cancelled, Disk, JobOf, R, Stream
from odradek.records import layout

CHUNK_BYTES_MIN = 65536
UNTHROTTLED_BYTES_PER_SECOND = 1 << 62
KEY_MAP_BYTES_MAX = (1 << 31) - 1


class CleanerConfig(Snapshot, of=TABLE):
    is_enabled = field("log.cleaner.enable", bool)
    threads = field("log.cleaner.threads", int)
    io_max_bytes_per_second = field("log.cleaner.io.max.bytes.per.second", float)
    dedupe_buffer_size = field("log.cleaner.dedupe.buffer.size", int)
    io_buffer_size = field("log.cleaner.io.buffer.size", int)
    io_buffer_load_factor = field("log.cleaner.io.buffer.load.factor", float)
    backoff_ms = field("log.cleaner.backoff.ms", int)

    def limits(self) -> CleanerLimits:
        """What one worker may use: the buffers are shared out among all of them."""
        workers = max(1, self.threads)
        return CleanerLimits(
            min(self.dedupe_buffer_size // workers, KEY_MAP_BYTES_MAX),
            self.io_buffer_load_factor,
            max(CHUNK_BYTES_MIN, self.io_buffer_size // workers),
        )

    def throttle(self) -> Throttle | None:
        rate = self.io_max_bytes_per_second
        return None if rate >= UNTHROTTLED_BYTES_PER_SECOND else Throttle(max(1, int(rate)))


class _Cleaning:
    """A round that is under way. The flag is the only thing that its jobs share with the reactor."""

    __slots__ = ("base_offsets", "generation", "is_given_up", "log")

    def __init__(self, chosen: LogToClean) -> None:
        self.log = chosen.log
        self.generation = chosen.log.generation
        self.base_offsets = {
            each for each in chosen.log.segments.base_offsets if each < chosen.first_uncleanable_offset
        }
        self.is_given_up = False

    @property
    def is_stale(self) -> bool:
        """Retention takes segments out of a log without changing what is left of it: they count too."""
        log = self.log
        is_same = log.generation == self.generation and self.base_offsets.issubset(log.segments.base_offsets)
        return self.is_given_up or log.is_closed or not is_same

    def replaced(self, replacement: Replacement) -> None:
        self.generation = self.log.generation
        self.base_offsets.difference_update(replacement.replaced)
        self.base_offsets.add(replacement.cleaned.base_offset)

    def ensure_current(self) -> None:
        if self.is_stale:
            raise Cancelled(f"{self.log.topic_partition} has changed while it was cleaned")


class Cleaner:
    """`on_failure` is told what is damaged or has failed. Jobs of a log have its directory as their key."""

    __slots__ = (
        "_config",
        "_in_progress",
        "_is_running",
        "_jobs",
        "_logs",
        "_loop",
        "_naps",
        "_on_failure",
        "_paused",
        "_secrets",
        "_throttle",
        "_workers",
        "checkpoints",
        "rounds",
        "stats",
        "uncleanable",
    )

    def __init__(
        self,
        loop: Loop,
        jobs: JobQueue,
        config: CleanerConfig,
        *,
        on_failure: Callable[[LogFailure], None],
    ) -> None:
        self._loop = loop
        self._jobs = jobs
        self._secrets: Stream = loop.ports.rng.stream("log.cleaner")
        self._on_failure = on_failure
        self._logs: dict[str, Log] = {}  # by directory, as are the next three
        self._in_progress: dict[str, _Cleaning] = {}
        self._paused: dict[str, int] = {}
        self.uncleanable: dict[str, str] = {}  # with the reason
        self.checkpoints = CleanerCheckpoints()
        self.stats = CleanStats()
        self.rounds = 0
        self._workers: dict[int, Pending[None]] = {}
        self._naps: set[Pending[None]] = set()
        self._is_running = False
        self.update_config(config)

    def update_config(self, config: CleanerConfig) -> None:
        """A change at run time; a round that is under way keeps what it began with."""
        self._config = config
        self._throttle = config.throttle()
        if self._is_running:
            self.start()

    # Which logs there are.

    def add(self, log: Log) -> None:
        self._logs[log.directory] = log

    def remove(self, log: Log) -> None:
        """Deleted, or its dir has failed."""
        self._give_up(log.directory)
        self._logs.pop(log.directory, None)
        self._paused.pop(log.directory, None)
        self.uncleanable.pop(log.directory, None)
        self.checkpoints.forget(*_place(log))

    def pause(self, log: Log) -> None:
        """Ends a round of this log and begins no other until `resume`, as often as it was paused."""
        self._give_up(log.directory)
        self._paused[log.directory] = self._paused.get(log.directory, 0) + 1

    def resume(self, log: Log) -> None:
        left = self._paused.get(log.directory, 0) - 1
        if left > 0:
            self._paused[log.directory] = left
        else:
            self._paused.pop(log.directory, None)

    def truncated(self, log: Log, offset: int) -> None:
        self._give_up(log.directory)
        self.checkpoints.truncate(*_place(log), offset)

    def is_cleaning(self, log: Log) -> bool:
        return log.directory in self._in_progress

    def _give_up(self, directory: str) -> None:
        if (cleaning := self._in_progress.get(directory)) is not None:
            cleaning.is_given_up = True

    # The workers.

    def start(self) -> None:
        """Starts the workers that are missing, again when their number changes. Those beyond it end by themselves."""
        self._is_running = self._config.is_enabled
        for number in range(self._config.threads if self._is_running else 0):
            if number not in self._workers or self._workers[number].is_done:
                self._workers[number] = self._loop.spawn(self._work(number))

    async def stop(self) -> None:
        """Gives up every round at the next yield of its job and waits for it: nothing is left half swapped in."""
        self._is_running = False
        for directory in self._in_progress:
            self._give_up(directory)
        for nap in self._naps:
            nap.resolve(None)
        for worker in self._workers.values():
            await worker
        self._workers.clear()

    async def _work(self, number: int) -> None:
        while self._is_running and number < self._config.threads:
            if not await self.clean_filthiest() and self._is_running:
                await self._nap()

    async def _nap(self) -> None:
        nap = self._loop.sleep(self._config.backoff_ms)
        self._naps.add(nap)
        await nap
        self._naps.discard(nap)

    async def clean_filthiest(self) -> bool:
        """Cleans the log that needs it most. False if none does, or if it could not be done."""
        try:
            await self._learn_first_timestamps()
            chosen = filthiest(self.assess(self._loop.ports.clock.wall_ms()))
        except LogFailure as failure:
            self._on_failure(failure)
            return False
        cleaned = chosen is not None and await self._clean(chosen)
        await self._save_checkpoints()
        return cleaned

    def assess(self, now_ms: int) -> list[LogToClean]:
        """Every log that might be cleaned now, due or not."""
        return [self._assessed(log, now_ms) for log in self._cleanable_logs()]

    def _cleanable_logs(self) -> list[Log]:
        busy = self._in_progress.keys() | self._paused.keys() | self.uncleanable.keys()
        return [
            log
            for directory, log in self._logs.items()
            if log.config.is_compacted and directory not in busy and not log.is_closed
        ]

    def _assessed(self, log: Log, now_ms: int) -> LogToClean:
        place = _place(log)
        known = self.checkpoints.get(*place)
        found = log_to_clean(log, known, now_ms)
        if known is not None and known != found.first_dirty_offset:
            self.checkpoints.set(*place, found.first_dirty_offset)  # it lies outside of the log
        return found

    async def _learn_first_timestamps(self) -> None:
        """`max.compaction.lag.ms` counts from the first batch of each dirty segment, which only its file may know."""
        for log in self._cleanable_logs():
            if log.config.max_compaction_lag_ms == LAG_UNLIMITED_MS:
                continue
            first_dirty = self._assessed(log, 0).first_dirty_offset
            unknown = [s for s in dirty_segments(log, first_dirty) if s.size and s.first_timestamp < 0]
            if unknown:
                paths = [segment.path(names.LOG) for segment in unknown]
                found = await self._jobs.submit(log.directory, _first_timestamps(self._loop.ports.disk, paths))
                for segment, timestamp in zip(unknown, found, strict=True):
                    segment.first_timestamp = timestamp

    # One round.

    async def _clean(self, chosen: LogToClean) -> bool:
        log = chosen.log
        cleaning = self._in_progress[log.directory] = _Cleaning(chosen)
        try:
            aborted = await self._aborted_transactions(cleaning)
            round_ = await self._round(cleaning, self._task(chosen, aborted))
        except (Cancelled, DiskFull):
            return False  # a full disk is tried again after the backoff
        except LogFailure as failure:
            if not cleaning.is_stale:  # else the files went because the log did
                self.uncleanable[log.directory] = str(failure)
                self._on_failure(failure)
            return False
        except errors.KafkaError as error:
            self.uncleanable[log.directory] = str(error)
            return False
        finally:
            del self._in_progress[log.directory]
        self.checkpoints.set(*_place(log), round_.end_offset)
        self.stats.add(round_.stats)
        self.rounds += 1
        return True

    async def _aborted_transactions(self, cleaning: _Cleaning) -> list[AbortedTransaction]:
        """Told by the batches where the transaction indexes were found on disk: what they call aborted is dropped."""
        log = cleaning.log
        while True:
            try:
                return all_aborted(log)
            except NotInCache as cold:
                file = cold.file.acquire()
                try:
                    job = read_ahead(cold)
                    checked = await self._submit(cleaning, job)
                finally:
                    file.release()
                cleaning.ensure_current()
                log.note_checked(checked)

    async def _round(self, cleaning: _Cleaning, task: CleanTask) -> CleanRound:
        disk = self._loop.ports.disk
        round_: CleanRound = await self._submit(cleaning, clean_job.begin_round(disk, task))
        for group in round_.groups:
            cleaning.ensure_current()
            replacement = await self._submit(cleaning, clean_job.clean_group(disk, round_, group))
            if replacement is not None:
                await self._swap_in(cleaning, replacement)
        cleaning.ensure_current()
        return round_

    def _submit(self, cleaning: _Cleaning, job: JobOf[R]) -> Pending[R]:
        return self._jobs.submit(cleaning.log.directory, _until_given_up(job, cleaning), self._throttle)

    async def _swap_in(self, cleaning: _Cleaning, replacement: Replacement) -> None:
        """The steps of `replace.py`. Once the log has its new segment there is no way back, whatever happens to it."""
        log, disk = cleaning.log, self._loop.ports.disk
        if not cleaning.is_stale:
            await self._jobs.submit(log.directory, swap_job(disk, replacement.stems(log.directory), log.directory))
        if cleaning.is_stale:
            await self._jobs.submit(log.directory, clean_job.discard(disk, log.directory, replacement))
            cleaning.ensure_current()
        deletion = log.replace_segments([replacement.facts()], replacement.replaced)
        cleaning.replaced(replacement)
        await self._jobs.submit(log.directory, sync_dir_job(disk, log.directory))
        if not log.is_closed:
            log.finish_replace()
        delay_ms = log.config.file_delete_delay_ms
        self._loop.after(delay_ms, lambda: self._jobs.submit(log.directory, deletion.unlink_job(disk)))

    def _task(self, chosen: LogToClean, aborted: list[AbortedTransaction]) -> CleanTask:
        log = chosen.log
        sealed = [segment for segment in log.segments if segment.base_offset < chosen.first_uncleanable_offset]
        return CleanTask(
            log.directory,
            [(segment.base_offset, segment.size) for segment in sealed],
            first_dirty_offset=chosen.first_dirty_offset,
            first_uncleanable_offset=chosen.first_uncleanable_offset,
            config=log.config,
            now_ms=self._loop.ports.clock.wall_ms(),
            secret=self._secrets.bytes(SECRET_BYTES),
            aborted=aborted,
            active_producers=_last_records(log),
            limits=self._config.limits(),
        )

    async def _save_checkpoints(self) -> None:
        for log_dir in self.checkpoints.changed_dirs:
            try:
                await self._jobs.submit(log_dir, self.checkpoints.save_job(self._loop.ports.disk, log_dir))
            except OSError as error:
                self._on_failure(LogDirFailure(f"writing a checkpoint failed: {error}", log_dir))


def _place(log: Log) -> tuple[str, TopicPartition]:
    """The log dir, and the partition as its checkpoint has it."""
    log_dir, _, name = log.directory.rpartition("/")
    parsed = present(names.parse_dir_name(name), "a log lies in the directory of a partition")
    return log_dir, TopicPartition(*parsed[:2])


def _last_records(log: Log) -> dict[int, LastRecord]:
    return {
        entry.producer_id: LastRecord(entry.last_data_offset if entry.batches else None, entry.epoch)
        for entry in log.producers.entries
    }


def _until_given_up(job: JobOf[R], cleaning: _Cleaning) -> JobOf[R]:
    """The job, ended at its next yield once the round is given up; what it does to clean up still runs."""
    try:
        while not cleaning.is_given_up:
            try:
                moved_bytes = next(job)
            except StopIteration as end:
                value: R = end.value
                return value
            yield moved_bytes
        raise Cancelled("the log is about to change")
    finally:
        job.close()


def _first_timestamps(disk: Disk, paths: list[str]) -> JobOf[list[int]]:
    found = []
    for path in paths:
        try:
            found.append(_timestamp_in(_header(disk, path)))
        except FileNotFoundError:
            found.append(0)  # it has left the log since
        except OSError as error:
            raise LogDirFailure(f"reading failed: {error}", path) from error
        yield layout.HEADER_SIZE
    return found


def _header(disk: Disk, path: str) -> bytes:
    file = disk.open(path, writable=False)
    try:
        return file.pread(layout.HEADER_SIZE, 0)
    finally:
        file.close()


def _timestamp_in(header: bytes) -> int:
    """The largest of the first batch; 0, which counts as none, where there is no telling."""
    if len(header) <= layout.MAGIC_OFFSET or header[layout.MAGIC_OFFSET] == 0:
        return 0
    at = layout.LEGACY_TIMESTAMP_OFFSET if header[layout.MAGIC_OFFSET] == 1 else layout.MAX_TIMESTAMP_OFFSET
    if len(header) < at + layout.TIMESTAMP.size:
        return 0
    return max(0, int(layout.TIMESTAMP.unpack_from(header, at)[0]))
