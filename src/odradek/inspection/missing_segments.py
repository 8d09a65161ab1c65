"""Segments whose `.log` file is gone, told by what else is in the log dir.

Where no `.log` file is left, the recovery point tells, after a crash too: a checkpoint names a log only when its first
file is on disk. Where some are left, only a clean stop lets the others tell: retention and compaction remove files as
well, and a crash in the middle of it leaves an index without its log. After a clean stop an offset or time index comes
with its log, and the log has a segment where it starts: at the log start offset of the checkpoint, or, for a log that
starts where its first segment does, where the first leader epoch starts.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from odradek.inspection import file_names

TELLING = {file_names.LOG, file_names.OFFSET_INDEX, file_names.TIME_INDEX}  # a transaction index may be there alone


class MissingSegment(NamedTuple):
    """It held the offsets from `first` up to `end`. `is_only`: the log has no other segment."""

    first: int
    end: int
    is_only: bool = False

    @property
    def file(self) -> str:
        return file_names.segment_file(self.first, file_names.LOG)

    @property
    def reason(self) -> str:
        if self.is_only:
            return f"the file is gone: the log ends at offset {self.first}, it was on disk up to {self.end}"
        return f"the file is gone: it held the offsets from {self.first} up to {self.end}"


def missing_segments(
    suffixes: Mapping[int, set[str]],
    *,
    log_start_offset: int,
    recovery_point: int,
    first_epoch_start: int | None,
    is_clean: bool,
) -> list[MissingSegment]:
    """`suffixes` are those of the files that each base offset has.

    What is missing behind the last segment is not told here: the end of the log tells it.
    """
    last = max((base for base, present in suffixes.items() if file_names.LOG in present), default=None)
    if last is None:
        is_lost = recovery_point > log_start_offset
        return [MissingSegment(log_start_offset, recovery_point, is_only=True)] if is_lost else []
    if not is_clean:
        return []
    is_there = {base: file_names.LOG in present for base, present in suffixes.items() if present & TELLING}
    start = log_start_offset or first_epoch_start
    if start is not None and start < min(is_there):
        is_there[start] = False
    return [
        MissingSegment(base, following)
        for base, following in pairwise(sorted(is_there))
        if not is_there[base] and base < last and following > log_start_offset
    ]
