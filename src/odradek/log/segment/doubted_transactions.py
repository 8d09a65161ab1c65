"""The part of a segment whose transaction index was found on disk, and what its batches have told about it since.

That is everything up to `end`, in bytes, and up to `end_offset`, which is None if the segment was sealed then. What a
process appends behind it enters the index by the producer state, and is believed. Where one segment is doubted, all
before it are: a transaction may end in a later segment, and a reader who believes the first would have to believe the
second.
"""

from collections.abc import Sequence

from odradek.broken_rule import present
from odradek.log.segment.transaction_facts import TransactionFacts

RANGES_MAX = 64  # of one segment: beyond that the first are forgotten, and walked again by the next read


class DoubtedTransactions:
    __slots__ = ("_ranges", "end", "end_offset")

    def __init__(self, end: int, end_offset: int | None) -> None:
        self.end = end
        self.end_offset = end_offset
        self._ranges: Sequence[TransactionFacts] = ()  # by start; they may overlap

    def at(self, position: int) -> TransactionFacts | None:
        """What is known of a range that holds the batch at `position`, or None."""
        for known in self._ranges:
            if known.end is not None and known.start <= position < known.end:
                return known
        return None

    def whole(self) -> TransactionFacts | None:
        known = self.at(0)
        return known if known is not None and known.end == self.end else None

    def learn(self, facts: TransactionFacts) -> None:
        end = present(facts.end, "facts are learnt once their walk has ended")
        kept = [known for known in self._ranges if not facts.start <= known.start < end]
        before = next((known for known in kept if known.end == facts.start), None)
        if before is not None:
            before.absorb(facts)
        else:
            kept.append(facts)
            kept.sort(key=lambda known: known.start)
        self._ranges = kept[-RANGES_MAX:]

    def cut(self, end: int, end_offset: int) -> None:
        """The segment was truncated: transactions may be open again that had ended."""
        self.end = min(self.end, end)
        self.end_offset = end_offset if self.end_offset is None else min(self.end_offset, end_offset)
        self._ranges = ()
