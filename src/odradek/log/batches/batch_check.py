"""Whether batches are what was once written: their checksums, their order, and the second witnesses of what these miss.

The checksum covers a batch from its attributes on. The fields before it have other witnesses:

| field | witness |
|---|---|
| length, magic, the checksum itself | the checksum does not fit any more |
| base offset | the batches on both sides, the entry of the offset index, the next segment, the end of the log (L1) |
| leader epoch | the leader epoch cache (L3) |

Where compaction has left a gap, a base offset that moves within it is seen by nobody. Of the leader epochs see
`EpochWitness`.
"""

from bisect import bisect_right
from struct import Struct
from typing import NamedTuple

from odradek.log.batches.batch_search import DamagedSegment
from odradek.log.index.sparse_index import CorruptIndex
from odradek.log.leader_epochs import LeaderEpochs
from odradek.protocol import errors
from odradek.reactor.ports import Buffer
from odradek.records import layout
from odradek.records.batch import batch_size
from odradek.records.crc import crc32c
from odradek.records.layout import NO_LEADER_EPOCH
from odradek.records.legacy import LegacyBatch

_PEEK = Struct(">qiib")  # base offset, length, leader epoch, magic
PEEK_BYTES = _PEEK.size  # of the batch behind the last one: its offset proves that of the last
_OFFSET_END = 1 << 63
_LENGTH_MIN = layout.LENGTH_MIN[2]


class Peeked(NamedTuple):
    """The beginning of a batch."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int


def peek(data: Buffer, at: int = 0) -> Peeked:
    return Peeked(*_PEEK.unpack_from(data, at))


class EpochWitness:
    """Compares the epochs of batches with the cache: DamagedSegment where one of the batches must be wrong.

    A cache can claim too much. When leader epochs begin anew below those of the log, as after the loss of a ZooKeeper,
    Kafka drops the entries that contradict the new one, and the entry before them seems to last until there. So a batch
    that differs is damaged for certain only if a later one of the same entry does not, if the entry is the last, if it
    is the batch that began the epoch, or if its epoch is the next one, which has not begun.
    """

    __slots__ = ("_epochs", "_starts", "_suspect", "_suspect_slot", "epoch", "from_offset", "to_offset")

    def __init__(self, epochs: LeaderEpochs) -> None:
        self._epochs = epochs.epochs
        self._starts = epochs.start_offsets
        self._suspect: DamagedSegment | None = None
        self._suspect_slot = -1
        # What was seen last, and where the next batch needs no look at all.
        self.epoch, self.from_offset, self.to_offset = NO_LEADER_EPOCH, 0, 0

    def see(self, epoch: int, base_offset: int, position: int) -> None:
        slot = bisect_right(self._starts, base_offset) - 1
        if slot < 0 or epoch == NO_LEADER_EPOCH:
            self._trust(epoch, 0, self._starts[0] if self._starts and slot < 0 else _OFFSET_END)
            return  # older than all that is known
        if epoch == self._epochs[slot]:
            self.confirm(slot)
            starts = self._starts
            self._trust(epoch, starts[slot], starts[slot + 1] if slot + 1 < len(starts) else _OFFSET_END)
            return
        self.to_offset = 0  # look at every one from now on
        reason = f"the batch at offset {base_offset} has leader epoch {epoch}, not {self._epochs[slot]}"
        if slot == len(self._starts) - 1 or epoch == self._epochs[slot + 1] or self._begins_at(base_offset, slot):
            raise DamagedSegment(reason, position)
        if self._suspect_slot != slot:
            self._suspect, self._suspect_slot = DamagedSegment(reason, position), slot

    def _trust(self, epoch: int, from_offset: int, to_offset: int) -> None:
        self.epoch, self.from_offset, self.to_offset = epoch, from_offset, to_offset

    def _begins_at(self, base_offset: int, slot: int) -> bool:
        """Whether it is the very batch that began the epoch. The first entry says so of an offset that was deleted."""
        return self._starts[slot] == base_offset and (slot > 0 or not base_offset)

    def confirm(self, slot: int) -> None:
        """A batch of this entry has its epoch: then one before that had not was wrong."""
        if self._suspect is not None and self._suspect_slot == slot:
            raise self._suspect

    def confirm_by(self, following: Peeked) -> None:
        """Confirms an epoch's entry by the first batch of the next segment, if that was written in the same epoch."""
        slot = bisect_right(self._starts, following.base_offset) - 1
        if slot >= 0 and following.magic == layout.MAGIC_MAX and following.leader_epoch == self._epochs[slot]:
            self.confirm(slot)


class BatchCheck:
    """`take` pieces of a segment from `position` on, where a batch begins; DamagedSegment at the first wrong one.

    `first_offset` and `end_offset` are bounds of the offsets. `entry_offset` is what the index says of the first
    position, if it says anything: CorruptIndex if no batch ends there.
    """

    __slots__ = ("_end_offset", "_entry_offset", "_epochs", "_segment_size", "next_offset", "position")

    def __init__(
        self,
        position: int,
        segment_size: int,
        first_offset: int,
        end_offset: int,
        entry_offset: int | None,
        epochs: LeaderEpochs,
    ) -> None:
        self.position = position
        self.next_offset = first_offset
        self._segment_size = segment_size
        self._end_offset = end_offset
        self._entry_offset = entry_offset
        self._epochs = EpochWitness(epochs)

    @property
    def is_proving_the_index(self) -> bool:
        """No batch has ended yet where the index says that one does."""
        return self._entry_offset is not None

    def take(self, piece: memoryview) -> int:
        """How many of its bytes are whole batches, and sound; what follows them is only asked for its offset."""
        start = self.position
        end = len(piece)
        at = 0
        unpack, witness, end_offset = layout.HEADER.unpack_from, self._epochs, self._end_offset
        while at + layout.HEADER_SIZE <= end:
            fields = unpack(piece, at)
            if fields[3] != layout.MAGIC_MAX:
                size = self._take_legacy(piece, at)
                if not size:
                    break
                at += size
                continue
            size = fields[1] + layout.LOG_OVERHEAD
            if fields[1] < _LENGTH_MIN or start + at + size > self._segment_size:
                raise DamagedSegment(f"a batch of {size} bytes cannot be there", start + at)
            if at + size > end:
                break
            if crc32c(piece[at + layout.ATTRIBUTES_OFFSET : at + size]) != fields[4]:
                raise DamagedSegment("the checksum of a batch is wrong", start + at)
            first_offset, last_offset = fields[0], fields[0] + fields[6]
            if self._entry_offset is None and self.next_offset <= first_offset <= last_offset < end_offset:
                self.next_offset = last_offset + 1
            else:
                self._check_order(first_offset, last_offset, start + at)
            if fields[2] != witness.epoch or not witness.from_offset <= first_offset < witness.to_offset:
                witness.see(fields[2], first_offset, start + at)
            at += size
        if at + layout.HEADER_SIZE > end and at < end:
            at += self._take_legacy(piece, at)  # messages of magic 0 and 1 are smaller than a header of magic 2
        self.position = start + at
        if at + PEEK_BYTES <= end:
            self._peek(piece, at)
        return at

    def _check_order(self, first_offset: int, last_offset: int, position: int) -> None:
        if first_offset < self.next_offset or last_offset < first_offset or last_offset >= self._end_offset:
            raise DamagedSegment(
                f"offsets {first_offset} to {last_offset} are not between {self.next_offset} and {self._end_offset}",
                position,
            )
        entry_offset = self._entry_offset
        if entry_offset is not None and last_offset >= entry_offset:
            if last_offset > entry_offset:
                raise CorruptIndex(f"no batch ends with offset {entry_offset} near position {position}")
            self._entry_offset = None
        self.next_offset = last_offset + 1

    def _take_legacy(self, piece: memoryview, at: int) -> int:
        """The messages of magic 0 and 1 from here on; how many bytes."""
        begin = at
        while at < len(piece):
            position = self.position + at
            try:
                size = batch_size(piece, at)
            except errors.CorruptMessage as error:
                raise DamagedSegment(error.message, position) from error
            if size is not None and position + size > self._segment_size:
                raise DamagedSegment(f"a message of {size} bytes cannot be there", position)
            if size is None or at + size > len(piece) or piece[at + layout.MAGIC_OFFSET] == layout.MAGIC_MAX:
                break
            message = LegacyBatch(piece[at : at + size])
            if not message.is_valid:
                raise DamagedSegment("the checksum of a message is wrong", position)
            # A compressed message tells only its last offset.
            self._check_order(min(self.next_offset, message.last_offset), message.last_offset, position)
            at += size
        return at - begin

    def _peek(self, piece: memoryview, at: int) -> None:
        following = peek(piece, at)
        if following.magic != layout.MAGIC_MAX:
            return  # of a compressed message the first offset is not known
        if following.base_offset < self.next_offset:
            raise DamagedSegment(f"offset {following.base_offset} follows {self.next_offset - 1}", self.position)
        self._epochs.see(following.leader_epoch, following.base_offset, self.position)

    def confirm_end(self, claimed_offset: int) -> None:
        """The last batch has been taken, and the time index knows of `claimed_offset`: was one behind it lost?"""
        if self.next_offset <= claimed_offset < self._end_offset:
            raise DamagedSegment(
                f"the segment ends with offset {self.next_offset - 1}, and offset {claimed_offset} was in it",
                self.position,
            )

    def confirm_by(self, following: Peeked) -> None:
        """The first batch of the next segment, when the last of this one has been taken."""
        self._epochs.confirm_by(following)
