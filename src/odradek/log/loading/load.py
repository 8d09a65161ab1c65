"""Opens the directory of a partition, as a job: names and sizes, the end of the last segment, producers and epochs.

After a clean stop that is all: no log is read but for the tail of the last segment, no index is loaded, no file stays
open. After any other end recovery reads what is past the recovery point. An index that is missing or does not fit its
log is rebuilt in both cases.
"""

from odradek.log import checkpoint, names
from odradek.log.checkpoint import CorruptCheckpoint
from odradek.log.config import LogConfig
from odradek.log.dead_files import unlink_all, unlink_if_there
from odradek.log.failure import LogDamaged, file_error
from odradek.log.index import transaction_index
from odradek.log.index.sparse_index import CorruptIndex
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.loading.loaded import LoadedLog, SegmentFacts
from odradek.log.loading.lost_segments import lost_segments
from odradek.log.loading.recovery import (
    Progress,
    apply_scan,
    drop_snapshots,
    epoch_witness,
    rebuild_plan,
    recover,
    scan_job,
)
from odradek.log.loading.swap_files import finish_or_undo
from odradek.log.producers.producer_rebuild import rebuild_job
from odradek.log.producers.producer_state import PRODUCER_ID_EXPIRATION_MS
from odradek.log.segment.segment_scan import SegmentScan
from odradek.log.segment.segment_tail import LastEntry, claimed_offset, last_index_entry, last_time_entry, next_offset
from odradek.reactor.ports import Disk, JobOf


def load_log(
    disk: Disk,
    directory: str,
    topic_partition: str,
    config: LogConfig,
    *,
    had_clean_shutdown: bool,
    recovery_point: int,
    log_start_offset: int,
    now_ms: int,
    producer_id_expiration_ms: int = PRODUCER_ID_EXPIRATION_MS,
    progress: Progress | None = None,
    snapshot_offset: int = 0,
) -> JobOf[LoadedLog]:
    """Returns a LoadedLog. `recovery_point` and `log_start_offset` are those of the checkpoints, 0 if there is none.

    Below `snapshot_offset` a snapshot stands for the log: it may begin anew there, and a crash may come meanwhile.
    """
    try:
        return (
            yield from _Loader(
                disk, directory, topic_partition, config, now_ms, producer_id_expiration_ms, progress
            ).load(had_clean_shutdown, recovery_point, log_start_offset, snapshot_offset)
        )
    except OSError as error:
        raise file_error(error, "loading", directory) from error


class _Loader:
    __slots__ = ("config", "directory", "disk", "expiration_ms", "loaded", "now_ms", "progress")

    def __init__(
        self,
        disk: Disk,
        directory: str,
        topic_partition: str,
        config: LogConfig,
        now_ms: int,
        expiration_ms: int,
        progress: Progress | None,
    ) -> None:
        self.disk = disk
        self.directory = directory
        self.config = config
        self.now_ms = now_ms
        self.expiration_ms = expiration_ms
        self.progress = progress
        self.loaded = LoadedLog(directory, topic_partition)

    def load(
        self, had_clean_shutdown: bool, recovery_point: int, log_start_offset: int, snapshot_offset: int
    ) -> JobOf[LoadedLog]:
        loaded = self.loaded
        loaded.log_start_offset = log_start_offset
        loaded.epochs = self._read_epochs()
        listing = finish_or_undo(self.disk, self.directory, self.disk.list(self.directory))
        kinds = self._files_of_segments(listing)
        lost = lost_segments(
            kinds,
            loaded.epochs.start_offsets,
            is_clean=had_clean_shutdown,
            recovery_point=recovery_point,
            log_start_offset=max(log_start_offset, snapshot_offset),
        )
        if lost:
            raise LogDamaged(lost[0].reason, f"{self.directory}/{lost[0].file}")
        stale = self._add_segments(kinds)
        if loaded.segments:
            stale = stale if had_clean_shutdown else self._below(stale, recovery_point)
            yield from self._reindex(stale, recovery_point)
            if had_clean_shutdown:
                yield from self._find_end(recovery_point)
                self._refuse_changed(recovery_point)
            else:
                yield from self._recover(recovery_point)
            self._drop_if_deleted(log_start_offset)
        if not loaded.segments:
            self._begin_at(log_start_offset)
        elif loaded.log_end_offset < recovery_point:
            self._refuse_missing(recovery_point)
        self._set_offsets(had_clean_shutdown, recovery_point, log_start_offset)
        bounds = range(loaded.segments[0].base_offset, loaded.log_end_offset + 1)
        drop_snapshots(self.disk, loaded, lambda offset: offset not in bounds)
        if had_clean_shutdown:
            yield from self._load_producers()
        return loaded

    def _read_epochs(self) -> LeaderEpochs:
        path = f"{self.directory}/{names.LEADER_EPOCHS}"
        try:
            entries = checkpoint.parse_epochs(self.disk.read(path))
            epochs = LeaderEpochs(entries)
            if epochs.entries != entries:
                raise CorruptCheckpoint("the epochs and their start offsets do not increase", 0)
            return epochs
        except FileNotFoundError:
            return LeaderEpochs()
        except CorruptCheckpoint as error:
            raise LogDamaged(f"the leader epochs are damaged: {error}", path) from error

    # Which files there are.

    def _files_of_segments(self, listing: list[str]) -> dict[int, list[str]]:
        """Their kinds by base offset. Fills in the snapshots."""
        kinds: dict[int, list[str]] = {}
        for name in listing:
            parts = names.split(name)
            if parts is None or parts[2]:
                continue
            if parts[1] == names.PRODUCER_SNAPSHOT:
                self.loaded.snapshots.append(parts[0])
            elif parts[1] in names.SEGMENT_FILES:
                kinds.setdefault(parts[0], []).append(parts[1])
        return kinds

    def _add_segments(self, kinds: dict[int, list[str]]) -> list[SegmentFacts]:
        """Returns the segments whose indexes have to be rebuilt."""
        stale = []
        for base_offset, present in sorted(kinds.items()):
            if names.LOG not in present:
                self._remove_orphans(base_offset, present)
            elif not self._add_segment(base_offset, present):
                stale.append(self.loaded.segments[-1])
        self._remove_stray_snapshots()
        return stale

    def _stem(self, base_offset: int) -> str:
        return f"{self.directory}/{names.file_name(base_offset, '')}"

    def _remove_orphans(self, base_offset: int, present: list[str]) -> None:
        unlink_all(self.disk, (self._stem(base_offset) + kind for kind in present))

    def _add_segment(self, base_offset: int, present: list[str]) -> bool:
        """False if its indexes are missing or do not fit."""
        stem = self._stem(base_offset)
        facts = SegmentFacts(base_offset, self.disk.size(stem + names.LOG))
        facts.has_transaction_index = names.TRANSACTION_INDEX in present
        self.loaded.segments.append(facts)
        try:
            if not {names.OFFSET_INDEX, names.TIME_INDEX} <= set(present):
                return False
            self._check_indexes(stem, facts)
        except CorruptIndex:
            return False
        return True

    def _check_indexes(self, stem: str, facts: SegmentFacts) -> None:
        last_index_entry(self.disk, stem + names.OFFSET_INDEX, facts.base_offset, facts.size)
        facts.max_timestamp, facts.offset_of_max_timestamp = last_time_entry(
            self.disk, stem + names.TIME_INDEX, facts.base_offset
        )
        if not facts.size and facts.max_timestamp >= 0:
            raise CorruptIndex("it has entries, and the log is empty")
        if facts.has_transaction_index:
            transaction_index.decode(self.disk.read(stem + names.TRANSACTION_INDEX), facts.base_offset)

    def _remove_stray_snapshots(self) -> None:
        """Keeps those at the start of a segment, and the newest of all, which a clean close left at the log's end."""
        bases = {facts.base_offset for facts in self.loaded.segments}
        strays = [offset for offset in self.loaded.snapshots if offset not in bases]
        newest = strays[-1] if strays and strays[-1] > max(bases, default=-1) else None
        drop_snapshots(self.disk, self.loaded, lambda offset: offset not in bases and offset != newest)

    # Indexes that have to be built again.

    def _below(self, stale: list[SegmentFacts], recovery_point: int) -> list[SegmentFacts]:
        """Returns the segments that recovery will not come to."""
        bases = [facts.base_offset for facts in self.loaded.segments if facts.base_offset <= recovery_point]
        return [facts for facts in stale if bases and facts.base_offset < bases[-1]]

    def _reindex(self, stale: list[SegmentFacts], recovery_point: int) -> JobOf[None]:
        for facts in stale:
            producers = yield from rebuild_job(
                self.disk, rebuild_plan(self.loaded, facts.base_offset, self.now_ms, self.expiration_ms)
            )
            scan = SegmentScan(
                facts.base_offset,
                self.config.index_interval_bytes,
                producers,
                witness=epoch_witness(self.loaded, recovery_point),
                witnessed_to=recovery_point,
            )
            yield from scan_job(self.disk, self.directory, scan, facts.size)
            if scan.fault is not None:
                path = self._stem(facts.base_offset) + names.LOG
                raise LogDamaged(f"{scan.fault}, in a segment that was closed", path, scan.valid_bytes)
            self._refuse_shortened(facts, scan)
            apply_scan(self.disk, self.directory, facts, scan, atomically=True)
            self.loaded.reindexed.append(self._stem(facts.base_offset) + names.LOG)

    def _refuse_shortened(self, facts: SegmentFacts, scan: SegmentScan) -> None:
        """An index may lead past the end of its log because the log was cut: then the next segment does not follow.

        Compaction leaves such gaps too, but no index that knows of records in them.
        """
        following = [other.base_offset for other in self.loaded.segments if other.base_offset > facts.base_offset]
        stem = self._stem(facts.base_offset)
        claimed = claimed_offset(self.disk, stem, facts.base_offset)
        if following and scan.next_offset <= claimed < following[0]:
            raise LogDamaged(
                f"the segment ends at offset {scan.next_offset}, and its indexes know of {claimed}: its end was lost",
                stem + names.LOG,
                scan.valid_bytes,
            )

    # The end of the log.

    def _find_end(self, recovery_point: int) -> JobOf[None]:
        """After a clean stop. A tail that does not hold is read as after a crash."""
        self._drop_false_start()
        facts = self.loaded.segments[-1]
        log = self._stem(facts.base_offset) + names.LOG
        try:
            end_offset, end = next_offset(self.disk, log, facts.base_offset, facts.size, self._last_entry(facts))
        except CorruptIndex:
            yield from self._reindex([facts], recovery_point)
            end_offset, end = next_offset(self.disk, log, facts.base_offset, facts.size, self._last_entry(facts))
        self.loaded.log_end_offset = end_offset
        if end < facts.size:
            yield from self._recover(recovery_point)

    def _last_entry(self, facts: SegmentFacts) -> LastEntry | None:
        if not facts.size:
            return None
        path = self._stem(facts.base_offset) + names.OFFSET_INDEX
        return last_index_entry(self.disk, path, facts.base_offset, facts.size)

    def _drop_false_start(self) -> None:
        """An empty last segment that begins inside the one before: a roll that found no space and a crash after it."""
        segments = self.loaded.segments
        if len(segments) < 2 or segments[-1].size:
            return
        before = segments[-2]
        log = self._stem(before.base_offset) + names.LOG
        try:
            end_offset, _ = next_offset(self.disk, log, before.base_offset, before.size, self._last_entry(before))
        except CorruptIndex:
            end_offset, _ = next_offset(self.disk, log, before.base_offset, before.size, None)
        if end_offset > segments[-1].base_offset:
            self._remove_orphans(segments.pop().base_offset, list(names.SEGMENT_FILES))

    def _recover(self, recovery_point: int) -> JobOf[None]:
        self._drop_false_start()
        yield from recover(
            self.disk, self.loaded, self.config, recovery_point, self.now_ms, self.expiration_ms, self.progress
        )

    def _drop_if_deleted(self, log_start_offset: int) -> None:
        """Every record lies below the log start offset: what is left of them is not part of the log."""
        if self.loaded.log_end_offset >= log_start_offset:
            return
        for facts in self.loaded.segments:
            self._remove_orphans(facts.base_offset, list(names.SEGMENT_FILES))
        self.loaded.segments.clear()
        self.loaded.epochs.clear()
        drop_snapshots(self.disk, self.loaded, lambda offset: True)
        self.loaded.producers.clear(log_start_offset)

    def _refuse_missing(self, recovery_point: int) -> None:
        raise LogDamaged(
            f"{self.loaded.topic_partition} ends at offset {self.loaded.log_end_offset}; it was on disk up to "
            f"{recovery_point}, so the disk has lost records",
            self._stem(self.loaded.segments[-1].base_offset) + names.LOG,
            self.loaded.segments[-1].size,
        )

    def _refuse_changed(self, recovery_point: int) -> None:
        """A clean stop makes everything durable and says so: another end is an offset that has changed since.

        Believed, it could lie below the log start offset, and the whole log would be taken for deleted.
        """
        if recovery_point in (0, self.loaded.log_end_offset):
            return  # 0: there was no checkpoint
        raise LogDamaged(
            f"{self.loaded.topic_partition} ends at offset {self.loaded.log_end_offset}; it was closed at "
            f"{recovery_point}, so the disk has damaged the offsets of its last batches",
            self._stem(self.loaded.segments[-1].base_offset) + names.LOG,
            self.loaded.segments[-1].size,
        )

    def _begin_at(self, offset: int) -> None:
        """An empty log has one empty segment, durably: without its name a later one would seem to be the first."""
        for kind in (names.OFFSET_INDEX, names.TIME_INDEX, names.LOG):
            file = self.disk.open(self._stem(offset) + kind, create=True)
            file.truncate(0)
            file.close()
        unlink_if_there(self.disk, self._stem(offset) + names.TRANSACTION_INDEX)
        self.loaded.segments.append(SegmentFacts(offset, 0))
        self.loaded.log_end_offset = offset
        self.disk.fsync_dir(self.directory)
        self.loaded.producers.clear(offset)

    def _set_offsets(self, had_clean_shutdown: bool, recovery_point: int, log_start_offset: int) -> None:
        loaded = self.loaded
        loaded.log_start_offset = max(log_start_offset, loaded.segments[0].base_offset)
        is_untouched = had_clean_shutdown and not loaded.unflushed
        loaded.recovery_point = loaded.log_end_offset if is_untouched else min(recovery_point, loaded.log_end_offset)
        loaded.epochs.truncate_from_end(loaded.log_end_offset)  # one that begins at the end has no record to tell of it
        loaded.epochs.truncate_from_start(loaded.log_start_offset)

    def _load_producers(self) -> JobOf[None]:
        """Without any snapshot a clean stop had no producers, or an older release wrote the log."""
        loaded = self.loaded
        if not loaded.snapshots:
            loaded.producers.clear(loaded.log_end_offset)
            return
        plan = rebuild_plan(loaded, loaded.log_end_offset, self.now_ms, self.expiration_ms)
        loaded.producers = yield from rebuild_job(self.disk, plan)
        loaded.snapshots = plan.snapshots
