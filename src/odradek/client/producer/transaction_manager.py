"""A producer's identity and its transactions, without I/O: what to ask the coordinators, and what their answers change.

    manager = TransactionManager("id", versions=VERSIONS)
    manager.initialize()          # until READY
    manager.begin()               # then batches go through the sender, offsets through `send_offsets`
    manager.commit()              # or `abort`; until READY again
    manager.prepare()             # or this: somebody else ends it, by what it returns
    manager.state, manager.error  # ABORTABLE_ERROR: abort; FATAL_ERROR: it is over for this producer

One request is in flight at a time, and goes out again until it is answered: the coordinator knows a repetition by the
epoch. The end of a transaction waits for its batches. Without a transactional id only `initialize` is of use: it
fetches a producer id.

The transaction's version says who bumps the epoch, so that nothing late of one transaction touches the next (T6):

| version | a partition joins by | after EndTxn |
|---|---|---|
| 2 | the first Produce or TxnOffsetCommit | the response has the epoch of the next transaction |
| 1 | AddPartitionsToTxn, AddOffsetsToTxn | the same epoch; after an error another one, by InitProducerId |
"""

from typing import Any

from odradek.broken_rule import present
from odradek.client.core import ANY_BROKER, Backoff, Destination, Send, Versions, coordinator
from odradek.client.group_metadata import ConsumerGroupMetadata
from odradek.client.offsets import Offsets
from odradek.client.producer import transaction_requests as requests
from odradek.client.producer.batch import NO_PRODUCER, ProducerIdAndEpoch
from odradek.client.producer.prepared_transaction import PreparedTransaction
from odradek.client.producer.sequencer import Sequencer
from odradek.client.producer.transaction_requests import Ask, Identity, Verdict
from odradek.client.producer.transaction_states import SOURCES, State, TransactionStateError
from odradek.protocol import errors
from odradek.protocol.declare import Response
from odradek.protocol.topic_partition import TopicPartition

PRODUCE = 0
VERSIONS = {PRODUCE: 12, 10: 6, 22: 5, 24: 3, 25: 4, 26: 5, 28: 5}
V1_MAX = {PRODUCE: 11, requests.END_TXN: 4, requests.TXN_OFFSET_COMMIT: 4}  # the next ones speak of version 2
SOON_MS = 20  # the markers of the last transaction are on their way

_DOOMED = frozenset((State.ABORTABLE_ERROR, State.ABORTING, State.FATAL_ERROR))
_FATAL = (
    errors.ClusterAuthorizationFailed,
    errors.ProducerFenced,
    errors.TransactionalIdAuthorizationFailed,
    errors.UnsupportedVersion,
)


class TransactionManager:
    __slots__ = (
        "_adding",
        "_asks",
        "_backoff",
        "_coordinators",
        "_failures",
        "_in_flight",
        "_is_started",
        "_needs_bump",
        "_new_partitions",
        "_partitions",
        "_retry_at_ms",
        "_timeout_ms",
        "_versions",
        "error",
        "incomplete_batches",
        "sequencer",
        "state",
        "transaction_version",
        "transactional_id",
    )

    def __init__(
        self,
        transactional_id: str | None = None,
        *,
        versions: Versions = VERSIONS,
        transaction_version: int = 2,
        timeout_ms: int = 60_000,
        backoff: Backoff | None = None,
    ) -> None:
        self.transactional_id = transactional_id
        self.transaction_version = transaction_version
        self.sequencer = Sequencer(is_transactional=transactional_id is not None)
        self.state = State.UNINITIALIZED
        self.error: errors.KafkaError | None = None
        self.incomplete_batches = 0  # the sender counts them
        self._versions = versions
        self._timeout_ms = timeout_ms
        self._backoff = backoff or Backoff()
        self._asks: list[Ask] = []  # the first one is in flight, or the next
        self._in_flight: Ask | None = None
        self._coordinators: dict[tuple[int, str], int] = {}
        self._partitions: set[TopicPartition] = set()  # in the transaction
        self._new_partitions: dict[TopicPartition, None] = {}  # to be added
        self._adding: set[TopicPartition] = set()  # in requests to come, or in flight
        self._is_started = False  # the coordinator may know that there is a transaction
        self._needs_bump = False
        self._failures = 0
        self._retry_at_ms = 0

    # What the user asks for

    @property
    def is_transactional(self) -> bool:
        return self.transactional_id is not None

    @property
    def is_v2(self) -> bool:
        return self.transaction_version >= 2

    def initialize(self) -> None:
        """From PREPARED, too: as a new producer does, whoever has ended that transaction, or not."""
        self._enter(State.INITIALIZING)
        self._forget_partitions()
        self._asks.append(requests.init_producer_id(self._identity(NO_PRODUCER)))

    def begin(self) -> None:
        self._enter(State.IN_TRANSACTION)

    def send_offsets(self, offsets: Offsets, member: ConsumerGroupMetadata) -> None:
        """Nothing to commit is no part of the transaction: a coordinator would end what it has not seen begin."""
        self._check(State.IN_TRANSACTION)
        if not offsets:
            return
        commit = requests.txn_offset_commit(self._identity(), member, offsets)
        if self.is_v2:
            self._is_started = True
            self._asks.append(commit)
        else:
            self._asks.append(requests.add_offsets(self._identity(), commit, member.group_id))

    def prepare(self) -> PreparedTransaction:
        """When all its batches have their outcome and nothing is asked. Nothing more goes into this transaction."""
        name = present(self.transactional_id, "without an id nobody begins a transaction")
        self._enter(State.PREPARED)
        producer = self.sequencer.producer
        return PreparedTransaction(
            name, producer.producer_id, producer.epoch, self.transaction_version, is_empty=not self._is_started
        )

    def commit(self) -> None:
        self._enter(State.COMMITTING)
        self._add_new_partitions()
        self._asks.append(requests.end_txn(self._identity(), is_commit=True))

    def abort(self) -> None:
        self._enter(State.ABORTING)
        self._new_partitions.clear()
        if isinstance(self.error, errors.InvalidProducerIdMapping):
            self._initialize_again()  # an EndTxn would be refused: the coordinator does not know this producer
        else:
            self._asks.append(requests.end_txn(self._identity(), is_commit=False))
        self.error = None

    @property
    def has_asks(self) -> bool:
        return bool(self._asks)

    # What the sender asks for

    def want_partition(self, partition: TopicPartition) -> None:
        """Before the first batch for it in a transaction."""
        self._check(State.IN_TRANSACTION)
        if partition in self._partitions or partition in self._adding:
            return
        if self.is_v2:
            self._partitions.add(partition)
            self._is_started = True
        else:
            self._new_partitions[partition] = None

    def may_send_to(self, partition: TopicPartition) -> bool:
        if not self.sequencer.producer.is_valid or self.state in (State.FATAL_ERROR, State.PREPARED):
            return False
        return not self.is_transactional or partition in self._partitions

    @property
    def is_doomed(self) -> bool:
        """What has been written in this transaction will never be seen, so that nothing needs to be sent again."""
        return self.state in _DOOMED or (self.is_transactional and self.state is State.INITIALIZING)

    def batch_failed(self, error: errors.KafkaError) -> None:
        """It was given up: its transaction cannot be committed."""
        if isinstance(error, _FATAL):
            self._fatal(error)
        elif self.is_transactional and self.state is not State.FATAL_ERROR:
            self._needs_bump = not self.is_v2
            if self.state not in (State.ABORTING, State.INITIALIZING, State.PREPARED):
                self._abortable(error)

    def forget_producer(self) -> None:
        """The epochs of a producer without transactions are used up: another id is fetched."""
        self._enter(State.UNINITIALIZED)
        self.initialize()

    def version(self, api_key: int) -> int:
        version = self._versions[api_key]
        return version if self.is_v2 else min(version, V1_MAX.get(api_key, version))

    # The core

    def poll(self, now_ms: int) -> list[Send]:
        self._add_new_partitions()
        if self._in_flight is not None or not self._asks or now_ms < self._retry_at_ms:
            return []
        ask = self._asks[0]
        if self._waits_for_batches(ask):
            return []
        if ask.api_key == requests.END_TXN and not self._is_started:
            self._asks.pop(0)
            self._completed()  # no coordinator has heard of this transaction
            return self.poll(now_ms)
        if ask.coordinator is not None and ask.coordinator not in self._coordinators:
            ask = requests.find_coordinator(self._versions, *ask.coordinator)
        self._in_flight = ask
        return [Send(ask.make(), self.version(ask.api_key), self._destination(ask), ask)]

    def answered(self, token: object, response: Response, now_ms: int) -> None:
        ask = self._in_flight
        if ask is None or token is not ask:
            return
        self._in_flight = None
        found = requests.verdict(ask.api_key, response)
        if found.treatment == requests.DONE:
            self._failures = 0
            self._retry_at_ms = now_ms
            self._done(ask, response)
        elif found.treatment in (requests.RETRY, requests.FIND):
            self._retry(ask, found, now_ms)
        else:
            self._refused(ask, found)

    def failed(self, token: object, now_ms: int) -> None:
        """It may have been handled: it goes out again as it was, to whoever coordinates now."""
        if token is self._in_flight and self._in_flight is not None:
            ask, self._in_flight = self._in_flight, None
            self._retry(ask, Verdict(requests.FIND), now_ms)

    def deadline(self) -> int | None:
        if self._in_flight is not None or not self._asks or self._waits_for_batches(self._asks[0]):
            return None
        return self._retry_at_ms

    def _waits_for_batches(self, ask: Ask) -> bool:
        """The epoch ends with it: a batch that is still on its way would be refused, or worse, not be."""
        ends_epoch = ask.api_key == requests.END_TXN or (
            ask.api_key == requests.INIT_PRODUCER_ID and self.is_transactional
        )
        return ends_epoch and self.incomplete_batches > 0

    # Answers: of classes that follow from the API of what was asked, hence Any.

    def _done(self, ask: Ask, response: Any) -> None:
        if ask.api_key == requests.FIND_COORDINATOR:
            found = response.coordinators[0] if response.coordinators else response
            self._coordinators[ask.subject] = found.node_id
            return
        self._drop(ask)
        if ask.api_key == requests.INIT_PRODUCER_ID:
            self._initialized(ProducerIdAndEpoch(response.producer_id, response.producer_epoch))
        elif ask.api_key == requests.ADD_PARTITIONS:
            self._partitions.update(ask.subject)
            self._adding.difference_update(ask.subject)
            self._is_started = True
        elif ask.api_key == requests.ADD_OFFSETS:
            self._is_started = True
            if not self.is_doomed:
                self._asks.insert(0, ask.subject)
        elif ask.api_key == requests.END_TXN:
            self._ended(response)

    def _initialized(self, producer: ProducerIdAndEpoch) -> None:
        if self.is_transactional:
            self.sequencer.restart(producer)
        else:
            self.sequencer.set_producer(producer)
            self.sequencer.renumber()
        self._needs_bump = False
        self._enter(State.READY)

    def _ended(self, response: Any) -> None:
        if self.is_v2 and response.producer_id != NO_PRODUCER.producer_id:
            self.sequencer.restart(ProducerIdAndEpoch(response.producer_id, response.producer_epoch))
        self._completed()

    def _completed(self) -> None:
        self._forget_partitions()
        if self._needs_bump:
            self._initialize_again()
        else:
            self._enter(State.READY)

    def _forget_partitions(self) -> None:
        self._partitions.clear()
        self._new_partitions.clear()
        self._adding.clear()
        self._is_started = False

    def _initialize_again(self) -> None:
        """With the id and epoch that it has: a producer that was replaced in the meantime is fenced, not fencing."""
        self._forget_partitions()
        self._enter(State.INITIALIZING)
        self._asks.append(requests.init_producer_id(self._identity()))

    def _retry(self, ask: Ask, found: Verdict, now_ms: int) -> None:
        if found.treatment == requests.FIND and ask.coordinator is not None:
            self._coordinators.pop(ask.coordinator, None)
        if self.is_doomed and ask.api_key == requests.TXN_OFFSET_COMMIT:
            self._drop(ask)  # the offsets will not count, and the coordinator knows of the transaction
        self._failures += 1
        wait_ms = self._backoff.after(self._failures)
        if isinstance(found.error, errors.ConcurrentTransactions) and not self._partitions:
            wait_ms = min(wait_ms, SOON_MS)
        self._retry_at_ms = now_ms + wait_ms

    def _refused(self, ask: Ask, found: Verdict) -> None:
        error = present(found.error, "a request that is refused is refused for a reason")
        if found.treatment == requests.FENCED:
            self._fatal(errors.ProducerFenced())
        elif found.treatment == requests.FATAL or self.state is State.INITIALIZING:
            self._fatal(error)  # without an identity there is nothing to abort
        elif self.state is State.ABORTING and ask.api_key != requests.END_TXN:
            self._drop(ask)
        else:
            self._needs_bump = not self.is_v2
            self._abortable(error)

    def _drop(self, ask: Ask) -> None:
        if ask in self._asks:  # an error may have emptied the queue while it was on its way
            self._asks.remove(ask)

    # States

    def _abortable(self, error: errors.KafkaError) -> None:
        """What was to be asked is dropped: only an abort makes sense now."""
        self._enter(State.ABORTABLE_ERROR)
        self.error = error
        self._asks.clear()
        self._new_partitions.clear()

    def _fatal(self, error: errors.KafkaError) -> None:
        if self.state is not State.FATAL_ERROR:
            self._enter(State.FATAL_ERROR)
            self.error = error
            self._asks.clear()

    def _enter(self, state: State) -> None:
        if self.state not in SOURCES[state]:
            raise TransactionStateError(f"{self.state.value}: cannot become {state.value}") from self.error
        self.state = state

    def _check(self, state: State) -> None:
        if self.state is not state:
            raise TransactionStateError(f"{self.state.value}: this needs {state.value}") from self.error

    # Requests

    def _identity(self, producer: ProducerIdAndEpoch | None = None) -> Identity:
        return Identity(self.transactional_id, self._timeout_ms, producer or self.sequencer.producer)

    def _add_new_partitions(self) -> None:
        if self._new_partitions and self.sequencer.producer.is_valid:
            new, self._new_partitions = self._new_partitions, {}
            self._adding.update(new)
            self._asks.append(requests.add_partitions(self._identity(), new))

    def _destination(self, ask: Ask) -> Destination:
        if ask.coordinator is None:
            return ANY_BROKER
        return coordinator(*ask.coordinator, self._coordinators[ask.coordinator])
