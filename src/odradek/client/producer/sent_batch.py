"""A gathered batch on its way: its numbers, and how many bytes a request has of it."""

from functools import partial
from typing import TYPE_CHECKING

from odradek.client.producer.accumulator import GatheredBatch
from odradek.client.producer.batch import NO_PRODUCER, Numbered, ProducerIdAndEpoch, Stamp
from odradek.records import layout

_stamp = partial(
    tuple.__new__, Stamp
)  # one is made for each batch of each request: its own `__new__` takes thrice as long


class SentBatch(GatheredBatch, Numbered):
    __slots__ = ()

    if TYPE_CHECKING:
        producer: ProducerIdAndEpoch
        base_sequence: int
        record_count: int

    @property
    def stamp(self) -> Stamp:
        return _stamp((self.producer or NO_PRODUCER, self.base_sequence))

    def compress(self, codec: int, level: int | None) -> None:
        """Once, when it first goes out."""
        if self.compressed is None:
            from odradek.records import compression  # only who compresses pays for the codecs

            self.compressed = compression.compress(codec, self.body(), level)

    @property
    def sent_size(self) -> int:
        """The bytes that it takes in a request."""
        if self.compressed is not None:
            return layout.HEADER_SIZE + len(self.compressed)
        return self.size_bytes
