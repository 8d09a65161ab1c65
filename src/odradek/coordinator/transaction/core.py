"""The transaction coordinator of one partition of `__transaction_state`, without log, clock or network.

It knows transactional ids. Each has one producer at a time, known by producer id and epoch, and at most one transaction
at a time; `states.py` has the states. A transaction runs so:

    InitProducerId        Empty           the producer gets its id, all before it are fenced
    AddPartitionsToTxn    Ongoing         each partition is written down before the first record of it is
    EndTxn                PrepareCommit   decided; the answer is given when this record is committed
                          (markers)       every partition gets one, again and again until it has it
                          CompleteCommit  the next transaction may begin; until then it is told to come again

The decision is one record, so that it is one decision (T4): whoever takes over this partition finds it in the log and
sends the markers once more, which does no harm.

Transactions of version 2 raise the epoch with the decision. The markers carry the new epoch; a partition refuses from
then on everything that still has the old one, and the coordinator takes a late EndTxn for what it is (`ending.py`). So
nothing of one transaction can touch the next (T6). Aborts that the producer did not ask for, because of a timeout or
because of a successor, raise the epoch in every version: the producer is fenced by them.

A producer id is a thing of the outside: an event that turns out to need one answers None, and is run again with it.
"""

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple, TypeVar

from odradek.broken_rule import BrokenRuleError, instance, require
from odradek.coordinator.core import Decided, ShardCore
from odradek.coordinator.now import Now
from odradek.coordinator.transaction import ending, initializing, states
from odradek.coordinator.transaction.effects import AbortOverdue, SendMarkers
from odradek.coordinator.transaction.transaction import (
    NO_PRODUCER,
    ProducerIdAndEpoch,
    Transaction,
    TransactionRecord,
    new_transaction,
    tombstone,
)
from odradek.protocol import errors
from odradek.protocol.messages.transaction_state import TransactionLogKey, TransactionLogValue
from odradek.protocol.topic_partition import TopicPartition
from odradek.records.layout import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from odradek.replicated.log_record import EndMarker, LogRecord

R = TypeVar("R")

V2 = 2  # of transaction.version: an epoch for each transaction
REMOVED_PER_STEP = 1000


class CoreConfig(NamedTuple):
    """`transaction_version` gives the finalized level, which may be raised at any time."""

    transaction_version: Callable[[], int]
    abort_interval_ms: int
    expiration_ms: int
    expiration_interval_ms: int


class TransactionCore(ShardCore):
    __slots__ = ("_abort_look_ms", "_config", "_expiration_look_ms", "_ongoing", "_prepared", "_unsent", "transactions")

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        self.transactions: dict[str, Transaction] = {}
        self._ongoing: dict[str, None] = {}
        self._prepared: dict[str, None] = {}
        self._unsent: list[str] = []  # found decided in the log when it was loaded
        self._abort_look_ms = 0
        self._expiration_look_ms = 0

    # Producers

    def init_producer_id(
        self,
        now: Now,
        transactional_id: str,
        timeout_ms: int,
        expected: ProducerIdAndEpoch | None = None,
        fresh_id: int | None = None,
    ) -> Decided[ProducerIdAndEpoch | None]:
        """None: once more with a fresh id. NO_PRODUCER: what was open is being aborted, the client comes again."""
        txn = self.transactions.get(transactional_id)
        if txn is None:
            if fresh_id is None:
                return Decided()
            txn = new_transaction(transactional_id, fresh_id, timeout_ms)
        if expected is not None and not txn.has_promised(expected):
            initializing.check_known(txn, expected)
        if txn.state in states.PREPARED:
            raise errors.ConcurrentTransactions()
        if txn.state == states.ONGOING:
            return self._abort(now, txn, fresh_id)
        if not initializing.needs_producer_id(txn, expected):
            epoch, last_epoch = initializing.next_epoch(txn, expected)
            producer = ProducerIdAndEpoch(txn.producer_id, epoch)
        elif fresh_id is None:
            return Decided()
        else:
            producer = ProducerIdAndEpoch(fresh_id, 0)
            last_epoch = NO_PRODUCER_EPOCH if expected is None else txn.producer_epoch
        return self._write(txn.initialized(producer, last_epoch, timeout_ms, now.wall_ms), producer)

    # Partitions

    def add_partitions(
        self,
        now: Now,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Collection[TopicPartition],
        client_version: int,
    ) -> Decided[None]:
        txn = self._current(transactional_id, producer)
        added = frozenset(partitions)
        if not added or (txn.state == states.ONGOING and added <= txn.partitions):
            return Decided()
        return self._write(txn.with_partitions(added, client_version, now.wall_ms), None)

    def missing_partitions(
        self, transactional_id: str, producer: ProducerIdAndEpoch, partitions: Collection[TopicPartition]
    ) -> Decided[set[TopicPartition]]:
        """Those that are not in the transaction: for the leaders, which ask before they append (KIP-890)."""
        txn = self._current(transactional_id, producer)
        return Decided((), {partition for partition in partitions if partition not in txn.partitions})

    def _current(self, transactional_id: str, producer: ProducerIdAndEpoch) -> Transaction:
        txn = self._known(transactional_id)
        if txn.has_promised(producer):
            raise errors.ConcurrentTransactions()
        if txn.producer_id != producer.producer_id:
            raise errors.InvalidProducerIdMapping()
        if txn.producer_epoch != producer.epoch:
            raise errors.ProducerFenced()
        if txn.state in states.PREPARED:
            raise errors.ConcurrentTransactions()
        return txn

    def _known(self, transactional_id: str) -> Transaction:
        txn = self.transactions.get(transactional_id)
        if txn is None:
            raise errors.InvalidProducerIdMapping()
        return txn

    # The end

    def end(
        self,
        now: Now,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        is_commit: bool,
        client_version: int,
        fresh_id: int | None = None,
    ) -> Decided[ProducerIdAndEpoch | None]:
        """The producer's id and epoch from now on. None: once more with a fresh id."""
        txn = self._known(transactional_id)
        if client_version < V2:
            if ending.is_done_already_v1(txn, producer, is_commit):
                return Decided((), txn.producer)
            return self._prepare(txn.prepared(is_commit, now.wall_ms, client_version))
        if ending.is_done_already_v2(txn, producer, is_commit):
            return Decided((), txn.producer)
        return self._prepare_v2(now, txn, is_commit, fresh_id)

    def abort_overdue(
        self, now: Now, overdue: AbortOverdue, fresh_id: int | None
    ) -> Decided[ProducerIdAndEpoch | None]:
        """None: once more with a fresh id. A transaction that has ended or gone on meanwhile is left alone."""
        txn = self.transactions.get(overdue.transactional_id)
        if txn is None or txn.state != states.ONGOING or txn.producer != overdue.producer or not _is_overdue(txn, now):
            return Decided((), NO_PRODUCER)
        return self._abort(now, txn, fresh_id)

    def complete(self, now: Now, wanted: SendMarkers) -> Decided[bool]:
        """Every partition has its marker. False: that was known already."""
        txn = self.transactions.get(wanted.transactional_id)
        if txn is None or txn.state not in states.PREPARED or txn.producer != wanted.producer:
            return Decided((), False)
        return self._write(txn.completed(now.wall_ms), True)

    def to_send(self, wanted: SendMarkers) -> Transaction | None:
        """The transaction that the markers belong to, while they are still needed."""
        txn = self.transactions.get(wanted.transactional_id)
        return txn if txn is not None and txn.state in states.PREPARED and txn.producer == wanted.producer else None

    def _abort(self, now: Now, txn: Transaction, fresh_id: int | None) -> Decided[ProducerIdAndEpoch | None]:
        """Aborts a transaction in place of its producer, which is fenced: the answer has no producer for it."""
        if self._config.transaction_version() >= V2:
            decided = self._prepare_v2(now, txn, False, fresh_id)
        else:
            decided = self._prepare(
                txn.prepared_in_next_epoch(
                    False,
                    now.wall_ms,
                    txn.client_version,
                    last_epoch=NO_PRODUCER_EPOCH,
                    next_producer_id=NO_PRODUCER_ID,
                )
            )
        if decided.response is not None:
            decided.response = NO_PRODUCER
        return decided

    def _prepare_v2(
        self, now: Now, txn: Transaction, is_commit: bool, fresh_id: int | None
    ) -> Decided[ProducerIdAndEpoch | None]:
        if txn.is_epoch_exhausted and fresh_id is None:
            return Decided()
        return self._prepare(
            txn.prepared_in_next_epoch(
                is_commit,
                now.wall_ms,
                V2,
                last_epoch=txn.producer_epoch,
                next_producer_id=fresh_id if txn.is_epoch_exhausted and fresh_id is not None else NO_PRODUCER_ID,
            )
        )

    def _prepare(self, prepared: Transaction) -> Decided[ProducerIdAndEpoch | None]:
        producer = prepared.producer
        if prepared.next_producer_id != NO_PRODUCER_ID:
            producer = ProducerIdAndEpoch(prepared.next_producer_id, 0)
        decided: Decided[ProducerIdAndEpoch | None] = self._write(prepared, producer)
        decided.effects = [SendMarkers(prepared.transactional_id, prepared.producer)]
        return decided

    def _write(self, txn: Transaction, response: R) -> Decided[R]:
        value_version = 1 if self._config.transaction_version() >= 1 else 0
        return Decided([(txn.record(value_version), value_version)], response)

    # Replay

    def replay(self, record: LogRecord | EndMarker, offset: int) -> None:
        """State is what the last record of an id says."""
        known = instance(record, LogRecord, "nobody writes markers here")
        key, value = known.key, known.value
        transactional_id = instance(key, TransactionLogKey, "every key names a transactional id").transactional_id
        self._ongoing.pop(transactional_id, None)
        self._prepared.pop(transactional_id, None)
        if value is None:
            self.transactions.pop(transactional_id, None)
            return
        txn = known.transaction if isinstance(known, TransactionRecord) else None
        if txn is None:
            logged = instance(value, TransactionLogValue, "every value is a transaction")
            txn = Transaction.of(transactional_id, logged)
        self.transactions[transactional_id] = txn
        if txn.state == states.ONGOING:
            self._ongoing[transactional_id] = None
        elif txn.state in states.PREPARED:
            self._prepared[transactional_id] = None

    def validate(self) -> None:
        """Every index, worked out again."""
        of_state: dict[int, set[str]] = {}
        for transactional_id, txn in self.transactions.items():
            if txn.transactional_id != transactional_id:
                raise BrokenRuleError(f"{txn} stands under {transactional_id}")
            of_state.setdefault(txn.state, set()).add(transactional_id)
            if txn.state not in states.PREPARED and txn.next_producer_id != NO_PRODUCER_ID:
                raise BrokenRuleError(f"{txn} has a next producer id, and no markers are under way")
            if txn.state == states.ONGOING and not txn.partitions:
                raise BrokenRuleError(f"{txn} is open without partitions")
            if txn.state in states.IDLE and txn.partitions:
                raise BrokenRuleError(f"{txn} has partitions, and nothing is open")
        prepared = set().union(*(of_state.get(state, set()) for state in states.PREPARED))
        require(set(self._ongoing) == of_state.get(states.ONGOING, set()), "open transactions are indexed")
        require(set(self._prepared) == prepared, "decided transactions are indexed")

    # Time

    def loaded(self, now: Now) -> None:
        self._unsent = list(self._prepared)
        self._abort_look_ms = now.mono_ms
        self._expiration_look_ms = now.mono_ms + self._config.expiration_interval_ms

    def follow_up(self, now: Now) -> Decided[None] | None:
        """Decisions of a coordinator before this one, whose markers may not have been sent."""
        if not self._unsent:
            return None
        unsent, self._unsent = self._unsent, []
        prepared = [txn for each in unsent if (txn := self.transactions.get(each)) is not None]
        return Decided(effects=[SendMarkers(txn.transactional_id, txn.producer) for txn in prepared])

    def next_deadline_ms(self) -> int | None:
        if not self.transactions:
            return None
        return min(self._abort_look_ms, self._expiration_look_ms) if self._ongoing else self._expiration_look_ms

    def expire(self, now: Now) -> Decided[None] | None:
        if now.mono_ms >= self._abort_look_ms:
            self._abort_look_ms = now.mono_ms + self._config.abort_interval_ms
            overdue = [AbortOverdue(txn.transactional_id, txn.producer) for txn in self._overdue(now)]
            if overdue:
                return Decided(effects=overdue)
        if now.mono_ms >= self._expiration_look_ms:
            unused = self._unused(now)
            if unused:
                return Decided([(tombstone(each), 0) for each in unused])
            self._expiration_look_ms = now.mono_ms + self._config.expiration_interval_ms
        return None

    def _overdue(self, now: Now) -> Iterator[Transaction]:
        return (txn for each in self._ongoing if _is_overdue(txn := self.transactions[each], now))

    def _unused(self, now: Now) -> list[str]:
        until_ms = now.wall_ms - self._config.expiration_ms
        unused = []
        for txn in self.transactions.values():
            if txn.state in states.IDLE and txn.updated_ms <= until_ms:
                unused.append(txn.transactional_id)
                if len(unused) == REMOVED_PER_STEP:
                    break
        return unused


def _is_overdue(txn: Transaction, now: Now) -> bool:
    return txn.started_ms + txn.timeout_ms < now.wall_ms
