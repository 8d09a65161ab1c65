"""The three indexes of a segment, loaded or not.

Those of the active segment are in memory, and their new entries are written to their files now and then. Those of a
sealed one are loaded when they are asked for and kept in the cache that all logs share. One that is missing or does not
check out counts as empty, which makes searches longer and no answer wrong; `needs_rebuild` tells that it happened.
"""

from bisect import bisect_left
from operator import attrgetter

from odradek.broken_rule import BrokenRuleError, instance
from odradek.log import names
from odradek.log.failpoint import failpoint
from odradek.log.failure import DiskFull, LogDamaged, NotInCache, storage_error
from odradek.log.index import transaction_index
from odradek.log.index.offset_index import ENTRY_SIZE as OFFSET_ENTRY_SIZE
from odradek.log.index.offset_index import OffsetIndex
from odradek.log.index.sparse_index import CorruptIndex
from odradek.log.index.time_index import ENTRY_SIZE as TIME_ENTRY_SIZE
from odradek.log.index.time_index import TimeIndex
from odradek.log.index.transaction_index import AbortedTransaction
from odradek.log.segment.doubted_transactions import DoubtedTransactions
from odradek.log.segment.segment_files import SegmentFiles
from odradek.log.segment.transaction_facts import TransactionFacts
from odradek.reactor.ports import Buffer

PENDING_ENTRIES_MAX = 64  # of the active offset index: about 256 KB of log at the default interval
NO_LIMIT_BYTES = 0x7FFF_FFFF
_LAST_OFFSET = attrgetter("last_offset")
_OF_THE_ACTIVE_SEGMENT = "the indexes of the active segment are in memory"
_UNDER_ITS_NAME = "an index is cached under the name of its file"


class SegmentIndexes:
    __slots__ = (
        "_aborted",
        "_files",
        "_written_aborted",
        "_written_offsets",
        "_written_times",
        "bytes_max",
        "doubted",
        "has_transactions",
        "is_full",
        "is_write_due",
        "needs_rebuild",
        "offsets",
        "times",
    )

    def __init__(self, files: SegmentFiles) -> None:
        self._files = files
        self.offsets: OffsetIndex | None = None  # of the active segment
        self.times: TimeIndex | None = None
        self._aborted: list[AbortedTransaction] | None = None
        self._written_offsets = 0  # entries that are in the files
        self._written_times = 0
        self._written_aborted = 0
        self.bytes_max = NO_LIMIT_BYTES
        self.is_full = False
        self.is_write_due = False
        self.has_transactions = False
        self.needs_rebuild = False
        self.doubted: DoubtedTransactions | None = None  # as long as the transaction index is that of another process

    # Of the active segment.

    def begin(self, bytes_max: int) -> None:
        """Empty ones, for a new segment."""
        self.offsets = OffsetIndex(self._files.base_offset)
        self.times = TimeIndex(self._files.base_offset)
        self._aborted = []
        self.bytes_max = bytes_max

    def open(self, bytes_max: int, log_size: int) -> None:
        """Loads them, to be added to. May block."""
        self.bytes_max = bytes_max
        offsets = self._load_offsets(log_size, may_block=True)
        times = self._load_times(may_block=True)
        self.aborted(may_block=True)
        self._files.set_size(names.OFFSET_INDEX, len(offsets) * OFFSET_ENTRY_SIZE)
        self._files.set_size(names.TIME_INDEX, len(times) * TIME_ENTRY_SIZE)
        self._written_offsets, self._written_times = len(offsets), len(times)
        self.offsets, self.times = offsets, times
        self._note_full()

    def append(self, last_offset: int, position: int, max_timestamp: int, offset_of_max_timestamp: int) -> None:
        offsets = self.offsets
        if offsets is None:
            raise BrokenRuleError(_OF_THE_ACTIVE_SEGMENT)
        offsets.append(last_offset, position)
        self.append_time(max_timestamp, offset_of_max_timestamp)
        self.is_write_due = len(offsets.offsets) - self._written_offsets >= PENDING_ENTRIES_MAX
        self._note_full()

    def append_time(self, max_timestamp: int, offset_of_max_timestamp: int) -> None:
        if self.times is not None and max_timestamp >= 0:
            self.times.maybe_append(max_timestamp, offset_of_max_timestamp)

    def _note_full(self) -> None:
        """The last slot for times is for the entry that sealing adds."""
        offsets, times, bytes_max = self.offsets, self.times, self.bytes_max
        if offsets is None or times is None:
            raise BrokenRuleError(_OF_THE_ACTIVE_SEGMENT)
        self.is_full = (len(offsets.offsets) + 1) * OFFSET_ENTRY_SIZE > bytes_max or (
            len(times.timestamps) + 2
        ) * TIME_ENTRY_SIZE > bytes_max

    def write_pending(self) -> None:
        """Into the page cache. Entries that did not get there stay pending, and are written again at their place."""
        if self.offsets is None or self.times is None:
            return
        failpoint("log.index.before_write")
        if self._written_offsets < len(self.offsets):
            data = self.offsets.encode(self._written_offsets)
            self._files.pwrite(names.OFFSET_INDEX, data, self._written_offsets * OFFSET_ENTRY_SIZE)
            self._written_offsets = len(self.offsets)
        if self._written_times < len(self.times):
            data = self.times.encode(self._written_times)
            self._files.pwrite(names.TIME_INDEX, data, self._written_times * TIME_ENTRY_SIZE)
            self._written_times = len(self.times)
        self._write_aborted()
        self.is_write_due = False

    def _write_aborted(self) -> None:
        if self._aborted is not None and self._written_aborted < len(self._aborted):
            data = transaction_index.encode(self._aborted[self._written_aborted :])
            self._files.pwrite(names.TRANSACTION_INDEX, data, self._written_aborted * transaction_index.ENTRY_SIZE)
            self._written_aborted = len(self._aborted)

    def add_aborted(self, aborted: AbortedTransaction) -> None:
        """The marker is in the log already: without space for the entry it stays in memory, to be written later."""
        self.aborted(may_block=True).append(aborted)
        self.has_transactions = True
        try:
            self._write_aborted()
        except DiskFull:
            self.is_write_due = True

    def seal(self) -> None:
        """Hands them to the cache: they are of a sealed segment now."""
        if self.offsets is None or self.times is None:
            raise BrokenRuleError(_OF_THE_ACTIVE_SEGMENT)
        self._files.storage.indexes.add(self._files.path(names.OFFSET_INDEX), self.offsets)
        self._files.storage.indexes.add(self._files.path(names.TIME_INDEX), self.times)
        self.forget()

    def forget(self) -> None:
        self.offsets = self.times = None
        if self.has_transactions:
            self._aborted = None

    def truncate_to(self, offset: int) -> None:
        """Keeps the entries below `offset`, in memory and on disk."""
        if self.offsets is None or self.times is None:
            raise BrokenRuleError(_OF_THE_ACTIVE_SEGMENT)
        self.offsets.truncate_to(offset)
        self.times.truncate_to(offset)
        self._written_offsets = min(self._written_offsets, len(self.offsets))
        self._written_times = min(self._written_times, len(self.times))
        self._files.set_size(names.OFFSET_INDEX, self._written_offsets * OFFSET_ENTRY_SIZE)
        self._files.set_size(names.TIME_INDEX, self._written_times * TIME_ENTRY_SIZE)
        aborted = self.aborted(may_block=True)
        kept = [entry for entry in aborted if entry.last_offset < offset]
        if len(kept) < len(aborted):
            self._aborted = kept
            self._written_aborted = min(self._written_aborted, len(kept))
            self._files.set_size(names.TRANSACTION_INDEX, self._written_aborted * transaction_index.ENTRY_SIZE)
        self._note_full()

    # Of any segment.

    def offset_index(self, log_size: int, *, may_block: bool) -> OffsetIndex:
        if self.offsets is not None:
            return self.offsets
        files = self._files
        path = files.known_path(names.OFFSET_INDEX)
        cached = files.storage.indexes.get(path)
        if cached is None:
            cached = self._load_offsets(log_size, may_block)
            files.storage.indexes.add(path, cached)
        return instance(cached, OffsetIndex, _UNDER_ITS_NAME)

    def time_index(self, *, may_block: bool) -> TimeIndex:
        if self.times is not None:
            return self.times
        path = self._files.path(names.TIME_INDEX)
        cached = self._files.storage.indexes.get(path)
        if cached is None:
            cached = self._load_times(may_block)
            self._files.storage.indexes.add(path, cached)
        return instance(cached, TimeIndex, _UNDER_ITS_NAME)

    def aborted(self, *, may_block: bool) -> list[AbortedTransaction]:
        """What the transaction index lists, whether or not it is believed."""
        try:
            return self._listed(may_block)
        except CorruptIndex as error:
            # Counting it as empty would show aborted records as committed (T1): better no answer.
            raise LogDamaged(str(error), self._files.path(names.TRANSACTION_INDEX)) from error

    def _listed(self, may_block: bool) -> list[AbortedTransaction]:
        if self._aborted is None:
            data = self._bytes(names.TRANSACTION_INDEX, may_block) if self.has_transactions else b""
            self._aborted = transaction_index.decode(bytes(data), self._files.base_offset)
            self._written_aborted = len(self._aborted)
        return self._aborted

    def believed(self) -> list[AbortedTransaction]:
        """What this process has entered into the transaction index."""
        doubted = self.doubted
        if doubted is None:
            return self.aborted(may_block=False)
        if doubted.end_offset is None:
            return []
        listed = self.aborted(may_block=False)
        return listed[bisect_left(listed, doubted.end_offset, key=_LAST_OFFSET) :]

    def load_listed(self) -> None:
        """For a comparison with what the batches tell. NotInCache if it has to be read ahead."""
        try:
            self._listed(may_block=False)
        except CorruptIndex:
            self.distrust()

    def learn(self, facts: TransactionFacts, end: int, *, believes_index: bool) -> None:
        """What a walk has told, if it got as far as it must. Compaction leaves entries without their records."""
        doubted = self.doubted
        if doubted is None:
            return
        facts.close(end)
        if facts.is_final or end == doubted.end:
            facts.is_known = True
            listed = self._aborted or []
            if not believes_index and facts.contradict(listed):
                self.distrust()
            facts.complete_by(listed)
            doubted.learn(facts)

    def distrust_offsets(self) -> None:
        """The offset index leads astray: until it has been rebuilt, searches begin at the start of the segment."""
        self.distrust()
        empty = OffsetIndex(self._files.base_offset)
        if self.offsets is not None:
            self.offsets = empty
            self._written_offsets = 0
        else:
            self._files.storage.indexes.add(self._files.path(names.OFFSET_INDEX), empty)

    def distrust(self) -> None:
        """One of them is wrong: all are built again, from the log."""
        if not self.needs_rebuild:
            self.needs_rebuild = True
            self._files.storage.index_damaged(self._files.directory, self._files.base_offset)

    def rebuilt(
        self, offsets: OffsetIndex, times: TimeIndex, aborted: list[AbortedTransaction], end_offset: int
    ) -> None:
        """Takes in what was read from the log up to `end_offset`. What was added to active ones since follows."""
        self.needs_rebuild = False
        if self.offsets is None or self.times is None:
            self.has_transactions = bool(aborted)
            self._aborted = aborted
            self._written_aborted = len(aborted)
            self._files.storage.forget(self._files.path(names.TRANSACTION_INDEX))
            for kind, index in ((names.OFFSET_INDEX, offsets), (names.TIME_INDEX, times)):
                path = self._files.path(kind)
                self._files.storage.forget(path)
                self._files.storage.indexes.add(path, index)
            return
        for offset, position in self.offsets.entries:
            if offset > offsets.last_offset:
                offsets.append(offset, position)
        for timestamp, offset in self.times.entries:
            if offset >= end_offset:
                times.maybe_append(timestamp, offset)
        self.offsets, self.times = offsets, times
        self._aborted = aborted + [entry for entry in self.aborted(may_block=True) if entry.last_offset >= end_offset]
        self.has_transactions = bool(self._aborted)
        self._written_offsets = self._written_times = self._written_aborted = 0
        self._files.set_size(names.OFFSET_INDEX, 0)
        self._files.set_size(names.TIME_INDEX, 0)
        if self._files.storage.disk.exists(self._files.path(names.TRANSACTION_INDEX)):
            self._files.set_size(names.TRANSACTION_INDEX, 0)
        self.write_pending()
        self._note_full()

    def _load_offsets(self, log_size: int, may_block: bool) -> OffsetIndex:
        try:
            data = bytes(self._bytes(names.OFFSET_INDEX, may_block))
            return OffsetIndex.decode(data, self._files.base_offset, log_size)
        except CorruptIndex:
            self.distrust()
            return OffsetIndex(self._files.base_offset)

    def _load_times(self, may_block: bool) -> TimeIndex:
        try:
            return TimeIndex.decode(bytes(self._bytes(names.TIME_INDEX, may_block)), self._files.base_offset)
        except CorruptIndex:
            self.distrust()
            return TimeIndex(self._files.base_offset)

    def _bytes(self, kind: str, may_block: bool) -> Buffer:
        path = self._files.path(kind)
        try:
            file = self._files.storage.files.get(path)
        except FileNotFoundError:
            raise CorruptIndex("the file is missing") from None
        except OSError as error:
            raise storage_error(error, "opening an index", path) from error
        try:
            size = file.disk_file.size()
            data = file.disk_file.pread(size, 0) if may_block else file.disk_file.pread_nowait(size, 0)
            if data is None:
                raise NotInCache(file, 0, size)
            return data
        except OSError as error:
            raise storage_error(error, "reading an index", path) from error
        finally:
            file.release()
