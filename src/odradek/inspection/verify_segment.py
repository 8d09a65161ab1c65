"""Checks one segment: frames, checksums and records of its batches, their order, and its three indexes, in one pass."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.inspection import file_forms
from odradek.inspection.batch_walk import ZEROS, BatchWalk
from odradek.inspection.file_forms import AbortedTransaction
from odradek.inspection.file_names import OFFSET_INDEX, TIME_INDEX, segment_file
from odradek.inspection.findings import NOTHING
from odradek.inspection.verify_index import OffsetIndexCheck, TimeIndexCheck
from odradek.protocol import errors
from odradek.reactor.ports import JobOf
from odradek.records.batch import Batch
from odradek.records.columns import scan

if TYPE_CHECKING:
    from odradek.inspection.verify_partition import PartitionCheck

RELATIVE_OFFSET_MAX = 0x7FFF_FFFF  # indexes count offsets from the segment's base in 31 bits


class SegmentCheck:
    __slots__ = (
        "_base_offset",
        "_end_position",
        "_is_cut",
        "_is_index_legal",
        "_is_legal",
        "_next_base",
        "_offsets",
        "_partition",
        "_report",
        "_times",
    )

    def __init__(self, partition: "PartitionCheck", base_offset: int, next_base: int | None) -> None:
        self._partition = partition
        self._report = partition.report
        self._base_offset = base_offset
        self._next_base = next_base
        self._end_position = 0
        self._is_cut = False  # the walk ended early: what the indexes say of the rest cannot be told
        # The indexes of a segment that ends past the recovery point are not synced.
        self._is_legal = not partition.is_clean and (next_base is None or partition.may_be_lost(next_base - 1))
        # A repair removes those of a segment that it mends, below the recovery point, too: the next start builds them.
        is_whole = all(partition.has(base_offset, suffix) for suffix in (OFFSET_INDEX, TIME_INDEX))
        self._is_index_legal = self._is_legal or not (partition.is_clean or is_whole)
        self._offsets: OffsetIndexCheck | None = None
        self._times: TimeIndexCheck | None = None

    def run(self) -> JobOf[None]:
        partition = self._partition
        partition.log_end_offset = max(partition.log_end_offset, self._base_offset)
        self._open_indexes()
        opened = partition.disk.open(partition.path(self._name("log")), writable=False)
        try:
            self._report.log_bytes += opened.size()
            yield from self._walk(BatchWalk(opened))
        finally:
            opened.close()
        if not self._is_cut:
            self._finish_indexes()

    def _name(self, suffix: str) -> str:
        return segment_file(self._base_offset, suffix)

    def _file(self, suffix: str) -> str:
        return self._partition.shown(self._name(suffix))

    def _open_indexes(self) -> None:
        data = self._read("index")
        if data is not None:
            index = file_forms.offset_index(data, self._base_offset)
            self._offsets = OffsetIndexCheck(self._report, self._file("index"), index, self._is_index_legal)
        data = self._read("timeindex")
        if data is not None:
            index = file_forms.time_index(data, self._base_offset)
            must_be_closed = self._next_base is not None or self._partition.is_clean
            is_legal = self._is_index_legal
            self._times = TimeIndexCheck(
                self._report, self._file("timeindex"), index, is_legal, must_be_closed and not is_legal
            )

    def _read(self, suffix: str) -> bytes | None:
        if not self._partition.has(self._base_offset, suffix):
            found = (self._file(suffix), None, "the file is missing: the next start builds it")
            if self._is_index_legal:
                self._report.note("L5", *found)
            else:
                self._report.error("L5", *found, remedy=NOTHING)
            return None
        return self._partition.disk.read(self._partition.path(self._name(suffix)))

    def _walk(self, walk: BatchWalk) -> JobOf[None]:
        for position, batch in walk:
            problem = self._problem(batch)
            if problem is not None:
                self._damaged(problem[0], position, problem[1])
                return
            self._end_position = position + batch.size
            yield batch.size
        tail = walk.tail
        if tail.kind == ZEROS:
            self._zeros(tail.position, tail.size)
        elif tail.is_damage:
            self._damaged("L2", tail.position, tail.reason)

    def _zeros(self, position: int, size: int) -> None:
        """Preallocation leaves them at the end of an active segment; a sealed one is trimmed."""
        reason = f"{size} bytes of zeros follow the last batch"
        if self._next_base is None or self._is_legal:
            self._report.note("L2", self._file("log"), position, reason)
        else:
            self._damaged("L2", position, reason)

    def _damaged(self, rule: str, position: int, reason: str) -> None:
        partition = self._partition
        self._is_cut = True
        if partition.may_be_lost(partition.log_end_offset):
            partition.is_ended = True
            reason = f"recovery ends the log here, at offset {partition.log_end_offset}: {reason}"
            self._report.note(rule, self._file("log"), position, reason)
            return
        partition.replay.is_broken = True
        self._report.error(rule, self._file("log"), position, reason)

    def _problem(self, batch: Batch) -> tuple[str, str] | None:
        """(rule, reason) if the batch is not sound; a sound one is counted in by everything that follows it."""
        try:
            batch.ensure_valid()
            offsets = scan(batch.buffer, check_crc=False, keep_control=True).offsets()
        except errors.KafkaError as error:
            return "L2", str(error)
        base_offset = batch.base_offset
        reason = self._order_problem(base_offset, batch.last_offset) or _record_problem(base_offset, batch, offsets)
        if reason is not None:
            return "L1", reason
        self._report.batches += 1
        self._report.records += len(offsets)
        return self._count_in(base_offset, batch, len(offsets))

    def _order_problem(self, base_offset: int, last_offset: int) -> str | None:
        end = self._partition.log_end_offset
        if last_offset < base_offset:
            return f"the batch {base_offset}-{last_offset} ends before it begins"
        if base_offset < self._base_offset:
            return f"the batch begins with offset {base_offset}, below the segment's {self._base_offset}"
        if base_offset < end:
            return f"the batch begins with offset {base_offset}, expected {end} or more"
        if self._next_base is not None and last_offset >= self._next_base:
            return f"the batch ends with offset {last_offset}, the next segment begins with {self._next_base}"
        if last_offset - self._base_offset > RELATIVE_OFFSET_MAX:
            return f"offset {last_offset} is too far from the segment's {self._base_offset} for its indexes"
        return None

    def _count_in(self, base_offset: int, batch: Batch, record_count: int) -> tuple[str, str] | None:
        partition, last_offset = self._partition, batch.last_offset
        reason = partition.epochs.see(batch.partition_leader_epoch, base_offset, partition.log_start_offset)
        if reason is not None:
            # The file of the epochs is written before the recovery point moves: past it, recovery asks the batches.
            is_legal = partition.may_be_lost(base_offset)
            self._report.judge(is_legal, "L3", self._file("log"), self._end_position, reason)
        partition.snapshots.before_batch(base_offset, last_offset)
        try:
            partition.replay.add(batch, base_offset)
        except errors.KafkaError as error:
            return "L2", str(error)
        if not (record_count or batch.has_producer_id):
            partition.replay.is_mended = True  # compaction keeps an empty batch for its producer alone
        partition.log_end_offset = last_offset + 1
        if self._offsets is not None:
            self._offsets.see(self._end_position, base_offset, last_offset)
        if self._times is not None:
            self._times.see(base_offset, last_offset, batch.max_timestamp, record_count == 0)
        return None

    def _finish_indexes(self) -> None:
        if self._offsets is not None:
            self._offsets.finish(self._end_position)
        if self._times is not None:
            self._times.finish()
        self._check_aborted(self._partition.replay.take_aborted())

    def _check_aborted(self, expected: list[AbortedTransaction]) -> None:
        file = self._file("txnindex")
        try:
            found = file_forms.transaction_index(self._aborted_bytes())
        except file_forms.MalformedFile as error:
            self._report.judge(self._is_index_legal, "txn index", file, error.position, error.reason)
            return
        replay = self._partition.replay
        is_known = replay.is_whole and not (replay.is_broken or replay.is_mended)
        if self._base_offset < self._partition.cleaned_below or not is_known:
            problem = self._loose_problem(found)
        else:
            problem = _aborted_problem(found, expected)
        if problem is not None:
            at, reason = problem
            self._report.judge(self._is_index_legal, "txn index", file, at * file_forms.ABORTED_ENTRY.size, reason)

    def _aborted_bytes(self) -> bytes:
        partition = self._partition
        if not partition.has(self._base_offset, "txnindex"):
            return b""  # made when the first transaction aborts
        return partition.disk.read(partition.path(self._name("txnindex")))

    def _loose_problem(self, found: list[AbortedTransaction]) -> tuple[int, str] | None:
        """Where the data of a transaction may be gone, its entry is at least possible and in order."""
        before = self._base_offset - 1
        end = self._partition.log_end_offset if self._next_base is None else self._next_base
        for at, entry in enumerate(found):
            if entry.first_offset > entry.last_offset or entry.last_stable_offset > entry.last_offset + 1:
                return at, f"{_described(entry)} cannot be"
            if not before < entry.last_offset < end:
                return at, f"{_described(entry)} has its marker outside this segment, or out of order"
            before = entry.last_offset
        return None


def _record_problem(base_offset: int, batch: Batch, offsets: Sequence[int]) -> str | None:
    before = base_offset - 1
    for offset in offsets:
        if offset <= before or offset > batch.last_offset:
            return f"a record of the batch {base_offset}-{batch.last_offset} has offset {offset} after {before}"
        before = offset
    return None


def _aborted_problem(found: list[AbortedTransaction], expected: list[AbortedTransaction]) -> tuple[int, str] | None:
    for at, (entry, wanted) in enumerate(zip(found, expected, strict=False)):
        if entry != wanted:
            return at, f"{_described(entry)}; the log has {_described(wanted)}"
    if len(found) > len(expected):
        return len(expected), f"{_described(found[len(expected)])} is not in the log"
    if len(found) < len(expected):
        return len(found), f"the log has {_described(expected[len(found)])}, which is missing"
    return None


def _described(entry: AbortedTransaction) -> str:
    return (
        f"the aborted transaction of producer {entry.producer_id} from {entry.first_offset} to {entry.last_offset} "
        f"(last stable offset {entry.last_stable_offset})"
    )
