"""Which of the records that a reader of committed ones gets were aborted (T1).

The transaction index tells, where this process has filled it. Where it was found on disk, the batches tell:
`transaction_facts` has the reason. A small range is walked at once, any other in a job, as with `soundness`, which
checks the same bytes on the way.
"""

from typing import TYPE_CHECKING

from odradek.broken_rule import present
from odradek.log.failure import NotInCache
from odradek.log.index import transaction_index
from odradek.log.index.transaction_index import AbortedTransaction
from odradek.log.segment.doubted_transactions import DoubtedTransactions
from odradek.log.segment.transaction_facts import First, TransactionFacts
from odradek.log.soundness import soundness
from odradek.log.soundness.soundness import RangeCheck

if TYPE_CHECKING:
    from odradek.log.segment.segment import Segment
    from odradek.log.soundness.checked_log import CheckedLog


def facts_at(
    log: "CheckedLog", segment: "Segment", doubted: DoubtedTransactions, position: int, needed_end: int, end: int
) -> TransactionFacts:
    """What the batches of a range say about transactions. The range holds the batch at `position` and ends at
    `needed_end`, or at `end` if it has to be walked.

    NotInCache if the walk has to be made elsewhere, LogDamaged if it meets damage.
    """
    while (known := doubted.at(position)) is None:
        _walk(log, segment, doubted, position, needed_end, min(end, doubted.end))
    return known


def whole_facts(log: "CheckedLog", segment: "Segment", doubted: DoubtedTransactions) -> TransactionFacts:
    while (known := doubted.whole()) is None:
        _walk(log, segment, doubted, 0, doubted.end, doubted.end)
    return known


def _walk(
    log: "CheckedLog", segment: "Segment", doubted: DoubtedTransactions, position: int, needed_end: int, end: int
) -> None:
    """At once if it is a small range in the page cache, and its markers are there too. Else NotInCache.

    A job goes on to the markers, to the end of the segment if it must.
    """
    segment.indexes.load_listed()
    check = RangeCheck(log, segment, position, needed_end, end, may_block=False, facts=TransactionFacts(position, end))
    if check.size <= soundness.CHECK_AT_ONCE_BYTES and _is_walked(log, segment, check):
        return
    facts = TransactionFacts(position, end)
    check = RangeCheck(log, segment, position, needed_end, doubted.end, may_block=False, facts=facts)
    file = segment.open_file()
    try:
        raise soundness.NotChecked(file, check.for_a_job())
    finally:
        file.release()


def _is_walked(log: "CheckedLog", segment: "Segment", check: RangeCheck) -> bool:
    """Whether the log knows more now: that the offset index is wrong, or what the batches tell."""
    facts = present(check.facts, "a walk for transactions gathers their facts")
    try:
        soundness.check_now(segment, check, may_block=False)
    except NotInCache:
        return False
    soundness.note(log, check)
    return check.is_index_wrong or facts.is_known


def aborted_among(
    log: "CheckedLog", segment: "Segment", facts: TransactionFacts, offset: int, end_position: int
) -> list[AbortedTransaction]:
    """Returns the aborted transactions with records from `offset` to `end_position`, which the facts cover."""
    found = facts.aborted_from(offset, end_position)
    still_open = facts.open_before(end_position)
    if still_open:
        found += _ended_later(log, segment, still_open)
    return found


def _ended_later(log: "CheckedLog", segment: "Segment", still_open: dict[int, First]) -> list[AbortedTransaction]:
    """The transactions that the doubted part of a segment leaves open and that a later marker aborts."""
    found = _among_believed(segment, still_open)
    following = log.segments.higher(segment.base_offset)
    while following is not None and still_open:
        doubted = following.indexes.doubted
        if doubted is not None and doubted.end:
            found += _among_markers(whole_facts(log, following, doubted), still_open)
        found += _among_believed(following, still_open)
        following = log.segments.higher(following.base_offset)
    return found


def _among_markers(facts: TransactionFacts, still_open: dict[int, First]) -> list[AbortedTransaction]:
    found = []
    for producer_id in [each for each in still_open if each in facts.first_markers]:
        first = still_open.pop(producer_id)
        marker_offset, is_abort = facts.first_markers[producer_id]
        if is_abort:
            found.append(AbortedTransaction(producer_id, first.offset, marker_offset, first.offset))
    return found


def _among_believed(segment: "Segment", still_open: dict[int, First]) -> list[AbortedTransaction]:
    found = []
    for entry in segment.indexes.believed():
        first = still_open.get(entry.producer_id)
        if first is not None and entry.first_offset <= first.offset <= entry.last_offset:
            del still_open[entry.producer_id]
            found.append(entry)
    return found


def aborted_by_index(log: "CheckedLog", segment: "Segment", offset: int, end_position: int) -> list[AbortedTransaction]:
    """The aborted transactions as the transaction index tells them, from behind the part of it that is doubted."""
    following = log.segments.higher(segment.base_offset)
    upper_bound = segment.offset_index().upper_bound(end_position)
    if upper_bound is None:
        upper_bound = log.log_end_offset if following is None else following.base_offset
    found: list[AbortedTransaction] = []
    current: Segment | None = segment
    while current is not None:
        some, is_complete = transaction_index.search(current.indexes.believed(), offset, upper_bound)
        found += some
        if is_complete:
            break
        current = log.segments.higher(current.base_offset)
    return found


def all_aborted(log: "CheckedLog") -> list[AbortedTransaction]:
    """Every aborted transaction with records in the log, for compaction. NotInCache as above."""
    found: list[AbortedTransaction] = []
    still_open: dict[int, First] = {}
    for segment in log.segments:
        doubted = segment.indexes.doubted
        if doubted is not None and doubted.end:
            facts = whole_facts(log, segment, doubted)
            found += _among_markers(facts, still_open)
            found += (seen.transaction for seen in facts.aborted)
            for producer_id, first in facts.open.items():
                still_open.setdefault(producer_id, first)
        found += segment.indexes.believed()
    return found
