"""No byte is served that was not checked since the process began (L2).

What is appended, recovered or written by compaction was checked on its way in. What a clean stop left behind was not:
its first read checks it, batch by batch, from the entry of the offset index before it to its end. So everything that
was passed over on the way to the answer is proved too, and a lost batch cannot go unnoticed. A small range that is in
the page cache is checked at once; any other is read ahead by a job, which checks it off the reactor's thread, and the
read is tried again when the log has been told.

A check that fails sets the log aside: the bytes were sound when it was closed.
"""

from typing import TYPE_CHECKING

from odradek.broken_rule import BrokenRuleError
from odradek.log import names
from odradek.log.batches.batch_check import PEEK_BYTES, BatchCheck, Peeked, peek
from odradek.log.batches.batch_pieces import PIECE_BYTES
from odradek.log.batches.batch_search import DamagedSegment, Found
from odradek.log.failure import LogDamaged, NotInCache, storage_error
from odradek.log.index.sparse_index import CorruptIndex
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.segment import unchecked
from odradek.log.segment.segment import Segment, read_segment
from odradek.log.segment.transaction_facts import TransactionFacts
from odradek.log.soundness import lost_end
from odradek.log.soundness.lost_end import FileWitness
from odradek.reactor.file_range import File
from odradek.reactor.ports import DiskFile, JobOf
from odradek.records import layout

if TYPE_CHECKING:
    from odradek.log.soundness.checked_log import CheckedLog

CHECK_AT_ONCE_BYTES = 128 << 10  # of small batches: about a millisecond
CHECK_AHEAD_BYTES_MAX = 1 << 20  # beyond the first batch, however much a fetch asks for


class RangeCheck:
    """What a job needs to check a range of a segment, as plain values, and what it has found."""

    __slots__ = (
        "base_offset",
        "checked_end",
        "claimed_offset",
        "damage",
        "end",
        "end_offset",
        "entry_offset",
        "epochs",
        "facts",
        "first_offset",
        "following",
        "generation",
        "is_index_wrong",
        "needed_end",
        "segment_size",
        "start",
        "witness",
    )

    def __init__(
        self,
        log: "CheckedLog",
        segment: Segment,
        start: int,
        needed_end: int,
        end: int,
        *,
        may_block: bool,
        facts: TransactionFacts | None = None,
    ) -> None:
        """With `facts`, what the batches say about transactions is noted on the way: `committed` asks for it."""
        following = log.segments.higher(segment.base_offset)
        self.generation = log.generation
        self.base_offset = segment.base_offset
        self.segment_size = segment.size
        self.entry_offset, self.start, self.first_offset = segment.offset_index(may_block=True).anchor(start)
        self.needed_end = needed_end
        self.end = end
        self.end_offset = log.log_end_offset if following is None else following.base_offset
        self.claimed_offset = segment.offset_of_max_timestamp if segment.max_timestamp >= 0 else segment.base_offset - 1
        self.epochs = log.epochs
        self.facts = facts
        self.following: Peeked | None = None
        self.witness: FileWitness | None = None  # to be asked where the end may have been lost
        if following is not None and lost_end.is_gapless(log):
            self.claimed_offset = max(self.claimed_offset, lost_end.claimed_by_epochs(log, self.end_offset))
            self.witness = FileWitness(log, segment, self.end_offset)
        reaches_end = end == segment.size or facts is not None
        if following is not None and reaches_end and len(log.epochs.epochs) > 1:
            self.following = _first_of(following, may_block)
        self.checked_end = self.start  # what lies before it is sound
        self.damage: DamagedSegment | None = None
        self.is_index_wrong = False

    @property
    def is_decided(self) -> bool:
        return self.is_index_wrong or self.damage is not None

    @property
    def is_over(self) -> bool:
        return self.is_decided or (self.facts is not None and self.facts.is_final)

    @property
    def size(self) -> int:
        return self.end - self.start

    def for_a_job(self) -> "RangeCheck":
        """Returns itself, with a copy of the epochs: the reactor may change them while the job reads."""
        self.epochs = LeaderEpochs(self.epochs.entries)
        return self

    def walk(self) -> BatchCheck:
        return BatchCheck(
            self.start, self.segment_size, self.first_offset, self.end_offset, self.entry_offset, self.epochs
        )

    def must_ask(self, walk: BatchCheck) -> bool:
        """Whether the segment ends before the next one begins, and nobody has said yet that it should not."""
        is_whole = walk.position == self.segment_size and not self.is_decided
        return is_whole and self.witness is not None and walk.next_offset < self.end_offset

    def ask(self, walk: BatchCheck) -> None:
        if self.witness is None:
            raise BrokenRuleError("only a range that ends its segment has a second witness to ask")
        try:
            walk.confirm_end(self.witness.claimed_offset())
        except DamagedSegment as damage:
            self.damage = damage
            self.checked_end = self.start  # so that whoever asks again is told again

    def with_peek(self, end: int) -> int:
        return min(end + PEEK_BYTES, self.segment_size)


def locate(
    log: "CheckedLog", segment: Segment, offset: int, *, wanted_bytes: int = 0, may_block: bool = False
) -> Found | None:
    """`Segment.locate`, where what was passed over on the way is sound, and so is the batch that was found.

    `wanted_bytes` are looked at in the same go, as far as there are whole batches.
    """
    index = segment.offset_index(may_block=may_block)
    found = segment.locate_by(index, offset, may_block)
    if not segment.unchecked:
        return found
    needed_end = segment.size if found is None else found[0] + found[1]
    end = needed_end
    if found is not None:
        end = max(end, min(found[0] + min(wanted_bytes, CHECK_AHEAD_BYTES_MAX), segment.size))
    if segment.unchecked[0] < end:
        if segment.indexes.needs_rebuild:
            index = segment.offset_index(may_block=may_block)  # it was found out just now
        _, start = index.lookup(offset)
        if unchecked.first_in(segment.unchecked, start, end) is None:
            return found
        ensure_sound(log, segment, start, needed_end, end, may_block=may_block)
        if segment.indexes.needs_rebuild:
            found = segment.locate(offset, may_block=may_block)  # the index has led astray
    return found


def ensure_sound(
    log: "CheckedLog", segment: Segment, start: int, needed_end: int, end: int, *, may_block: bool = False
) -> int:
    """Up to where a range that begins with a batch may be served: from `needed_end`, where another ends, to `end`.

    It may be less than is wanted: what was checked before goes out first, and so do only whole batches of the rest.
    LogDamaged if it is damaged, NotInCache if that has to be found out elsewhere.
    """
    first = unchecked.first_in(segment.unchecked, start, end)
    if first is None:
        return end
    if first >= needed_end:
        return first
    check = RangeCheck(log, segment, first, needed_end, end, may_block=may_block)
    check_now(segment, check, may_block)
    note(log, check)
    if check.is_index_wrong:
        return ensure_sound(log, segment, start, needed_end, end, may_block=may_block)
    return check.checked_end


def _first_of(segment: Segment, may_block: bool) -> Peeked | None:
    """The beginning of its first batch, which bears witness to the epoch of the last one in the segment before."""
    if segment.size < PEEK_BYTES:
        return None
    file = segment.open_file()
    try:
        return peek(read_segment(file, PEEK_BYTES, 0, may_block))
    finally:
        file.release()


class NotChecked(NotInCache):
    """The range has to be checked as it is read ahead, and the log told: a read of it is refused until then."""

    def __init__(self, file: File, check: RangeCheck) -> None:
        super().__init__(file, check.start, check.size)
        self.check = check


def check_now(segment: Segment, check: RangeCheck, may_block: bool) -> None:
    file = segment.open_file()
    try:
        if check.size > CHECK_AT_ONCE_BYTES and not may_block:
            raise NotChecked(file, check.for_a_job())
        size = check.with_peek(check.end) - check.start
        try:
            data = read_segment(file, size, check.start, may_block)
        except NotInCache:
            raise NotChecked(file, check.for_a_job()) from None
        walk = check.walk()
        _take(check, walk, memoryview(data), size)
        if check.must_ask(walk):
            if not may_block:
                raise NotChecked(file, check.for_a_job())
            check.ask(walk)
    finally:
        file.release()


def _take(check: RangeCheck, walk: BatchCheck, piece: memoryview, size: int) -> int:
    """The piece should have `size` bytes, and reaches past the end of the range; how much of it was whole batches."""
    try:
        if len(piece) < size:
            raise DamagedSegment("the file is shorter than it was", walk.position + len(piece))
        position = walk.position
        used = walk.take(piece)
        if check.facts is not None:
            check.facts.take(piece[:used], position)
        if walk.position == check.segment_size:
            walk.confirm_end(check.claimed_offset)
            if check.following is not None:
                walk.confirm_by(check.following)
    except DamagedSegment as damage:
        if walk.is_proving_the_index:
            check.is_index_wrong = True  # or the log is damaged: the next check, from the start of the segment, tells
        else:
            check.damage = damage
        return 0
    except CorruptIndex:
        check.is_index_wrong = True
        return 0
    check.checked_end = walk.position
    return used


def check_job(file: DiskFile, check: RangeCheck) -> JobOf[RangeCheck]:
    """Reads and checks the range; the verdict is in `check`, for `note`. A batch larger than a piece is read again."""
    walk = check.walk()
    piece_bytes = PIECE_BYTES
    while walk.position < check.end and not check.is_over:
        end = min(walk.position + piece_bytes, check.end)
        size = check.with_peek(end) - walk.position
        data = _pread(file, size, walk.position)
        used = _take(check, walk, memoryview(data), size)
        yield used
        if end == check.end and not used:
            break  # the last batch is cut off by the end of the range
        piece_bytes = PIECE_BYTES if used or check.is_decided else peek(data).length + layout.LOG_OVERHEAD
    if check.must_ask(walk):
        check.ask(walk)
    return check


def _pread(file: DiskFile, size: int, position: int) -> bytes:
    try:
        return file.pread(size, position)
    except OSError as error:
        raise storage_error(error, "reading ahead", file.path) from error


def note(log: "CheckedLog", check: RangeCheck) -> None:
    """Applies a verdict, unless the log has changed its past since. LogDamaged for damage."""
    segment = log.segments.get(check.base_offset)
    if check.generation != log.generation or segment is None or log.is_closed:
        return
    if check.is_index_wrong:
        segment.indexes.distrust_offsets()
    segment.unchecked = unchecked.without(segment.unchecked, check.start, check.checked_end)
    if check.facts is not None and not check.is_decided:
        segment.indexes.learn(check.facts, check.checked_end, believes_index=log.config.is_compacted)
    if check.checked_end < check.needed_end and not check.is_decided:
        check.damage = DamagedSegment("a batch is cut off", check.checked_end)
    if check.damage is not None:
        raise LogDamaged(
            f"{check.damage.reason}; it was sound when the log was closed, so the disk has damaged it",
            segment.path(names.LOG),
            check.damage.position,
        )
