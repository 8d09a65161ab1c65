"""The sequences of an idempotent producer: which batch may go out now, and what an answer says about the others.

A broker takes a batch of a producer only if it begins where the last one ended; one that it has already, among the last
five, it answers again. So for every partition

- batches are numbered when they first go out, without gaps, and keep their number when they go out again;
- at most five are in flight; those that have to go again go one by one in their order, and new ones behind them;
- the first one goes alone: a broker that has never heard of the producer takes any number as the first one. If that
  batch were refused for a moment and the next one taken, it could not be written any more;
- a number is never given to other records, while anybody could still have the first ones.

The last rule is why a batch that was given up after it had been sent (its partition is *unresolved* then) stops the
partition until everything in flight has its end. If what remains follows the last acknowledgement, it was stored after
all. If not, there is a gap that nothing can fill: the epoch is raised, and the numbers begin at 0 again. A producer
without transactions does that by itself, its in-flight batches get new numbers. In a transaction the records that were
given up are missing: it has to be aborted, and with its end comes the new epoch.
"""

from odradek.broken_rule import require
from odradek.client.producer.batch import NO_PRODUCER, Numbered, ProducerIdAndEpoch, Stamp
from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicPartition
from odradek.records.layout import NO_SEQUENCE
from odradek.records.record import SEQUENCES, sequence_after

IN_FLIGHT_MAX = 5  # batches of a partition: as many as a broker remembers
EPOCH_MAX = 2**15 - 1
NO_ACKED_SEQUENCE = -1
NO_ACKED_OFFSET = -1


class PartitionSequences:
    """`unacked` holds what has a number and no end: in flight, or to be sent again. In the order of the numbers."""

    __slots__ = ("is_unresolved", "last_acked_offset", "last_acked_sequence", "next_sequence", "producer", "unacked")

    def __init__(self, producer: ProducerIdAndEpoch) -> None:
        self.unacked: list[Numbered] = []
        self.last_acked_offset = NO_ACKED_OFFSET
        self.begin(producer)

    def begin(self, producer: ProducerIdAndEpoch) -> None:
        self.producer = producer
        self.next_sequence = 0
        self.last_acked_sequence = NO_ACKED_SEQUENCE
        self.is_unresolved = False
        for batch in self.unacked:
            self.number(batch)

    def number(self, batch: Numbered) -> None:
        batch.number(self.producer, self.next_sequence)
        self.next_sequence = sequence_after(self.next_sequence, batch.record_count)

    def is_next(self, sequence: int) -> bool:
        """Whether it follows the last one that was acknowledged."""
        return sequence == (sequence_after(self.last_acked_sequence, 1) if self.has_acked else 0)

    @property
    def has_acked(self) -> bool:
        return self.last_acked_sequence != NO_ACKED_SEQUENCE

    def acked(self, sequence: int) -> None:
        last = self.last_acked_sequence
        if last == NO_ACKED_SEQUENCE or _is_at_or_after(sequence, last):
            self.last_acked_sequence = sequence

    def ended(self, batch: Numbered) -> None:
        unacked = self.unacked
        if unacked and unacked[0] is batch:  # nearly always: answers come in order
            del unacked[0]
        elif batch in unacked:
            unacked.remove(batch)


class Sequencer:
    __slots__ = ("_is_transactional", "_partitions", "_to_renumber", "producer")

    def __init__(self, *, is_transactional: bool) -> None:
        self._is_transactional = is_transactional
        self._partitions: dict[TopicPartition, PartitionSequences] = {}
        self._to_renumber: dict[TopicPartition, None] = {}
        self.producer = NO_PRODUCER

    def set_producer(self, producer: ProducerIdAndEpoch) -> None:
        """Partitions without batches in flight begin anew with their next one; the others when those have their end."""
        self.producer = producer

    def restart(self, producer: ProducerIdAndEpoch) -> None:
        """A new epoch for a producer that has nothing in flight: all that was is forgotten."""
        self.producer = producer
        self._partitions.clear()
        self._to_renumber.clear()

    def sequences(self, partition: TopicPartition) -> PartitionSequences:
        known = self._partitions.get(partition)
        if known is None:
            known = self._partitions[partition] = PartitionSequences(self.producer)
        return known

    # Sending

    def may_send(self, batch: Numbered) -> bool:
        known = self.sequences(batch.partition)
        unacked = known.unacked
        if batch.base_sequence != NO_SEQUENCE:
            return unacked[0] is batch
        if known.is_unresolved or len(unacked) >= IN_FLIGHT_MAX:
            return False
        if not unacked:
            return True
        return known.last_acked_sequence != NO_ACKED_SEQUENCE and known.producer == self.producer

    def number(self, batch: Numbered) -> None:
        """When it first goes out."""
        known = self.sequences(batch.partition)
        if known.producer != self.producer:
            known.begin(self.producer)
        known.number(batch)
        known.unacked.append(batch)

    # Answers

    def acked(self, batch: Numbered, stamp: Stamp, offset: int) -> None:
        """`stamp` is what the request had: the batch may have been numbered anew while it was on its way."""
        known = self.sequences(batch.partition)
        known.last_acked_offset = max(known.last_acked_offset, offset + batch.record_count - 1)
        if stamp.base_sequence == batch.base_sequence and stamp.producer == batch.producer:
            known.acked(sequence_after(batch.base_sequence, batch.record_count - 1))
        elif not self._is_transactional:
            self._to_renumber[batch.partition] = None  # those behind it were counted from a number that is now missing
        known.ended(batch)

    def may_retry(self, batch: Numbered, stamp: Stamp, error: errors.KafkaError, log_start_offset: int) -> bool:
        """Whether the same records may go out again. Notes if the epoch has to be raised before they do."""
        is_about_numbers = isinstance(error, (errors.UnknownProducerId, errors.OutOfOrderSequenceNumber))
        if is_about_numbers and stamp != batch.stamp:
            return True  # it has another number by now
        if isinstance(error, errors.UnknownProducerId):
            return self._may_retry_unknown(batch, log_start_offset)
        if isinstance(error, errors.OutOfOrderSequenceNumber):
            return self._may_retry_out_of_order(batch)
        return error.retriable

    def _may_retry_unknown(self, batch: Numbered, log_start_offset: int) -> bool:
        """The partition has forgotten the producer: retention has taken all of its records, or somebody has."""
        known = self.sequences(batch.partition)
        if self._is_transactional:
            if log_start_offset == -1 or known.last_acked_offset >= log_start_offset:
                return False
            known.begin(known.producer)
            return True
        self._to_renumber[batch.partition] = None
        return True

    def _may_retry_out_of_order(self, batch: Numbered) -> bool:
        known = self.sequences(batch.partition)
        if not known.is_unresolved and not known.is_next(batch.base_sequence):
            return True  # one before it is missing, and will go again first
        if self._is_transactional:
            return False
        if not known.is_unresolved or known.unacked[0] is batch:
            self._to_renumber[batch.partition] = None
        return True

    def gave_up(self, batch: Numbered, *, may_be_stored: bool) -> None:
        """It will not go out again. `may_be_stored`: it was sent, and no broker has said that it refused it."""
        known = self.sequences(batch.partition)
        known.ended(batch)
        if not batch.has_sequence:
            return
        if may_be_stored or self._is_transactional:
            known.is_unresolved = True  # in a transaction for good: it will be aborted, and then all numbers begin anew
        else:
            self._to_renumber[batch.partition] = None

    # Gaps, and the epochs that close them

    def resolve(self) -> None:
        """Looks at unresolved partitions that have nothing in flight: those with a gap need another epoch."""
        for partition, known in self._partitions.items():
            if known.is_unresolved and not known.unacked:
                known.is_unresolved = False
                if not known.is_next(known.next_sequence):
                    self._to_renumber[partition] = None

    @property
    def has_unresolved(self) -> bool:
        return any(known.is_unresolved for known in self._partitions.values())

    @property
    def needs_bump(self) -> bool:
        return bool(self._to_renumber)

    def bump(self) -> bool:
        """Raises the epoch of a producer without transactions. False: the id is used up, a new one is needed."""
        partitions, self._to_renumber = self._to_renumber, {}
        if self.producer.epoch >= EPOCH_MAX:
            self.producer = NO_PRODUCER
            self._to_renumber = partitions
            return False
        self.producer = ProducerIdAndEpoch(self.producer.producer_id, self.producer.epoch + 1)
        self._renumber(partitions)
        return True

    def renumber(self) -> None:
        """Begins the marked partitions anew, with the producer id that has just come."""
        partitions, self._to_renumber = self._to_renumber, {}
        self._renumber(partitions)

    def _renumber(self, partitions: dict[TopicPartition, None]) -> None:
        for partition in partitions:
            self.sequences(partition).begin(self.producer)

    def validate(self) -> None:
        """What is in flight is in the order of its numbers; one behind it may have been acknowledged before it."""
        for partition, known in self._partitions.items():
            require(len(known.unacked) <= IN_FLIGHT_MAX, f"too many batches are in flight to {partition}")
            limits = [*(batch.base_sequence for batch in known.unacked[1:]), known.next_sequence]
            for batch, limit in zip(known.unacked, limits, strict=False):
                require(_is_at_or_after(limit, batch.next_sequence), f"out of order in flight: {known.unacked}")


def _is_at_or_after(sequence: int, other: int) -> bool:
    """Numbers begin at 0 again behind the largest, so that the larger one is not always the later one."""
    return (sequence - other) % SEQUENCES < SEQUENCES // 2
