"""The transaction coordinator of a broker: all its shards, and what they do outside of their cores.

Every request finds the shard of its transactional id. What a core cannot have by itself is brought from here: producer
ids for those that need one, markers to the leaders, and the abort of what has been open for too long.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from odradek.config.parsed import Config
from odradek.coordinator.core import Decided, Effect
from odradek.coordinator.now import Now
from odradek.coordinator.shard import Shard, Tell, quiet
from odradek.coordinator.shards import Shards
from odradek.coordinator.transaction.core import CoreConfig, TransactionCore
from odradek.coordinator.transaction.effects import AbortOverdue, SendMarkers
from odradek.coordinator.transaction.per_node import Sender
from odradek.coordinator.transaction.transaction import NO_PRODUCER, ProducerIdAndEpoch
from odradek.metadata.cache import MetadataCache
from odradek.protocol import errors
from odradek.protocol.frames import TRANSACTIONS
from odradek.protocol.internal_topics import TRANSACTION_STATE_TOPIC
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.pending import Pending
from odradek.replica.manager import ReplicaManager
from odradek.replicated.record_decoder import RecordDecoder

if TYPE_CHECKING:
    from odradek.coordinator.transaction.add_partitions_sender import AddPartitionsSender
    from odradek.coordinator.transaction.marker_sender import MarkerSender
    from odradek.metadata.delta import MetadataDelta
    from odradek.metadata.image import MetadataImage

TRANSACTION_VERSION = "transaction.version"

# An event that may turn out to need a producer id: it is given one or None, and answers None if it needs one.
EventWithProducerId = Callable[[TransactionCore, Now, int | None], Decided[ProducerIdAndEpoch | None]]


class TransactionsDecoder(RecordDecoder):
    """A transaction is what its last record says."""

    __slots__ = ()

    keeps_all = False


class ProducerIdSource(Protocol):
    def next(self) -> Pending[int]: ...


class TransactionCoordinator:
    __slots__ = (
        "_add_partitions_sender",
        "_inter_broker",
        "_loop",
        "_marker_sender",
        "_metadata",
        "_producer_ids",
        "_tell",
        "_timeout_ms_max",
        "shards",
        "when_verified",
    )

    def __init__(
        self,
        replicas: ReplicaManager,
        inter_broker: Sender,
        metadata: MetadataCache,
        producer_ids: ProducerIdSource,
        config: Config,
        *,
        tell: Tell = quiet,
    ) -> None:
        self._loop = replicas.loop
        self._inter_broker = inter_broker
        self._metadata = metadata
        self._producer_ids = producer_ids
        self._tell = tell
        self._timeout_ms_max: int = config["transaction.max.timeout.ms"]
        of_cores = CoreConfig(
            self.transaction_version,
            config["transaction.abort.timed.out.transaction.cleanup.interval.ms"],
            config["transactional.id.expiration.ms"],
            config["transaction.remove.expired.transaction.cleanup.interval.ms"],
        )
        self._marker_sender: MarkerSender | None = None  # made for the first transaction
        self._add_partitions_sender: AddPartitionsSender | None = None
        self.when_verified: Callable[[int, int], None] = lambda took_ms, failures: None  # of partitions, in a round
        self.shards: Shards[TransactionCore] = Shards(
            replicas,
            TRANSACTION_STATE_TOPIC,
            TRANSACTIONS,
            lambda index: TransactionCore(of_cores),
            decoder=TransactionsDecoder,
            perform=self._perform,
            tell=tell,
        )

    def transaction_version(self) -> int:
        """The finalized level; a cluster that knows no such feature is at 0."""
        return self._metadata.image.features.finalized.get(TRANSACTION_VERSION, 0)

    @property
    def leaderless_markers(self) -> int:
        """Transactions whose markers wait for a leader."""
        return 0 if self._marker_sender is None else self._marker_sender.leaderless

    @property
    def unwritten_completions(self) -> int:
        return 0 if self._marker_sender is None else self._marker_sender.unwritten

    def applied(self, delta: "MetadataDelta", image: "MetadataImage") -> None:
        self.shards.applied(delta, image)

    def opened(self, topic: str, partition: int) -> None:
        self.shards.opened(topic, partition)

    def stop(self) -> None:
        self.shards.stop()

    @property
    def marker_sender(self) -> "MarkerSender":
        if self._marker_sender is None:
            from odradek.coordinator.transaction.marker_sender import MarkerSender

            self._marker_sender = MarkerSender(self._loop, self._inter_broker, self._metadata, self._tell)
        return self._marker_sender

    # Requests

    def add_or_verify(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partition: TopicPartition, *, is_add: bool
    ) -> Pending[None]:
        """For the leader of a partition, wherever the coordinator is: see `AddPartitionsSender`."""
        if self._add_partitions_sender is None:
            from odradek.coordinator.transaction.add_partitions_sender import AddPartitionsSender

            self._add_partitions_sender = AddPartitionsSender(
                self._loop, self._inter_broker, self._metadata, self.when_verified
            )
        sender = self._add_partitions_sender
        return sender.add_or_verify(transactional_id, producer_id, producer_epoch, partition, is_add=is_add)

    async def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: ProducerIdAndEpoch | None
    ) -> ProducerIdAndEpoch:
        if not transactional_id:
            raise errors.InvalidRequest("A transactional id is not empty.")
        if not 0 < timeout_ms <= self._timeout_ms_max:
            raise errors.InvalidTransactionTimeout()
        producer = await self._run_with_producer_id(
            transactional_id,
            lambda core, now, fresh_id: core.init_producer_id(now, transactional_id, timeout_ms, expected, fresh_id),
        )
        if producer == NO_PRODUCER:
            raise errors.ConcurrentTransactions()
        return producer

    async def end(
        self, transactional_id: str, producer: ProducerIdAndEpoch, is_commit: bool, client_version: int
    ) -> ProducerIdAndEpoch:
        """The producer's id and epoch from now on; the markers follow."""
        return await self._run_with_producer_id(
            transactional_id,
            lambda core, now, fresh_id: core.end(now, transactional_id, producer, is_commit, client_version, fresh_id),
        )

    async def _run_with_producer_id(self, transactional_id: str, event: EventWithProducerId) -> ProducerIdAndEpoch:
        fresh_id: int | None = None
        while True:
            shard = self.shards.active(transactional_id)
            producer = await shard.run(_bound(event, shard.now(), fresh_id))
            if producer is not None:
                return producer
            fresh_id = await self._producer_ids.next()

    # Effects

    def _perform(self, shard: Shard[TransactionCore], effect: Effect) -> None:
        if isinstance(effect, SendMarkers):
            self.marker_sender.send(shard, effect)
        elif isinstance(effect, AbortOverdue):
            self._loop.spawn(self._abort(effect))

    async def _abort(self, overdue: AbortOverdue) -> None:
        self._tell(f"The transaction of {overdue.transactional_id} has timed out and is aborted.", None)
        try:
            await self._run_with_producer_id(
                overdue.transactional_id,
                lambda core, now, fresh_id: core.abort_overdue(now, overdue, fresh_id),
            )
        except errors.KafkaError as error:  # it is found again at the next look, here or at the next coordinator
            self._tell(f"The transaction of {overdue.transactional_id} could not be aborted yet.", error)


def _bound(
    event: EventWithProducerId, now: Now, fresh_id: int | None
) -> Callable[[TransactionCore], Decided[ProducerIdAndEpoch | None]]:
    return lambda core: event(core, now, fresh_id)
