"""A batch of records on its way to one partition, and who sends it."""

from struct import Struct
from typing import NamedTuple

from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicPartition
from odradek.records import layout
from odradek.records.crc import crc32c
from odradek.records.layout import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from odradek.records.record import sequence_after

UNKNOWN_OFFSET = -1
_STAMP = Struct(">qhi")  # producer id, producer epoch, base sequence, as they stand in the header


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


class ProducerBatch(Numbered):
    """Its bytes stay as they were built; every request gets a copy with the stamp of the day.

    A request may still lie in a socket when its batch is numbered anew or given up: bytes that two of them share would
    arrive as something that nobody has sent.
    """

    __slots__ = (
        "_data",
        "attempts",
        "base_sequence",
        "created_ms",
        "error",
        "is_done",
        "may_be_stored",
        "offset",
        "partition",
        "producer",
        "record_count",
        "retry_at_ms",
    )

    def __init__(self, partition: TopicPartition, data: bytes, record_count: int, created_ms: int) -> None:
        """`data` is a whole batch of magic 2 without a producer."""
        self.partition = partition
        self.record_count = record_count
        self.created_ms = created_ms
        self._data = data
        self.producer = NO_PRODUCER
        self.base_sequence = NO_SEQUENCE
        self.attempts = 0
        self.retry_at_ms = 0
        self.is_done = False
        self.offset = UNKNOWN_OFFSET
        self.error: errors.KafkaError | None = None  # why it was given up
        self.may_be_stored = False  # a request with it has failed, or an answer has left it open

    def __repr__(self) -> str:
        return f"ProducerBatch({self.partition}, {self.record_count}, {self.producer}, {self.base_sequence})"

    def stamped(self, *, is_transactional: bool) -> bytes:
        """The bytes to send."""
        data = bytearray(self._data)
        _STAMP.pack_into(data, layout.PRODUCER_ID_OFFSET, *self.producer, self.base_sequence)
        if is_transactional:
            (attributes,) = layout.ATTRIBUTES.unpack_from(data, layout.ATTRIBUTES_OFFSET)
            layout.ATTRIBUTES.pack_into(data, layout.ATTRIBUTES_OFFSET, attributes | layout.TRANSACTIONAL_MASK)
        layout.CRC.pack_into(data, layout.CRC_OFFSET, crc32c(memoryview(data)[layout.ATTRIBUTES_OFFSET :]))
        return bytes(data)

    def acked(self, offset: int) -> None:
        self.is_done = True
        self.offset = offset

    def give_up(self, error: errors.KafkaError) -> None:
        self.is_done = True
        self.error = error
