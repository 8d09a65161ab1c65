"""Checks of the files that say where things are in a segment, made in step with one walk over its batches.

Each check is fed every batch in order and reports the first thing that is wrong with its file, not every consequence.
"""

from collections import deque

from odradek.inspection import file_forms
from odradek.inspection.file_forms import SparseIndex
from odradek.inspection.findings import Report
from odradek.records.layout import NO_LEADER_EPOCH, NO_TIMESTAMP


class IndexCheck:
    """What the two sparse indexes have in common. `is_legal`: a crash may have left the file in any state."""

    __slots__ = ("_at", "_entry_size", "_file", "_is_legal", "_report", "entries", "is_done")

    def __init__(self, report: Report, file: str, index: SparseIndex, entry_size: int, is_legal: bool) -> None:
        self._report = report
        self._file = file
        self._entry_size = entry_size
        self._is_legal = is_legal
        self._at = 0
        self.entries = index.entries
        self.is_done = False
        used = len(index.entries) * entry_size
        if index.odd_bytes:
            self._problem(used + index.zero_tail, f"{index.odd_bytes} bytes are too few for an entry")
        elif index.zero_tail:
            report.judge(is_legal, "L5", file, used, f"{index.zero_tail} bytes of zeros were preallocated, not trimmed")

    def _problem(self, position: int, message: str) -> None:
        self._report.judge(self._is_legal, "L5", self._file, position, message)
        self.is_done = True

    def _problem_at(self, entry: int, message: str) -> None:
        self._problem(entry * self._entry_size, message)


class OffsetIndexCheck(IndexCheck):
    """An entry (offset, position): a batch begins there, and the offset is the last of that batch or of a later one.

    A later one, because an append of several batches is one entry: its last offset, and where its first batch begins.
    """

    __slots__ = ("_awaited",)

    def __init__(self, report: Report, file: str, index: SparseIndex, is_legal: bool) -> None:
        super().__init__(report, file, index, file_forms.OFFSET_ENTRY.size, is_legal)
        self._awaited: deque[tuple[int, int]] = deque()  # offset, entry: the batch it ends has not come yet
        self._check_order()

    def _check_order(self) -> None:
        before = (-1, -1)
        for at, entry in enumerate(self.entries):
            if entry[0] <= before[0] or entry[1] <= before[1]:
                self._problem_at(
                    at, f"offset {entry[0]} at {entry[1]} does not follow offset {before[0]} at {before[1]}"
                )
                return
            before = entry

    def see(self, position: int, base_offset: int, last_offset: int) -> None:
        if self.is_done:
            return
        if self._at < len(self.entries) and self.entries[self._at][1] <= position:
            self._begin(position, base_offset)
        while self._awaited and self._awaited[0][0] <= last_offset and not self.is_done:
            offset, at = self._awaited.popleft()
            if offset != last_offset:
                self._problem_at(at, f"offset {offset} ends no batch; the one that holds it ends at {last_offset}")

    def _begin(self, position: int, base_offset: int) -> None:
        offset, indexed = self.entries[self._at]
        if indexed < position:
            self._problem_at(self._at, f"no batch begins at {indexed}, where offset {offset} should be")
        elif offset < base_offset:
            self._problem_at(self._at, f"the batch at {indexed} begins with offset {base_offset}, after {offset}")
        self._awaited.append((offset, self._at))
        self._at += 1

    def finish(self, end_position: int) -> None:
        if self.is_done:
            return
        if self._at < len(self.entries):
            offset, indexed = self.entries[self._at]
            self._problem_at(self._at, f"offset {offset} should be at {indexed}; the last batch ends at {end_position}")
        elif self._awaited:
            offset, at = self._awaited[0]
            self._problem_at(at, f"offset {offset} is past the last batch")


class TimeIndexCheck(IndexCheck):
    """An entry (timestamp, offset): the batch that holds the offset has the largest timestamp up to there.

    Batches that compaction emptied keep their timestamp in the header; a cleaned index may count them or not.
    """

    __slots__ = ("_largest", "_largest_kept", "_must_be_closed")

    def __init__(self, report: Report, file: str, index: SparseIndex, is_legal: bool, must_be_closed: bool) -> None:
        super().__init__(report, file, index, file_forms.TIME_ENTRY.size, is_legal)
        self._largest = self._largest_kept = NO_TIMESTAMP
        self._must_be_closed = must_be_closed
        self._check_order()

    def _check_order(self) -> None:
        before = (NO_TIMESTAMP - 1, -1)
        for at, entry in enumerate(self.entries):
            if entry[0] <= before[0] or entry[1] < before[1]:
                self._problem_at(
                    at, f"timestamp {entry[0]} of offset {entry[1]} does not follow {before[0]} of {before[1]}"
                )
                return
            before = entry

    def see(self, base_offset: int, last_offset: int, max_timestamp: int, is_empty: bool) -> None:
        self._largest = max(self._largest, max_timestamp)
        if not is_empty:
            self._largest_kept = max(self._largest_kept, max_timestamp)
        while not self.is_done and self._at < len(self.entries) and self.entries[self._at][1] <= last_offset:
            timestamp, offset = self.entries[self._at]
            if offset < base_offset:
                self._problem_at(self._at, f"no batch holds offset {offset}")
            elif timestamp not in (self._largest, self._largest_kept) or timestamp > max_timestamp:
                self._problem_at(
                    self._at,
                    f"timestamp {timestamp} of offset {offset}: its batch has {max_timestamp}, "
                    f"the largest up to there is {self._largest}",
                )
            self._at += 1

    def finish(self) -> None:
        if self.is_done:
            return
        if self._at < len(self.entries):
            self._problem_at(self._at, f"offset {self.entries[self._at][1]} is past the last batch")
        elif self._must_be_closed and self._largest_kept > NO_TIMESTAMP:
            last = self.entries[-1][0] if self.entries else None
            if last not in (self._largest, self._largest_kept):
                end = len(self.entries) * self._entry_size
                self._problem(end, f"the last entry has timestamp {last}, the segment's largest is {self._largest}")


class EpochCheck:
    """L3: epochs and their start offsets rise, and every batch has the epoch that the file gives its offset.

    `entries` is None if there is no such file, or none that can be read.
    """

    __slots__ = ("_at", "_is_done", "entries", "file", "latest_epoch")

    def __init__(self, file: str, entries: list[tuple[int, int]] | None) -> None:
        self.file = file
        self.entries = entries
        self._at = 0  # how many entries start at or before the offset last asked for
        self._is_done = False
        self.latest_epoch = NO_LEADER_EPOCH  # of the batches so far

    def order_problem(self) -> tuple[int, str] | None:
        """(line, reason) of the first entry that does not follow the one before it."""
        before = (-1, -1)
        for line, (epoch, start) in enumerate(self.entries or (), 3):
            if epoch <= before[0] or start <= before[1]:
                return line, f"epoch {epoch} from {start} on does not follow epoch {before[0]} from {before[1]} on"
            before = (epoch, start)
        return None

    def see(self, epoch: int, base_offset: int, log_start_offset: int) -> str | None:
        """What is wrong with a batch of this epoch at this offset; after the first answer None, as for nothing."""
        if self._is_done or epoch == NO_LEADER_EPOCH:
            return None
        reason = self._reason(epoch, base_offset, log_start_offset)
        self.latest_epoch = epoch
        self._is_done = reason is not None
        return reason

    def _reason(self, epoch: int, base_offset: int, log_start_offset: int) -> str | None:
        if epoch < self.latest_epoch:
            return f"the batch has leader epoch {epoch}, after a batch of {self.latest_epoch}"
        if self.entries is None or base_offset < log_start_offset:
            return None
        expected = self._epoch_at(base_offset)
        if expected == epoch:
            return None
        return f"the batch has leader epoch {epoch}, {self.file} gives offset {base_offset} the epoch {expected}"

    def _epoch_at(self, offset: int) -> int | None:
        entries = self.entries or []
        while self._at < len(entries) and entries[self._at][1] <= offset:
            self._at += 1
        return entries[self._at - 1][0] if self._at else None
