"""Reads a whole segment from its log alone: which of its bytes are sound, and what its indexes should say.

It stops at the first batch that is not whole, whose checksum is wrong, or whose offsets go back (L1, L2). The indexes
that it builds are byte for byte those of a broker that appended the same batches, with the last entry that sealing adds
to the time index (L5). Producers and leader epochs are replayed on the way, if they are handed in.
"""

from odradek.log.batch_check import EpochWitness
from odradek.log.batch_pieces import BatchPieces
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.offset_index import OffsetIndex
from odradek.log.producer_state import ProducerState
from odradek.log.time_index import TimeIndex
from odradek.log.transaction_index import AbortedTransaction
from odradek.protocol import errors
from odradek.reactor.ports import DiskFile, Job
from odradek.records import layout
from odradek.records.batch import RecordBatch, batch_size
from odradek.records.crc import crc32c
from odradek.records.layout import NO_TIMESTAMP
from odradek.records.legacy import LegacyBatch

RELATIVE_OFFSET_MAX = 0x7FFF_FFFF
_LENGTH_MIN = layout.LENGTH_MIN[2]


class SegmentScan:
    __slots__ = (
        "_epochs",
        "_gapless_from",
        "_interval_bytes",
        "_producers",
        "_witness",
        "_witnessed_to",
        "aborted",
        "base_offset",
        "fault",
        "indexed_position",
        "max_timestamp",
        "next_offset",
        "offset_index",
        "offset_of_max_timestamp",
        "time_index",
        "valid_bytes",
    )

    def __init__(
        self,
        base_offset: int,
        index_interval_bytes: int,
        producers: ProducerState | None = None,
        epochs: LeaderEpochs | None = None,
        *,
        gapless_from: int | None = None,
        witness: EpochWitness | None = None,
        witnessed_to: int = 0,
    ) -> None:
        """From offset `gapless_from` on, a gap is taken for a damaged offset, which no checksum covers.

        Up to `witnessed_to` the epochs of the batches are compared with the witness: `run` raises DamagedSegment.
        """
        self.base_offset = base_offset
        self._interval_bytes = index_interval_bytes
        self._producers = producers
        self._epochs = epochs
        self._gapless_from = gapless_from
        self._witness = witness
        self._witnessed_to = witnessed_to
        self.offset_index = OffsetIndex(base_offset)
        self.time_index = TimeIndex(base_offset)
        self.aborted: list[AbortedTransaction] = []
        self.valid_bytes = 0
        self.next_offset = base_offset
        self.max_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = base_offset
        self.indexed_position = 0
        self.fault: str | None = None  # why the scan stopped before the end

    def run(self, file: DiskFile, size: int) -> Job:
        pieces = BatchPieces(file, 0, size)
        while not pieces.is_at_end and self.fault is None:
            piece = pieces.next_piece()
            before = self.valid_bytes
            self._take(piece)
            used = self.valid_bytes - before
            if self.fault is None and not pieces.advance(piece, used):
                self.fault = "a batch is cut off or has an impossible length"
            yield used
        if self.max_timestamp > NO_TIMESTAMP:
            self.time_index.maybe_append(self.max_timestamp, self.offset_of_max_timestamp)

    def _take(self, piece: memoryview) -> None:
        """Every whole batch of the piece."""
        unpack = layout.HEADER.unpack_from
        at, end = 0, len(piece)
        while at + layout.HEADER_SIZE <= end:
            fields = unpack(piece, at)
            if fields[3] != 2:
                break
            size = fields[1] + layout.LOG_OVERHEAD
            if fields[1] < _LENGTH_MIN or at + size > end:
                break
            if crc32c(piece[at + layout.ATTRIBUTES_OFFSET : at + size]) != fields[4]:
                self.fault = "the checksum of a batch is wrong"
                return
            last_offset = fields[0] + fields[6]
            if not self._is_in_order(fields[0], last_offset):
                return
            if self._witness is not None and last_offset < self._witnessed_to:
                self._witness.see(fields[2], fields[0], self.valid_bytes)
            self._note(last_offset, fields[8], size)
            if self._epochs is not None and fields[2] != self._epochs.latest_epoch:
                self._epochs.learn(fields[2], fields[0])
            if fields[9] >= 0 and self._producers is not None and not self._replay(piece[at : at + size]):
                return
            at += size
        self._take_legacy(piece, at)

    def _is_in_order(self, first_offset: int, last_offset: int) -> bool:
        if first_offset < self.next_offset or last_offset < first_offset:
            self.fault = f"offsets {first_offset} to {last_offset} do not follow {self.next_offset - 1}"
        elif self._gapless_from is not None and first_offset > self.next_offset >= self._gapless_from:
            self.fault = f"offset {first_offset} follows {self.next_offset - 1}, and nothing compacts this log"
        elif last_offset - self.base_offset > RELATIVE_OFFSET_MAX:
            self.fault = f"offset {last_offset} is out of the segment's reach"
        return self.fault is None

    def _note(self, last_offset: int, max_timestamp: int, size: int) -> None:
        position = self.valid_bytes
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.offset_of_max_timestamp = last_offset
        if position - self.indexed_position > self._interval_bytes:
            self.offset_index.append(last_offset, position)
            if self.max_timestamp > NO_TIMESTAMP:
                self.time_index.maybe_append(self.max_timestamp, self.offset_of_max_timestamp)
            self.indexed_position = position
        self.valid_bytes = position + size
        self.next_offset = last_offset + 1

    def _replay(self, data: memoryview) -> bool:
        assert self._producers is not None
        try:
            completed = self._producers.replay(RecordBatch(data))
        except errors.KafkaError as error:
            self.fault = f"a control batch does not parse: {error.message}"
            return False
        if completed is not None:
            aborted = self._producers.complete(completed)
            if aborted is not None:
                self.aborted.append(aborted)
        return True

    def _take_legacy(self, piece: memoryview, at: int) -> None:
        """One batch of magic 0 or 1, if that is what stands here; then back to the fast way, which is for magic 2."""
        try:
            size = batch_size(piece, at)
        except errors.CorruptMessage as error:
            self.fault = error.message
            return
        if size is None or at + size > len(piece) or piece[at + layout.MAGIC_OFFSET] == layout.MAGIC_MAX:
            return
        message = LegacyBatch(piece[at : at + size])
        if not message.is_valid:
            self.fault = "the checksum of a message is wrong"
        elif self._is_in_order(min(self.next_offset, message.last_offset), message.last_offset):
            self._note(message.last_offset, message.max_timestamp, size)
            self._take(piece[at + size :])
