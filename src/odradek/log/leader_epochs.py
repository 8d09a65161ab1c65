"""Which leader wrote which part of the log: epochs and the offset at which each began (L3).

Replicas compare these to find where their logs part (KIP-101, KIP-279). Epochs and start offsets both increase; an
entry that would break that drops the ones it contradicts, as they belong to records that have been truncated.

The cache changes in memory at once. Its file follows with the next flush, before the recovery point moves past the
records: what a crash takes from it, recovery reads again from the batches.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class LeaderEpochs:
    __slots__ = ("epochs", "is_dirty", "start_offsets")

    def __init__(self, entries: Iterable[tuple[int, int]] = ()) -> None:
        self.epochs: list[int] = []
        self.start_offsets: list[int] = []
        for epoch, start_offset in entries:
            self.assign(epoch, start_offset)
        self.is_dirty = False  # whether the file says something else

    def __repr__(self) -> str:
        return f"LeaderEpochs({self.entries})"

    @property
    def entries(self) -> list[tuple[int, int]]:
        return list(zip(self.epochs, self.start_offsets, strict=True))

    @property
    def latest_epoch(self) -> int:
        return self.epochs[-1] if self.epochs else UNDEFINED_EPOCH

    def assign(self, epoch: int, start_offset: int) -> None:
        """`epoch` begins at `start_offset`; a later offset of the latest epoch says nothing new."""
        if epoch < 0 or start_offset < 0:
            return
        if self.epochs and epoch == self.epochs[-1] and start_offset >= self.start_offsets[-1]:
            return
        keep = min(bisect_left(self.epochs, epoch), bisect_left(self.start_offsets, start_offset))
        self.epochs[keep:] = [epoch]
        self.start_offsets[keep:] = [start_offset]
        self.is_dirty = True

    def learn(self, epoch: int, offset: int) -> None:
        """There is a batch of `epoch` at `offset`, and none behind it yet: the log goes before what is known."""
        if epoch < 0 or self.epoch_for(offset) == epoch == self.latest_epoch:
            return
        self.truncate_from_end(offset)
        keep = bisect_right(self.epochs, epoch)
        if keep < len(self.epochs):
            del self.epochs[keep:]
            del self.start_offsets[keep:]
            self.is_dirty = True
        self.assign(epoch, offset)

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(epoch, end offset) of the largest epoch at or below `epoch`; (-1, -1) for one that nobody here knows."""
        if epoch == UNDEFINED_EPOCH or not self.epochs or epoch > self.epochs[-1]:
            return UNDEFINED_EPOCH, UNDEFINED_OFFSET
        if epoch == self.epochs[-1]:
            return epoch, log_end_offset
        higher = bisect_right(self.epochs, epoch)
        if higher == 0:
            # Older than all that is left: what its leader wrote ended at the latest where the first known one began.
            return epoch, self.start_offsets[0]
        return self.epochs[higher - 1], self.start_offsets[higher]

    def epoch_for(self, offset: int) -> int:
        """The epoch in which `offset` was written; -1 if that was before all that is known."""
        slot = bisect_right(self.start_offsets, offset) - 1
        return self.epochs[slot] if slot >= 0 else UNDEFINED_EPOCH

    def truncate_from_end(self, end_offset: int) -> None:
        """Forgets the epochs that begin at or past `end_offset`."""
        keep = bisect_left(self.start_offsets, end_offset)
        if keep < len(self.epochs):
            del self.epochs[keep:]
            del self.start_offsets[keep:]
            self.is_dirty = True

    def truncate_from_start(self, start_offset: int) -> None:
        """Forgets the epochs that ended before `start_offset`; the one that holds it now begins there."""
        drop = bisect_right(self.start_offsets, start_offset) - 1
        if drop < 0 or (drop == 0 and self.start_offsets[0] == start_offset):
            return
        del self.epochs[:drop]
        del self.start_offsets[:drop]
        self.start_offsets[0] = start_offset
        self.is_dirty = True

    def clear(self) -> None:
        self.is_dirty |= bool(self.epochs)
        self.epochs.clear()
        self.start_offsets.clear()
