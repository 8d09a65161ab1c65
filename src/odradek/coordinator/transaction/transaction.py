"""A transactional id as its coordinator knows it: one immutable value, replaced as a whole by every record.

Three producer ids: the current one; the *previous* one, under which the last record was written, to know the repetition
of a request that came before the id was exchanged; the *next* one, which takes over when a transaction has ended in
the last epoch of its id (an epoch is an int16, and each transaction of version 2 uses one).

`last_producer_epoch` is the epoch that the current one followed on behalf of the same producer. It tells a repeated
request of that producer from one of a predecessor. No record holds it: after a reload it is unknown, and the producer
that repeats itself just then is fenced.
"""

from typing import NamedTuple

from odradek.broken_rule import BrokenRuleError
from odradek.coordinator.transaction import states
from odradek.protocol.messages.transaction_state import PartitionsSchema, TransactionLogKey, TransactionLogValue
from odradek.protocol.topic_partition import TopicPartition
from odradek.records.layout import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP
from odradek.replicated.log_record import LogRecord

EPOCH_MAX = 2**15 - 1
EPOCH_USED_MAX = EPOCH_MAX - 1  # of a producer; the very last one only fences it


class ProducerIdAndEpoch(NamedTuple):
    producer_id: int
    epoch: int


NO_PRODUCER = ProducerIdAndEpoch(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


class Transaction(NamedTuple):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: int = states.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    updated_ms: int = NO_TIMESTAMP
    started_ms: int = NO_TIMESTAMP
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    client_version: int = 0  # transaction.version of the client's requests

    @property
    def producer(self) -> ProducerIdAndEpoch:
        return ProducerIdAndEpoch(self.producer_id, self.producer_epoch)

    @property
    def is_epoch_exhausted(self) -> bool:
        return self.producer_epoch >= EPOCH_USED_MAX

    def has_promised(self, producer: ProducerIdAndEpoch) -> bool:
        """EndTxn has answered with the next producer id already, and the markers are still under way."""
        return producer.producer_id == self.next_producer_id != NO_PRODUCER_ID and producer.epoch == 0

    @property
    def is_commit(self) -> bool:
        return self.state in (states.PREPARE_COMMIT, states.COMPLETE_COMMIT)

    # Steps: each gives the value that the next record makes of it.

    def initialized(self, producer: ProducerIdAndEpoch, last_epoch: int, timeout_ms: int, now_ms: int) -> "Transaction":
        return self._moved(
            states.EMPTY,
            now_ms,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            last_producer_epoch=last_epoch,
            timeout_ms=timeout_ms,
            partitions=frozenset(),
            started_ms=NO_TIMESTAMP,
        )

    def with_partitions(self, added: frozenset[TopicPartition], client_version: int, now_ms: int) -> "Transaction":
        return self._moved(
            states.ONGOING,
            now_ms,
            partitions=self.partitions | added,
            started_ms=self.started_ms if self.state == states.ONGOING else now_ms,
            client_version=client_version,
        )

    def prepared(self, is_commit: bool, now_ms: int, client_version: int) -> "Transaction":
        """Returns the transaction as a client of version 0 or 1 prepares it: the epoch stays."""
        return self._moved(states.prepare_state(is_commit), now_ms, client_version=client_version)

    def prepared_in_next_epoch(
        self, is_commit: bool, now_ms: int, client_version: int, *, last_epoch: int, next_producer_id: int
    ) -> "Transaction":
        """The markers carry the next epoch, so that nothing late of this one can be written behind them (T6)."""
        return self._moved(
            states.prepare_state(is_commit),
            now_ms,
            producer_epoch=self.producer_epoch + 1,
            last_producer_epoch=last_epoch,
            next_producer_id=next_producer_id,
            started_ms=self.started_ms if self.state == states.ONGOING else now_ms,
            client_version=client_version,
        )

    def completed(self, now_ms: int) -> "Transaction":
        is_exchanged = self.next_producer_id != NO_PRODUCER_ID
        return self._moved(
            states.complete_state(self.is_commit),
            now_ms,
            producer_id=self.next_producer_id if is_exchanged else self.producer_id,
            producer_epoch=0 if is_exchanged else self.producer_epoch,
            next_producer_id=NO_PRODUCER_ID,
            partitions=frozenset(),
        )

    def _moved(self, state: int, now_ms: int, **changes: object) -> "Transaction":
        if self.state not in states.PREDECESSORS[state]:
            raise BrokenRuleError(f"{self} cannot become {states.NAMES[state]}")
        moved = self._replace(**changes)  # type: ignore[arg-type]
        return moved._replace(state=state, updated_ms=now_ms, previous_producer_id=self.producer_id)

    # Records.

    def record(self, version: int) -> "TransactionRecord":
        """The record that writes it; version 0 of the value has no room for what transactions of version 2 need."""
        value = TransactionLogValue(
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            transaction_timeout_ms=self.timeout_ms,
            transaction_status=self.state,
            transaction_partitions=None if self.state == states.EMPTY else _grouped(self.partitions),
            transaction_last_update_timestamp_ms=self.updated_ms,
            transaction_start_timestamp_ms=self.started_ms,
        )
        if version >= 1:
            value.previous_producer_id = self.previous_producer_id
            value.next_producer_id = self.next_producer_id
            value.client_transaction_version = self.client_version
        record = TransactionRecord(TransactionLogKey(transactional_id=self.transactional_id), value)
        record.transaction = self
        return record

    @staticmethod
    def of(transactional_id: str, value: TransactionLogValue) -> "Transaction":
        return Transaction(
            transactional_id,
            value.producer_id,
            value.producer_epoch,
            value.transaction_timeout_ms,
            value.transaction_status,
            frozenset(
                TopicPartition(topic.topic, index)
                for topic in value.transaction_partitions or ()
                for index in topic.partition_ids
            ),
            value.transaction_last_update_timestamp_ms,
            value.transaction_start_timestamp_ms,
            value.previous_producer_id,
            value.next_producer_id,
            NO_PRODUCER_EPOCH,
            value.client_transaction_version,
        )


class TransactionRecord(LogRecord):
    """A record on its way to the log, with what the log will not keep of it."""

    transaction: Transaction | None = None


def new_transaction(transactional_id: str, producer_id: int, timeout_ms: int) -> Transaction:
    """An id that nobody has asked for before; its first epoch, 0, is still to come."""
    return Transaction(transactional_id, producer_id, NO_PRODUCER_EPOCH, timeout_ms)


def tombstone(transactional_id: str) -> LogRecord:
    return LogRecord(TransactionLogKey(transactional_id=transactional_id), None)


def _grouped(partitions: frozenset[TopicPartition]) -> list[PartitionsSchema]:
    by_topic: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        by_topic.setdefault(topic, []).append(index)
    return [PartitionsSchema(topic=topic, partition_ids=indexes) for topic, indexes in by_topic.items()]
