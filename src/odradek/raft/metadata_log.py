"""The metadata log of a node: a log of `odradek.log`, and the snapshots that stand in for its deleted beginning.

Invariants: what lies below `flushed_offset` is durable; the log start offset moves only up to a snapshot that is (C5).
All jobs of the directory go through one key of the queue: a rename never meets a truncation.
"""

from collections.abc import Iterable

from odradek.broken_rule import require
from odradek.log.failure import NotInCache
from odradek.log.flush import FlushPlan, flush_job
from odradek.log.log import Log
from odradek.log.read import HIGH_WATERMARK, LOG_END, FetchedRecords, read_ahead
from odradek.log.storage import Storage
from odradek.protocol import errors
from odradek.protocol.declare import Message
from odradek.raft import recovery_point, snapshots
from odradek.raft.batches import ControlFacts, facts_of
from odradek.raft.config import RaftConfig
from odradek.raft.core.voters import VoterSet
from odradek.raft.keys import OffsetAndEpoch
from odradek.raft.loading import LoadedQuorum, load_job
from odradek.raft.snapshots import SnapshotFacts
from odradek.reactor.jobs import JobQueue
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.ports import DiskFile, JobOf, R
from odradek.records.metadata_log import Control, controls_of, record_batches

OPEN_FILES_MAX = 16


class MetadataLog:
    __slots__ = (
        "_controls",
        "_files",
        "_flushing",
        "_saved_recovery_point",
        "cleaned_bytes",
        "config",
        "directory",
        "jobs",
        "log",
        "loop",
        "snapshots",
        "state",
        "storage",
    )

    log: Log

    def __init__(self, loop: Loop, jobs: JobQueue, directory: str, config: RaftConfig) -> None:
        self.loop = loop
        self.jobs = jobs
        self.directory = directory
        self.config = config
        self.storage = Storage(loop.ports.disk, loop.ports.rng, open_files_max=OPEN_FILES_MAX)
        self.snapshots: list[SnapshotFacts] = []  # oldest first
        self._controls: list[tuple[int, ControlFacts]] = []  # by offset
        self._files = 0  # names of parts differ
        self._flushing: Pending[None] | None = None
        self._saved_recovery_point = 0
        self.cleaned_bytes = 0  # of segments that went since the start

    async def load(self) -> LoadedQuorum:
        """Opens it, everything in it durable, empty at the latest snapshot if it had not come that far."""
        job = load_job(self.loop.ports.disk, self.directory, self.config.log_config(), self._wall_ms)
        loaded: LoadedQuorum = await self.run(job)
        self.log = Log(self.storage, loaded.log, self.config.log_config(), self._wall_ms)
        self.snapshots = loaded.snapshots
        self._controls = loaded.controls
        latest = self.latest_snapshot_id
        if latest is not None and not self.end.is_up_to_date_with(latest):
            # The node went down between the install of this snapshot and the truncation of its log.
            self.log.truncate_fully_and_start_at(latest.offset, self._wall_ms)
            self._unlink_cut_off()
        await self.flush()
        return loaded

    def run(self, job: JobOf[R]) -> Pending[R]:
        """A job of the log's directory, behind all others of it."""
        return self.jobs.submit(self.directory, job)

    @property
    def _wall_ms(self) -> int:
        return self.loop.ports.clock.wall_ms()

    # Facts.

    @property
    def end(self) -> OffsetAndEpoch:
        """An empty log ends where the snapshot before it does."""
        return OffsetAndEpoch(self.log.log_end_offset, self._last_epoch())

    def _last_epoch(self) -> int:
        if self.log.epochs.epochs:
            return self.log.epochs.latest_epoch
        at_end = [facts.id.epoch for facts in self.snapshots if facts.id.offset == self.log.log_end_offset]
        return at_end[-1] if at_end else 0

    @property
    def flushed_offset(self) -> int:
        return self.log.recovery_point

    @property
    def log_start_offset(self) -> int:
        return self.log.log_start_offset

    @property
    def earliest_snapshot_id(self) -> OffsetAndEpoch | None:
        return self.snapshots[0].id if self.snapshots else None

    @property
    def latest_snapshot_id(self) -> OffsetAndEpoch | None:
        return self.snapshots[-1].id if self.snapshots else None

    def end_offset_for_epoch(self, epoch: int) -> OffsetAndEpoch:
        """Where the largest epoch at or below `epoch` ends in this log, and which that is."""
        found, offset = self.log.end_offset_for_epoch(epoch)
        if found >= 0:
            return OffsetAndEpoch(offset, found)
        earliest = self.earliest_snapshot_id
        if earliest is not None and earliest.offset == self.log.log_start_offset and earliest.epoch == epoch:
            return earliest
        return self.end

    def epoch_before(self, offset: int) -> int:
        """The epoch of the record before an offset of this log."""
        at = [facts.id.epoch for facts in self.snapshots if facts.id.offset == offset]
        epoch = self.log.epochs.epoch_for(offset - 1)
        return at[-1] if epoch < 0 and at else max(epoch, 0)

    # Who votes, by what the log says.

    def kraft_version(self) -> int:
        found = [facts.kraft_version for _, facts in self._controls if facts.kraft_version is not None]
        return found[-1] if found else 0

    def voters(self) -> VoterSet | None:
        found = [facts.voters for _, facts in self._controls if facts.voters is not None]
        return found[-1] if found else None

    def are_voters_only_formatted(self) -> bool:
        """They stand in the bootstrap snapshot alone: the first leader writes them to the log."""
        return all(offset < 0 for offset, facts in self._controls if facts.voters is not None)

    def _note_controls(self, records: bytes) -> None:
        for batch in record_batches(records):
            if batch.is_control:
                facts = facts_of(controls_of(batch))
                if facts.voters is not None or facts.kraft_version is not None:
                    self._controls.append((batch.last_offset, facts))

    # Appending.

    def append_as_leader(self, batch: bytes) -> int:
        """`batch` has its offset and epoch already. Returns the last offset."""
        return self._append(batch)

    def append_as_follower(self, records: bytes) -> int:
        """What a leader sent; it must go on where the log ends. A KafkaError means that nothing was appended."""
        found = record_batches(records)
        if not found:
            raise errors.CorruptMessage("A Fetch brought no whole batch.")
        expected = self.log.log_end_offset
        for batch in found:
            if batch.base_offset != expected or batch.partition_leader_epoch < self.end.epoch:
                raise errors.InvalidRecord(f"A batch at offset {batch.base_offset} does not follow {expected}.")
            if batch.is_control:
                facts_of(controls_of(batch))
            expected = batch.last_offset + 1
        whole = sum(batch.size for batch in found)
        return self._append(records[:whole])

    def _append(self, data: bytes) -> int:
        info = self.log.append_as_follower(data, self._wall_ms)
        self._note_controls(data)
        return info.last_offset

    # Durability: one fsync at a time, later appends ride in the next.

    @property
    def is_flushed(self) -> bool:
        return self.log.recovery_point >= self.log.log_end_offset

    async def flush(self) -> None:
        """Returns when everything that is in the log now is durable, or a truncation has taken it out again."""
        while self._flushing is not None:
            await self._flushing
        plan = self.log.begin_flush(self._wall_ms)
        if plan is None:
            return
        self._flushing = self.loop.pending()
        try:
            await self._run_flush(plan)
        finally:
            done, self._flushing = self._flushing, None
            done.resolve(None)

    async def _run_flush(self, plan: FlushPlan) -> None:
        try:
            await self.run(flush_job(self.loop.ports.disk, plan))
        except BaseException:
            self.log.not_flushed(plan)
            raise
        self.log.flushed(plan)

    async def flush_and_close(self) -> None:
        """Everything is durable and no file is written any more. DiskFull if there was no space for that."""
        await self.flush()
        plan = self.log.begin_close(self._wall_ms)
        await self.run(flush_job(self.loop.ports.disk, plan))
        self.log.closed(plan)

    async def save_recovery_point(self, high_watermark: int) -> None:
        offset = min(self.flushed_offset, high_watermark)
        if offset > self._saved_recovery_point:
            await self.run(recovery_point.write_job(self.loop.ports.disk, self.directory, offset))
            self._saved_recovery_point = offset

    # Reading.

    async def read(self, offset: int, max_bytes: int, *, is_committed: bool) -> bytes:
        """Whole batches from an offset on; none if there is nothing yet."""
        isolation = HIGH_WATERMARK if is_committed else LOG_END
        while True:
            try:
                return await self._bytes(self.log.read(offset, max_bytes, isolation=isolation))
            except NotInCache as cold:
                file = cold.file.acquire()
                try:
                    checked = await self.loop.submit(read_ahead(cold))
                finally:
                    file.release()
                self.log.note_checked(checked)

    async def _bytes(self, fetched: FetchedRecords) -> bytes:
        found = fetched.records
        if found is None:
            return b""
        try:
            data = found.disk_file.pread_nowait(found.size, found.position)
            while data is None:
                file = found.disk_file
                data = await self.loop.submit(_pread_job(file, found.size, found.position))
            return bytes(data)
        finally:
            found.release()

    # Truncation.

    async def truncate_to(self, offset: int) -> None:
        await self._quiet()
        plan = self.log.truncate_to(offset, self._wall_ms)
        require(plan is None, "the metadata log has no producers, whose state would have to be rebuilt")
        self._controls = [(at, facts) for at, facts in self._controls if at < offset]
        self._unlink_cut_off()
        await self.flush()

    async def _quiet(self) -> None:
        """A new segment may get the name of one that a job is about to rename."""
        while self._flushing is not None or self.jobs.is_busy(self.directory):
            if self._flushing is not None:
                await self._flushing
            await self.run(_nothing())

    def _unlink_cut_off(self) -> None:
        deletions, self.log.deletions = self.log.deletions, []
        for deletion in deletions:
            self.remove_later(deletion.paths)

    def remove_later(self, paths: list[str]) -> None:
        """Removes files that are renamed already, after a while: somebody may be reading them just now."""
        self.loop.after(self.config.delete_delay_ms, lambda: self._remove(paths))

    def _remove(self, paths: list[str]) -> None:
        if not self.log.is_closed:
            self.loop.submit(snapshots.remove_job(self.loop.ports.disk, [path + ".deleted" for path in paths]))

    # Snapshots.

    def part_path(self, snapshot_id: OffsetAndEpoch) -> tuple[str, str]:
        """A new (name, path)."""
        self._files += 1
        name = snapshots.part_name(snapshot_id, self._files)
        return name, f"{self.directory}/{name}"

    async def write_snapshot(
        self,
        snapshot_id: OffsetAndEpoch,
        records: Iterable[tuple[Message, int]],
        quorum: list[Control],
        last_contained_log_timestamp: int,
    ) -> None:
        name, _ = self.part_path(snapshot_id)
        job = snapshots.write_job(
            self.loop.ports.disk,
            self.directory,
            snapshot_id,
            name,
            records,
            quorum,
            last_contained_log_timestamp,
            self._wall_ms,
            self.config.batch_bytes,
        )
        # Not in the directory's queue: a long snapshot must not hold up the fsync of the log.
        self.add_snapshot(await self.loop.submit(job))

    def add_snapshot(self, facts: SnapshotFacts) -> None:
        if all(known.id != facts.id for known in self.snapshots):
            self.snapshots = sorted([*self.snapshots, facts])

    async def install_snapshot(self, part: str, snapshot_id: OffsetAndEpoch) -> None:
        """The leader's snapshot is durable first; then the log gives way to it."""
        await self._quiet()
        job = snapshots.install_job(self.loop.ports.disk, self.directory, part, snapshot_id)
        facts, quorum = await self.run(job)
        self.add_snapshot(facts)
        self._controls = [(snapshot_id.offset - 1, quorum)]
        self.log.truncate_fully_and_start_at(snapshot_id.offset, self._wall_ms)
        self._unlink_cut_off()
        await self.flush()

    async def remove_part(self, part: str) -> None:
        await self.run(snapshots.remove_job(self.loop.ports.disk, [f"{self.directory}/{part}"]))

    def close(self) -> None:
        self.storage.files.close()


def _pread_job(file: DiskFile, size: int, position: int) -> JobOf[bytes]:
    data = file.pread(size, position)
    yield len(data)
    return data


def _nothing() -> JobOf[None]:
    yield 0
