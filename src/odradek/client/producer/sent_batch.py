"""A gathered batch on its way: its numbers, and how many bytes a request has of it."""

from typing import TYPE_CHECKING

from odradek.client.producer.accumulator import GatheredBatch
from odradek.client.producer.batch import NO_PRODUCER, Numbered, ProducerIdAndEpoch, Stamp
from odradek.records import compression, layout


class SentBatch(GatheredBatch, Numbered):
    __slots__ = ()

    if TYPE_CHECKING:
        producer: ProducerIdAndEpoch
        base_sequence: int
        record_count: int

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
