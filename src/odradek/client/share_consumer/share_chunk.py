"""What one fetch has acquired of one partition, until the program has all of it.

Only what was acquired is handed out, whatever else the batches hold. An offset that was acquired and has no record is a
gap. What lies behind the last batch that could be read, because that one is damaged or was cut off, is released.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from odradek.client.consumer.chunk import Chunk
from odradek.client.consumer.fetch_errors import CorruptRecords, RecordDeserializationError
from odradek.client.consumer.records import Record, build
from odradek.client.serializers import Deserialize
from odradek.client.share_consumer.acknowledgement import GAP, RELEASE, Source
from odradek.client.share_consumer.deliveries import Delivery
from odradek.client.share_consumer.share_record import ShareRecord
from odradek.protocol.errors import KafkaError
from odradek.records.compression import LIMIT_BYTES
from odradek.records.rows import FACTS_PER_BATCH, Buffer


class AcquiredRange(NamedTuple):
    first_offset: int
    last_offset: int
    delivery_count: int


class Reading(NamedTuple):
    """How a program wants its records."""

    checks_crc: bool = True
    key_deserializer: Deserialize | None = None
    value_deserializer: Deserialize | None = None


class ShareChunk:
    """`row` is the next of `rows` that is to be handed out."""

    __slots__ = ("_acquired", "_chunk", "_reading", "error", "is_read", "row", "rows", "size_bytes", "source", "unread")

    def __init__(self, source: Source, acquired: Sequence[AcquiredRange], data: Buffer, reading: Reading) -> None:
        self.source = source
        self._acquired = acquired
        self._chunk = Chunk(source.place, 0, min(each.first_offset for each in acquired), data)
        self._reading = reading
        self.size_bytes = len(data)
        self.rows: list[tuple[Record, int, bool]] = []  # the record, its delivery count, whether it ends its batch
        self.unread: list[Delivery] = []  # gaps, and what could not be read
        self.row = 0
        self.error: KafkaError | None = None
        self.is_read = False

    def __repr__(self) -> str:
        return f"ShareChunk({self.source.place} of node {self.source.node_id}, {list(self._acquired)})"

    def read(self) -> None:
        """Once; a second time after it was interrupted gives the same."""
        if self.is_read:
            return
        chunk = self._chunk
        if not chunk.is_scanned:
            chunk.scan(checks_crc=self._reading.checks_crc, limit_bytes=LIMIT_BYTES)
        stop = bisect_right(chunk.rows.offsets, max(each.last_offset for each in self._acquired))
        records = {record.offset: record for record in build(chunk, stop)}  # what lies behind is not ours
        ends = self._batch_ends()
        rows, unread = [], []
        for first, last, count in self._acquired:
            for offset in range(first, last + 1):
                record = records.get(offset)
                if record is not None:
                    rows.append((record, count, offset in ends))
                else:
                    unread.append(Delivery(self.source, offset, said=GAP if offset < chunk.next_offset else RELEASE))
        if chunk.error is not None:
            self.error = CorruptRecords(self.source.place, chunk.next_offset, chunk.error)
        self.rows, self.unread, self.is_read = rows, unread, True

    def _batch_ends(self) -> set[int]:
        rows = self._chunk.rows
        starts = [rows.batch_facts[at] for at in range(0, len(rows.batch_facts), FACTS_PER_BATCH)]
        return {rows.offsets[row - 1] for row in (*starts[1:], self._chunk.stop) if row > 0}

    def released(self) -> list[Delivery]:
        """All that the program has not been given, to be given back."""
        if not self.is_read:
            offsets = [offset for first, last, _ in self._acquired for offset in range(first, last + 1)]
            return [Delivery(self.source, offset, said=RELEASE) for offset in offsets]
        left = [Delivery(self.source, record.offset, said=RELEASE) for record, _, _ in self.rows[self.row :]]
        return left + self.unread

    def delivery(self, row: int) -> Delivery:
        """The record of a row, deserialized; RecordDeserializationError if that fails."""
        record, count, _ = self.rows[row]
        topic, headers, key, value = record.topic, record.headers, record.key, record.value
        of_key, of_value = self._reading.key_deserializer, self._reading.value_deserializer
        try:
            made = ShareRecord.of(
                record,
                key if of_key is None else of_key(topic, headers, key),
                value if of_value is None else of_value(topic, headers, value),
                count,
            )
        except Exception as error:
            raise RecordDeserializationError(self.source.place, record.offset, key, value, error) from error
        return Delivery(self.source, record.offset, made)
