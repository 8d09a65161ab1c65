"""What can be saved of a damaged segment: every batch that is what was written, and which offsets are lost.

A batch is sound if its checksum fits and its offsets follow the batch before it. Behind one that is not, the next sound
one is looked for: first where the damaged one should end, then byte by byte, because its length may be what is damaged.
A batch whose own offset is damaged fits its checksum, which does not cover the offset; the batch behind it tells.

What is lost becomes an empty batch with the same offsets, as compaction leaves them for a producer's last batch. So the
log has no gap that was not there before, and nobody who knows of these offsets (an index, the leader epochs, a
follower) takes the repaired log for a damaged one. Only at the end of the log nothing takes their place: it is cut.
"""

from collections.abc import Callable
from typing import NamedTuple

from odradek.broken_rule import present
from odradek.protocol import errors
from odradek.records import layout
from odradek.records.batch import Batch, RecordBatch, batch_size
from odradek.records.crc import crc32c
from odradek.records.layout import NO_LEADER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, NO_TIMESTAMP
from odradek.records.legacy import LegacyBatch

EpochAt = Callable[[int], int]  # the leader epoch of an offset


class Lost(NamedTuple):
    """Offsets from `first` up to `end`, which is None if nobody knows where the log ended."""

    first: int
    end: int | None

    def __str__(self) -> str:
        if self.end is None:
            return f"offsets from {self.first} on"
        if self.end == self.first + 1:
            return f"offset {self.first}"
        return f"offsets {self.first} to {self.end - 1}"


class Salvage:
    """`data` is a whole segment; its offsets lie from `base_offset` up to `end_offset`, if that is known.

    `reached` is how far the log was on disk for certain: in its last segment, what is missing up to there is lost.
    From `trusted_to` on nobody has promised that the log is on disk: damage there is left to recovery.
    """

    def __init__(
        self,
        data: bytes,
        base_offset: int,
        end_offset: int | None,
        trusted_to: int | None,
        epoch_at: EpochAt,
        *,
        reached: int = 0,
        mends_epochs: bool = False,
    ) -> None:
        self._data = memoryview(data)
        self._end_offset = end_offset
        self._trusted_to = trusted_to
        self._epoch_at = epoch_at
        self._reached = reached
        self._mends_epochs = mends_epochs
        self._is_missing_some = False  # bytes were passed over since the last batch that is kept
        self.next_offset = base_offset
        self.lost: list[Lost] = []
        self.parts: list[bytes | memoryview] = []
        self.is_changed = False

    def run(self, is_last: bool) -> None:
        """`is_last`: what is lost at the end is cut off."""
        position, size = 0, len(self._data)
        while position < size:
            batch = self._sound_at(position)
            if batch is None:
                if self._trusted_to is not None and self.next_offset >= self._trusted_to:
                    self.parts.append(self._data[position:])
                    return
                position = self._resync(position)
                continue
            self._keep(batch)
            position += batch.size
        self._end(is_last)

    def _keep(self, batch: Batch) -> None:
        if self._is_missing_some:
            self._fill(batch.base_offset)
        self.parts.append(self._mended(batch))
        self.next_offset = batch.last_offset + 1

    def _resync(self, position: int) -> int:
        """Where the next sound batch begins, or the end."""
        self._is_missing_some = self.is_changed = True
        size = self._size_at(position)
        if size is not None and self._sound_at(position + size) is not None:
            return position + size
        for at in range(position + 1, len(self._data)):
            if self._could_begin_at(at) and self._sound_at(at) is not None:
                return at
        return len(self._data)

    def _could_begin_at(self, at: int) -> bool:
        """Cheap, and seldom wrong: an offset that may follow, and a magic."""
        if at + layout.MAGIC_OFFSET >= len(self._data) or self._data[at + layout.MAGIC_OFFSET] > layout.MAGIC_MAX:
            return False
        (base_offset,) = layout.BASE_OFFSET.unpack_from(self._data, at)
        return bool(self.next_offset <= base_offset and not self._is_past_end(base_offset))

    def _is_past_end(self, offset: int) -> bool:
        return self._end_offset is not None and offset >= self._end_offset

    def _size_at(self, position: int) -> int | None:
        try:
            size = batch_size(self._data[position:], 0)
        except errors.CorruptMessage:
            return None
        return size if size is not None and position + size <= len(self._data) else None

    def _whole_at(self, position: int) -> Batch | None:
        """A batch whose checksum fits."""
        size = self._size_at(position)
        if size is None:
            return None
        view = self._data[position : position + size]
        batch = RecordBatch(view) if view[layout.MAGIC_OFFSET] == layout.MAGIC_MAX else LegacyBatch(view)
        try:
            batch.ensure_valid()
        except errors.KafkaError:
            return None
        return batch

    def _sound_at(self, position: int) -> Batch | None:
        batch = self._whole_at(position)
        if batch is None or not self.next_offset <= batch.base_offset <= batch.last_offset:
            return None
        if self._is_past_end(batch.last_offset):
            return None
        if batch.base_offset > self.next_offset and not self._is_missing_some:
            following = self._whole_at(position + batch.size)
            if following is not None and self.next_offset <= following.base_offset <= batch.last_offset:
                return None  # it has come before its turn: its own offset is damaged
        return batch

    def _mended(self, batch: Batch) -> bytes | memoryview:
        """With the leader epoch that the epochs of the log give it: no checksum covers it, and nothing is lost."""
        epoch = self._epoch_at(batch.base_offset) if self._mends_epochs else NO_LEADER_EPOCH
        if not isinstance(batch, RecordBatch) or epoch < 0 or epoch == batch.partition_leader_epoch:
            return batch.buffer
        self.is_changed = True
        mended = bytearray(batch.buffer)
        layout.LENGTH.pack_into(mended, layout.LEADER_EPOCH_OFFSET, epoch)
        return bytes(mended)

    def _fill(self, end_offset: int) -> None:
        self._is_missing_some = False
        if end_offset > self.next_offset:
            self.lost.append(Lost(self.next_offset, end_offset))
            self.parts.append(empty_batch(self.next_offset, end_offset, self._epoch_at(self.next_offset)))
            self.next_offset = end_offset

    def _end(self, is_last: bool) -> None:
        if is_last:
            if self._is_missing_some or self.next_offset < self._reached:
                end_offset = self._reached if self.next_offset < self._reached else None
                self.lost.append(Lost(self.next_offset, end_offset))
        elif self._is_missing_some:
            self._fill(present(self._end_offset, "a segment that is not the last ends where the next one begins"))

    def fill_to(self, end_offset: int) -> None:
        """The end of a sealed segment was lost where a batch ends."""
        self.is_changed = True
        self._fill(end_offset)


def empty_batch(first: int, end: int, epoch: int) -> bytes:
    """A batch without records that holds the offsets from `first` up to `end`."""
    batch = bytearray(
        layout.HEADER.pack(
            first,
            layout.HEADER_SIZE - layout.LOG_OVERHEAD,
            epoch,
            layout.MAGIC_MAX,
            0,  # the checksum, which needs the rest
            0,
            end - 1 - first,
            NO_TIMESTAMP,
            NO_TIMESTAMP,
            NO_PRODUCER_ID,
            NO_PRODUCER_EPOCH,
            NO_SEQUENCE,
            0,
        )
    )
    layout.CRC.pack_into(batch, layout.CRC_OFFSET, crc32c(memoryview(batch)[layout.ATTRIBUTES_OFFSET :]))
    return bytes(batch)
