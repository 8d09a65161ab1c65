"""Who else knows how far a sealed segment reached: it may have been cut where a batch ends, and looks whole.

Then offsets are missing before the next segment begins. Compaction leaves such gaps too, and a follower copies them
from its leader; so a gap by itself proves nothing. It does where something speaks of an offset in it:

- the offset and time index of the segment, in any log (`BatchCheck.confirm_end`);
- the leader epoch cache: an epoch that began in the gap did so where the log ended, or with a batch;
- the producer snapshot that was taken when the next segment began: the last batch of each producer until then;
- the transaction index of the segment: the markers of aborted transactions.

All but the first may speak of what compaction has removed since. They count only in a log that it has never touched:
those that it has have an offset in the cleaner's checkpoint, whatever their policy is now.
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.log import names
from odradek.log.failure import storage_error
from odradek.log.index import transaction_index
from odradek.log.index.sparse_index import CorruptIndex
from odradek.log.producers import producer_snapshot
from odradek.log.producers.producer_snapshot import CorruptSnapshot
from odradek.reactor.ports import Disk

if TYPE_CHECKING:
    from odradek.log.segment.segment import Segment
    from odradek.log.soundness.checked_log import CheckedLog

NOTHING = -1


def is_gapless(log: "CheckedLog") -> bool:
    return not log.was_compacted and not log.config.is_compacted


def claimed_by_epochs(log: "CheckedLog", end_offset: int) -> int:
    """An offset below `end_offset` that is in the log, or was.

    The first entry begins where the log does since records were deleted, and not where its epoch did.
    """
    starts = log.epochs.start_offsets
    slot = bisect_left(starts, end_offset) - 1
    return starts[slot] - 1 if slot > 0 else NOTHING


class FileWitness:
    """The files that speak of the offsets of a segment. They are read only where there is a gap behind it."""

    __slots__ = ("_base_offset", "_disk", "_end_offset", "_snapshot_path", "_transactions_path")

    def __init__(self, log: "CheckedLog", segment: "Segment", end_offset: int) -> None:
        self._disk: Disk = log.storage.disk
        self._base_offset = segment.base_offset
        self._end_offset = end_offset
        self._snapshot_path = producer_snapshot.path_of(log.directory, end_offset)
        self._transactions_path = segment.path(names.TRANSACTION_INDEX)

    def claimed_offset(self) -> int:
        """Blocks. A file that is gone or damaged claims nothing."""
        known = [*_offsets_in(self._disk, self._snapshot_path, _last_batches)]
        known += _offsets_in(self._disk, self._transactions_path, self._abort_markers)
        return max((offset for offset in known if offset < self._end_offset), default=NOTHING)

    def _abort_markers(self, data: bytes) -> list[int]:
        return [entry.last_offset for entry in transaction_index.decode(data, self._base_offset)]


def _last_batches(data: bytes) -> list[int]:
    return [entry.last_data_offset for entry in producer_snapshot.decode(data)]


def _offsets_in(disk: Disk, path: str, parse: Callable[[bytes], list[int]]) -> list[int]:
    try:
        return parse(disk.read(path))
    except (FileNotFoundError, CorruptSnapshot, CorruptIndex):
        return []
    except OSError as error:
        raise storage_error(error, "reading", path) from error
