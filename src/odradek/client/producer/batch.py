"""Who sends a batch, and which number it has: what its broker knows it by."""

from typing import NamedTuple

from odradek.protocol.topic_partition import TopicPartition
from odradek.records.layout import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from odradek.records.record import sequence_after


class ProducerIdAndEpoch(NamedTuple):
    producer_id: int
    epoch: int

    @property
    def is_valid(self) -> bool:
        return self.producer_id != NO_PRODUCER_ID


NO_PRODUCER = ProducerIdAndEpoch(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


class Stamp(NamedTuple):
    """What makes a batch the same one when it comes again."""

    producer: ProducerIdAndEpoch
    base_sequence: int


class Numbered:
    """A batch as the sequencer sees it: so many records of a partition, whose numbers it gives."""

    __slots__ = ()

    partition: TopicPartition
    record_count: int
    producer: ProducerIdAndEpoch
    base_sequence: int

    @property
    def has_sequence(self) -> bool:
        return self.base_sequence != NO_SEQUENCE

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.producer, self.base_sequence)

    @property
    def last_sequence(self) -> int:
        return sequence_after(self.base_sequence, self.record_count - 1)

    @property
    def next_sequence(self) -> int:
        return sequence_after(self.base_sequence, self.record_count)

    def number(self, producer: ProducerIdAndEpoch, base_sequence: int) -> None:
        self.producer = producer  # type: ignore[misc]  # whoever derives from it has the slots
        self.base_sequence = base_sequence  # type: ignore[misc]
