"""Reads a whole segment from its log alone: which of its bytes are sound, and what its indexes should say.

It stops at the first batch that is not whole, whose checksum is wrong, or whose offsets go back (L1, L2). The indexes
that it builds are byte for byte those of a broker that appended the same batches, with the last entry that sealing adds
to the time index (L5). Producers and leader epochs are replayed on the way, if they are handed in.
"""

from odradek.broken_rule import BrokenRuleError
from odradek.log.batches.batch_check import EpochWitness
from odradek.log.batches.batch_pieces import BatchPieces
from odradek.log.index.offset_index import RELATIVE_OFFSET_MAX, OffsetIndex
from odradek.log.index.time_index import TimeIndex
from odradek.log.index.transaction_index import AbortedTransaction
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.producers.producer_state import ProducerState
from odradek.log.segment.batch_scan import scan_plain
from odradek.log.segment.pure_batch_scan import ANY_EPOCH, Place, Rules
from odradek.protocol import errors
from odradek.reactor.ports import DiskFile, JobOf
from odradek.records import layout
from odradek.records.batch import RecordBatch, batch_size
from odradek.records.crc import crc32c
from odradek.records.layout import NO_TIMESTAMP
from odradek.records.legacy import LegacyBatch

_OFFSET_END = (1 << 63) - 1
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

    def run(self, file: DiskFile, size: int) -> JobOf[None]:
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
        """Every whole batch of the piece: the plain ones many at a time, any other by itself."""
        at = self._take_plain(piece, 0)
        while (size := self._take_one(piece, at)) and self.fault is None:
            at = self._take_plain(piece, at + size)

    def _take_plain(self, piece: memoryview, at: int) -> int:
        """Where the first batch begins that is not plain."""
        if self.next_offset >= _OFFSET_END:
            return at  # a file with a strange name; no batch has such an offset
        place = Place(
            self.valid_bytes,
            self.next_offset,
            self.indexed_position,
            self.max_timestamp,
            self.offset_of_max_timestamp,
        )
        at, place, entries, telling = scan_plain(piece, at, place, self._rules())
        for last_offset, position, max_timestamp, offset_of_max_timestamp in entries:
            self._index(last_offset, position, max_timestamp, offset_of_max_timestamp)
        for begin in telling:
            (length,) = layout.LENGTH.unpack_from(piece, begin + layout.LENGTH_OFFSET)
            self._replay(piece[begin : begin + length + layout.LOG_OVERHEAD])
        self.valid_bytes, self.next_offset, self.indexed_position, self.max_timestamp, _ = place
        self.offset_of_max_timestamp = place.offset_of_max_timestamp
        return at

    def _rules(self) -> Rules:
        """What makes a batch plain at this place: its epoch is no news, and no other than the witness expects."""
        epoch = ANY_EPOCH if self._epochs is None else self._epochs.latest_epoch
        offset_end = min(self.base_offset + RELATIVE_OFFSET_MAX + 1, _OFFSET_END)
        witness = self._witness
        if witness is not None and self.next_offset < self._witnessed_to:
            offset_end = min(offset_end, witness.to_offset) if epoch in (ANY_EPOCH, witness.epoch) else 0
            epoch = witness.epoch
        gapless_from = _OFFSET_END if self._gapless_from is None else min(self._gapless_from, _OFFSET_END)
        return Rules(epoch, gapless_from, offset_end, self._interval_bytes, self._producers is not None)

    def _take_one(self, piece: memoryview, at: int) -> int:
        """The size of the batch that begins here; 0 if none does that is whole and sound."""
        if at + layout.HEADER_SIZE <= len(piece) and piece[at + layout.MAGIC_OFFSET] == layout.MAGIC_MAX:
            return self._take_batch(piece, at)
        return self._take_legacy(piece, at)

    def _take_batch(self, piece: memoryview, at: int) -> int:
        fields = layout.HEADER.unpack_from(piece, at)
        size: int = fields[1] + layout.LOG_OVERHEAD
        if fields[1] < _LENGTH_MIN or at + size > len(piece):
            return 0
        if crc32c(piece[at + layout.ATTRIBUTES_OFFSET : at + size]) != fields[4]:
            self.fault = "the checksum of a batch is wrong"
            return 0
        last_offset = fields[0] + fields[6]
        if not self._is_in_order(fields[0], last_offset):
            return 0
        if self._witness is not None and last_offset < self._witnessed_to:
            self._witness.see(fields[2], fields[0], self.valid_bytes)
        if fields[9] >= 0 and self._producers is not None and not self._replay(piece[at : at + size]):
            return 0
        if self._epochs is not None and fields[2] != self._epochs.latest_epoch:
            self._epochs.learn(fields[2], fields[0])
        self._note(last_offset, fields[8], size)
        return size

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
            self._index(last_offset, position, self.max_timestamp, self.offset_of_max_timestamp)
            self.indexed_position = position
        self.valid_bytes = position + size
        self.next_offset = last_offset + 1

    def _index(self, last_offset: int, position: int, max_timestamp: int, offset_of_max_timestamp: int) -> None:
        self.offset_index.append(last_offset, position)
        if max_timestamp > NO_TIMESTAMP:
            self.time_index.maybe_append(max_timestamp, offset_of_max_timestamp)

    def _replay(self, data: memoryview) -> bool:
        if self._producers is None:
            raise BrokenRuleError("batches are replayed only into a state of producers")
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

    def _take_legacy(self, piece: memoryview, at: int) -> int:
        """A batch of magic 0 or 1."""
        try:
            size = batch_size(piece, at)
        except errors.CorruptMessage as error:
            self.fault = error.message
            return 0
        if size is None or at + size > len(piece) or piece[at + layout.MAGIC_OFFSET] == layout.MAGIC_MAX:
            return 0
        message = LegacyBatch(piece[at : at + size])
        if not message.is_valid:
            self.fault = "the checksum of a message is wrong"
            return 0
        if not self._is_in_order(min(self.next_offset, message.last_offset), message.last_offset):
            return 0
        self._note(message.last_offset, message.max_timestamp, size)
        return size
