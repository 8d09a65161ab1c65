"""One round of compaction of one log, as jobs: first the key map over the dirty section, then group after group.

A round is made of values: what the log was when the round began. Between the jobs the reactor swaps the finished group
in, if the log's generation is still the one of the round, so that no more than one group lies on the disk twice. A
round may end anywhere: what was swapped in is a sound log with the same last value for every key, and the next round
does the rest (L8). The jobs write nothing but `.cleaned` files, and yield after every chunk how many bytes they moved.

    round = yield from begin_round(disk, task)
    for group in round.groups:
        replacement = yield from clean_group(disk, round, group)     # None: nothing to change there
"""

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

from odradek.log import names
from odradek.log.cleaner.clean_batches import BatchCleaner, CleanStats, KeyIndexer, LastRecord
from odradek.log.cleaner.cleaned_segment import CleanedSegment, CleanedSegmentWriter
from odradek.log.cleaner.cleaned_transactions import CleanedTransactions
from odradek.log.cleaner.cleaner_kernel import KeyMap
from odradek.log.cleaner.key_map import slots_for
from odradek.log.cleaner.pure_cleaner import Retention
from odradek.log.cleaner.segment_groups import SegmentToClean, group_segments
from odradek.log.config import LogConfig
from odradek.log.dead_files import unlink_if_there
from odradek.log.failure import LogDamaged, storage_error
from odradek.log.index.transaction_index import AbortedTransaction
from odradek.log.loading.loaded import SegmentFacts
from odradek.protocol import errors
from odradek.reactor.ports import Disk, DiskFile
from odradek.records import layout
from odradek.records.batch import RecordBatch, batch_size
from odradek.records.legacy import LegacyBatch

T = TypeVar("T")

CHUNK_BYTES = 1 << 20


class CleanerLimits:
    """What one cleaner may use."""

    __slots__ = ("chunk_bytes", "key_map_bytes", "load_factor")

    def __init__(
        self, key_map_bytes: int = 128 << 20, load_factor: float = 0.9, chunk_bytes: int = CHUNK_BYTES
    ) -> None:
        self.key_map_bytes = key_map_bytes
        self.load_factor = load_factor
        self.chunk_bytes = chunk_bytes


class CleanTask:
    """A log as it is when the round begins.

    `segments` are (base offset, size in bytes) of all sealed segments below `first_uncleanable_offset`, which is itself
    the base offset of a segment. `aborted` are the aborted transactions of the whole log: the marker of one may be in a
    later segment. `active_producers` holds the newest record of each producer that the log still knows.
    """

    __slots__ = (
        "aborted",
        "active_producers",
        "config",
        "directory",
        "first_dirty_offset",
        "first_uncleanable_offset",
        "limits",
        "now_ms",
        "secret",
        "segments",
    )

    def __init__(
        self,
        directory: str,
        segments: Sequence[tuple[int, int]],
        *,
        first_dirty_offset: int,
        first_uncleanable_offset: int,
        config: LogConfig,
        now_ms: int,
        secret: bytes,
        aborted: Sequence[AbortedTransaction] = (),
        active_producers: dict[int, LastRecord] | None = None,
        limits: CleanerLimits | None = None,
    ) -> None:
        self.directory = directory
        self.segments = segments
        self.first_dirty_offset = first_dirty_offset
        self.first_uncleanable_offset = first_uncleanable_offset
        self.config = config
        self.now_ms = now_ms
        self.secret = secret
        self.aborted = aborted
        self.active_producers = active_producers or {}
        self.limits = limits or CleanerLimits()


class Replacement:
    """A cleaned segment, and the base offsets of those in whose place it steps."""

    __slots__ = ("cleaned", "replaced", "stats")

    def __init__(self, cleaned: CleanedSegment, replaced: list[int], stats: CleanStats) -> None:
        self.cleaned = cleaned
        self.replaced = replaced
        self.stats = stats

    def __repr__(self) -> str:
        return f"Replacement({self.cleaned} for {self.replaced})"

    def stems(self, directory: str) -> list[str]:
        """The paths of its files, without `.cleaned` or `.swap`."""
        return [f"{directory}/{names.file_name(self.cleaned.base_offset, suffix)}" for suffix in self.cleaned.suffixes]

    def facts(self) -> SegmentFacts:
        cleaned = self.cleaned
        return SegmentFacts(
            cleaned.base_offset,
            cleaned.size_bytes,
            cleaned.largest_timestamp,
            cleaned.offset_of_largest_timestamp,
            names.TRANSACTION_INDEX in cleaned.suffixes,
        )


class CleanRound:
    """What the jobs of one round hand on. `end_offset` is where the next round's dirty section begins."""

    __slots__ = ("_cleaner", "_transactions", "end_offset", "groups", "legacy_horizon_ms", "map_size", "stats", "task")

    def __init__(
        self, task: CleanTask, key_map: KeyMap, segments: list[SegmentToClean], aborted: list[AbortedTransaction]
    ) -> None:
        self.task = task
        self.end_offset = key_map.latest_offset + 1
        self.map_size = len(key_map)
        self.groups = group_segments(
            [segment for segment in segments if segment.base_offset < self.end_offset],
            task.config.roll_bytes,
            task.config.segment_index_bytes,
            task.first_uncleanable_offset,
        )
        self.legacy_horizon_ms = _legacy_horizon_ms(task, segments)
        self.stats = CleanStats()
        self._transactions = CleanedTransactions(aborted)
        self._cleaner = BatchCleaner(key_map, _retention(task), self._transactions, task.active_producers)

    def cleaner_for(self, segment: SegmentToClean) -> BatchCleaner:
        """The segments must come in order: transactions reach from one into the next."""
        self._cleaner.keep_legacy_tombstones = segment.last_modified_ms > self.legacy_horizon_ms
        return self._cleaner

    def group_ended(self) -> tuple[list[AbortedTransaction], CleanStats]:
        stats, self._cleaner.stats = self._cleaner.stats, CleanStats()
        self.stats.add(stats)
        return self._transactions.take_index_entries(), stats


def begin_round(disk: Disk, task: CleanTask) -> Generator[int, None, CleanRound]:
    """Builds the key map: as much of the dirty section as fits, at least one key."""
    try:
        return (yield from _begin_round(disk, task))
    except OSError as error:
        raise storage_error(error, "reading for compaction", task.directory) from error


def _begin_round(disk: Disk, task: CleanTask) -> Generator[int, None, CleanRound]:
    key_map = KeyMap(*_map_size(task), task.secret)
    key_map.advance(task.first_dirty_offset - 1)  # nothing in the clean part is newer than the last round
    aborted = list(task.aborted)
    indexer = KeyIndexer(key_map, task.first_dirty_offset, CleanedTransactions(aborted))
    ends = [base_offset for base_offset, _ in task.segments] + [task.first_uncleanable_offset]
    for (base_offset, size_bytes), end_offset in zip(task.segments, ends[1:], strict=True):
        if end_offset <= task.first_dirty_offset:
            continue
        yield from _index_segment(disk, task, base_offset, size_bytes, indexer)
        if indexer.is_full:
            break
        key_map.advance(end_offset - 1)  # also where the segment ends in a gap
    segments = [_described(disk, task.directory, *segment) for segment in task.segments]
    return CleanRound(task, key_map, segments, aborted)


def clean_group(
    disk: Disk, round_: CleanRound, group: list[SegmentToClean]
) -> Generator[int, None, Replacement | None]:
    """Writes what is left of a group. None if that is exactly what is there: the group stays as it is."""
    try:
        return (yield from _clean_group(disk, round_, group))
    except OSError as error:
        raise storage_error(error, "compaction", round_.task.directory) from error


def _clean_group(
    disk: Disk, round_: CleanRound, group: list[SegmentToClean]
) -> Generator[int, None, Replacement | None]:
    task = round_.task
    writer = CleanedSegmentWriter(disk, task.directory, group[0].base_offset, task.config)
    try:
        for segment in group:
            yield from _clean_segment(disk, task, segment, round_.cleaner_for(segment), writer)
        aborted, stats = round_.group_ended()
        if len(group) == 1 and stats.is_unchanged:
            writer.discard()
            return None
        cleaned = writer.finish(aborted)
    except BaseException:  # also when the job is cancelled or closed at a yield
        writer.discard()
        raise
    return Replacement(cleaned, [segment.base_offset for segment in group], stats)


def discard(disk: Disk, directory: str, replacement: Replacement) -> Generator[int, None, None]:
    """Removes what was cleaned for a log that has changed meanwhile, the log file first: loading goes by that one."""
    for stem in replacement.stems(directory):
        for path in (stem + names.CLEANED, stem + names.SWAP):
            unlink_if_there(disk, path)
        yield 0


# --- segments in chunks ---


class _Chunks:
    """Reads a segment from front to back, as many whole batches at a time as a chunk holds, one at least."""

    __slots__ = ("_chunk_bytes", "_file", "_size_bytes", "position")

    def __init__(self, file: DiskFile, size_bytes: int, chunk_bytes: int) -> None:
        self._file = file
        self._size_bytes = size_bytes
        self._chunk_bytes = chunk_bytes
        self.position = 0

    @property
    def is_at_end(self) -> bool:
        return self.position >= self._size_bytes

    def use(self, work: Callable[[bytes], T]) -> T:
        """Hands over what comes next. LogDamaged if it is not what was written."""
        chunk = self._read()
        try:
            return work(chunk)
        except errors.CorruptMessage as error:
            at = _first_damaged(chunk)
            if at is None:
                raise  # sound as it was written: then it cannot be cleaned, and can be read
            raise LogDamaged(error.message, self._file.path, self.position + at) from error

    def _read(self) -> bytes:
        remaining = self._size_bytes - self.position
        chunk = self._file.pread(min(self._chunk_bytes, remaining), self.position)
        needed = self._size_of_first(chunk)
        if needed is not None and len(chunk) < needed <= remaining:
            chunk = self._file.pread(needed, self.position)
        if needed is None or len(chunk) < needed:
            raise LogDamaged("a batch is cut off", self._file.path, self.position)
        return chunk

    def _size_of_first(self, chunk: bytes) -> int | None:
        try:
            return batch_size(memoryview(chunk), 0)
        except errors.CorruptMessage as error:
            raise LogDamaged(error.message, self._file.path, self.position) from error


def _first_damaged(chunk: bytes) -> int | None:
    """Where the first batch begins that is not what was written."""
    view, at = memoryview(chunk), 0
    try:
        while (size := batch_size(view, at)) is not None and at + size <= len(view):
            batch = view[at : at + size]
            is_legacy = batch[layout.MAGIC_OFFSET] < layout.MAGIC_MAX
            (LegacyBatch(batch) if is_legacy else RecordBatch(batch)).ensure_valid()
            at += size
    except errors.CorruptMessage:
        return at
    return None


def _index_segment(
    disk: Disk, task: CleanTask, base_offset: int, size_bytes: int, indexer: KeyIndexer
) -> Generator[int, None, None]:
    file = disk.open(names.log_path(task.directory, base_offset), writable=False)
    try:
        chunks = _Chunks(file, size_bytes, task.limits.chunk_bytes)
        while not chunks.is_at_end and not indexer.is_full:
            consumed = chunks.use(indexer.add)
            chunks.position += consumed
            yield consumed
    finally:
        file.close()


def _clean_segment(
    disk: Disk, task: CleanTask, segment: SegmentToClean, cleaner: BatchCleaner, writer: CleanedSegmentWriter
) -> Generator[int, None, None]:
    file = disk.open(names.log_path(task.directory, segment.base_offset), writable=False)
    try:
        chunks = _Chunks(file, segment.size_bytes, task.limits.chunk_bytes)
        while not chunks.is_at_end:
            consumed, left = chunks.use(cleaner.clean)
            chunks.position += consumed
            yield consumed + writer.append(left)
    finally:
        file.close()


# --- what the round starts from ---


def _map_size(task: CleanTask) -> tuple[int, int]:
    limits = task.limits
    offsets_max = task.first_uncleanable_offset - task.first_dirty_offset
    return slots_for(limits.key_map_bytes, limits.load_factor, offsets_max)


def _retention(task: CleanTask) -> Retention:
    last_data_offsets = {
        producer_id: last.last_data_offset
        for producer_id, last in task.active_producers.items()
        if last.last_data_offset is not None
    }
    return Retention(task.now_ms, task.config.delete_retention_ms, task.first_uncleanable_offset, last_data_offsets)


def _described(disk: Disk, directory: str, base_offset: int, size_bytes: int) -> SegmentToClean:
    """Indexes are at most a few megabytes, and looking at their sizes beats loading them."""
    path = names.log_path(directory, base_offset)
    stem = path.removesuffix(names.LOG)
    return SegmentToClean(
        base_offset,
        size_bytes,
        _size(disk, stem + names.OFFSET_INDEX),
        _size(disk, stem + names.TIME_INDEX),
        disk.mtime_ms(path),
    )


def _size(disk: Disk, path: str) -> int:
    return disk.size(path) if disk.exists(path) else 0


def _legacy_horizon_ms(task: CleanTask, segments: list[SegmentToClean]) -> int:
    """Messages before magic 2 cannot carry a delete horizon: the age of the newest clean segment stands in for it."""
    clean = [segment for segment in segments if segment.base_offset < task.first_dirty_offset]
    return clean[-1].last_modified_ms - task.config.delete_retention_ms if clean else 0
