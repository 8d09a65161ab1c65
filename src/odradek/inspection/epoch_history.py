"""Leader epochs as the file and the batches have them, and batches that contradict the file.

Entries are (epoch, start offset), both rising: the epoch lasts until the next one starts.
"""

from bisect import bisect_right

from odradek.records.layout import NO_LEADER_EPOCH

Entries = list[tuple[int, int]]
Doubt = tuple[int, str]  # the position of a batch, and what is wrong with it


def is_rising(entries: Entries) -> bool:
    before = (-1, -1)
    for entry in entries:
        if entry[0] <= before[0] or entry[1] <= before[1]:
            return False
        before = entry
    return True


def learn(entries: Entries, epoch: int, base_offset: int) -> None:
    """A batch of this epoch is at this offset, the last one so far: epochs above its own cannot have been before."""
    if epoch < 0:
        return
    while entries and entries[-1][0] > epoch:
        entries.pop()
    if not entries or entries[-1][0] < epoch:
        entries.append((epoch, base_offset))


def epoch_at(entries: Entries, offset: int) -> int:
    known = [epoch for epoch, start in entries if start <= offset]
    return known[-1] if known else NO_LEADER_EPOCH


def _start_of(entry: tuple[int, int]) -> int:
    return entry[1]


class EpochDoubts:
    """Batches of one segment whose epoch is not the one that the file gives them, and which of the two is wrong.

    The file can be wrong while all batches are right. When epochs begin anew below those of the log, as after the loss
    of a ZooKeeper, Kafka drops the entries that contradict the new one; the entry before them then seems to last until
    there, over batches that were never its own. So a batch that differs is the damaged one for certain only if nothing
    can have been dropped behind its entry: the entry is the last, or a later batch agrees with it, or the batch has the
    epoch of the entry that follows, before that starts, or it is the very batch that started its entry.
    """

    __slots__ = ("_doubt", "_doubted_entry", "_entries")

    def __init__(self, entries: Entries) -> None:
        self._entries = entries
        self._doubt: Doubt | None = None
        self._doubted_entry = -1

    def see(self, epoch: int, base_offset: int, position: int) -> Doubt | None:
        """The batch that is damaged for certain: this one, or one before it that this one speaks against."""
        at = bisect_right(self._entries, base_offset, key=_start_of) - 1
        if at < 0 or epoch == NO_LEADER_EPOCH:
            return None  # older than all that is known
        expected = self._entries[at][0]
        if epoch == expected:
            return self._doubt if self._doubted_entry == at else None
        doubt = position, f"the batch at offset {base_offset} has leader epoch {epoch}, not {expected}"
        if self._is_certain(at, epoch, base_offset):
            return doubt
        if self._doubted_entry != at:
            self._doubt, self._doubted_entry = doubt, at
        return None

    def _is_certain(self, at: int, epoch: int, base_offset: int) -> bool:
        if at == len(self._entries) - 1 or epoch == self._entries[at + 1][0]:
            return True
        # The start of the first entry moves up when the log's beginning is deleted: then it is no batch's own.
        return self._entries[at][1] == base_offset and (at > 0 or base_offset == 0)
