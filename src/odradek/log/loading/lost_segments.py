"""Segments whose `.log` file is gone: what is left in the directory, and the checkpoints, still tell of them.

Without any `.log` file the recovery point tells, after a crash too: the first file of a log is durable before a
checkpoint names it, and a log that is to begin anew has 0 there until it has (`manager/checkpointed_truncation.py`).

With others left only a log dir that was stopped cleanly can tell. Retention and compaction remove files too, and a
crash in the middle of it leaves an index without its log, and checkpoints and leader epochs from before. After a clean
stop all of them are exact: indexes come with their log, and neither the log start offset of the checkpoint nor the
first leader epoch lies below the first segment. (The checkpoint names only logs that begin inside their first segment;
the others begin where it does.)
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from odradek.log import names

INDEXES = (names.OFFSET_INDEX, names.TIME_INDEX)  # the third may go alone: it is there only if it has entries

Kinds = Mapping[int, Sequence[str]]  # which files there are of each segment, by its base offset


class LostSegment(NamedTuple):
    """Offsets from `first` up to `end`. `is_all`: no other segment is left."""

    first: int
    end: int
    is_all: bool = False

    @property
    def file(self) -> str:
        return names.file_name(self.first, names.LOG)

    @property
    def reason(self) -> str:
        if self.is_all:
            return f"the file is gone: the log ends at offset {self.first}, it was on disk up to {self.end}"
        return f"the file is gone: it held the offsets from {self.first} up to {self.end}"


def lost_segments(
    kinds: Kinds, epoch_starts: Sequence[int], *, is_clean: bool, recovery_point: int, log_start_offset: int
) -> list[LostSegment]:
    """Those before the last one that is there: what is missing behind it, the end of the log tells."""
    logs = sorted(base for base, present in kinds.items() if names.LOG in present)
    if not logs:
        is_lost = recovery_point > log_start_offset
        return [LostSegment(log_start_offset, recovery_point, is_all=True)] if is_lost else []
    if not is_clean:
        return []
    lost = [
        base for base, present in kinds.items() if names.LOG not in present and not set(INDEXES).isdisjoint(present)
    ]
    start = log_start_offset or (epoch_starts[0] if epoch_starts else logs[0])
    if start < min([logs[0], *lost]):
        lost.append(start)
    bases = sorted({*logs, *lost})
    found = [LostSegment(base, end) for base, end in pairwise(bases) if base in lost and base < logs[-1]]
    return [each for each in found if each.end > log_start_offset]
