"""A gathered batch on its way: its numbers, and the bytes that a request has of it.

A request gets a header of its own, with the stamp of the day, and a view of the records, which nobody changes any more:
a request may still lie in a connection when its batch is numbered anew or given up.
"""

from struct import Struct
from typing import TYPE_CHECKING

from odradek.client.producer.accumulator import GatheredBatch
from odradek.client.producer.batch import NO_PRODUCER, Numbered, ProducerIdAndEpoch, Stamp
from odradek.protocol.topic_partition import TopicPartition
from odradek.records import compression, layout
from odradek.records.crc import crc32c

_START = Struct(">qiibI")  # base offset, length, leader epoch, magic, crc
_REST = Struct(">hiqqqhii")  # attributes and all that follows: what the crc covers
_MAGIC = 2


class SentBatch(GatheredBatch, Numbered):
    __slots__ = ()

    if TYPE_CHECKING:
        producer: ProducerIdAndEpoch
        base_sequence: int
        record_count: int

    @property
    def partition(self) -> TopicPartition:  # type: ignore[override]
        return self.queue.place

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.producer or NO_PRODUCER, self.base_sequence)

    def compress(self, codec: int, level: int | None) -> None:
        """Once, when it first goes out."""
        if self.compressed is None:
            self.compressed = compression.compress(codec, self.body(), level)

    @property
    def sent_size(self) -> int:
        """The bytes that it takes in a request."""
        if self.compressed is not None:
            return layout.HEADER_SIZE + len(self.compressed)
        return self.size_bytes

    def encoded(self, attributes: int) -> tuple[bytes, bytes | memoryview]:
        """Header and records; `attributes` are the codec and whether it is transactional."""
        body = self.body() if self.compressed is None else self.compressed
        producer_id, epoch = self.producer or NO_PRODUCER
        count = self.record_count
        times = self.base_timestamp, self.max_timestamp
        rest = _REST.pack(attributes, count - 1, *times, producer_id, epoch, self.base_sequence, count)
        length = layout.HEADER_SIZE - layout.LOG_OVERHEAD + len(body)
        crc = crc32c(body, crc32c(rest))  # type: ignore[call-arg]  # it goes on from the crc of what stands before
        return _START.pack(0, length, -1, _MAGIC, crc) + rest, body
