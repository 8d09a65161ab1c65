"""The replica manager: every partition that this broker hosts, and what requests and metadata do to them.

It belongs to the reactor's thread. The metadata log decides which partitions are here and who leads them (`apply`);
requests find a partition by the name or the id of its topic. A partition that the metadata names and that has no open
log yet answers NOT_LEADER_OR_FOLLOWER: clients come again, and never see half a partition.

The parts have their own files: `apply.py` (metadata), `produce.py`, `fetch/`, `share/`, `offsets.py`, `deletion.py`,
`log_dirs.py` and `mover.py`.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

from odradek.broken_rule import present
from odradek.config.sources import BrokerLayers
from odradek.log.log import Log
from odradek.log.manager.log_dir import LogDir, SetAsideLog
from odradek.log.manager.manager import LogManager
from odradek.metrics.registry import Registry
from odradek.protocol import errors
from odradek.protocol.releases import Release
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.replica import gauges
from odradek.replica.config import ReplicaConfig
from odradek.replica.delayed import Purgatory
from odradek.replica.fetch.expiry import Expiry
from odradek.replica.fetch.session_cache import SessionCache
from odradek.replica.fetch_entry import TopicKey
from odradek.replica.isr import IsrProposal
from odradek.replica.metrics import ReplicaMetrics
from odradek.replica.partition import Partition
from odradek.replica.roles import DAMAGED, DIR_FAILED
from odradek.replica.topic import HostedTopic
from odradek.replica.unopened_topics import UnopenedTopics

if TYPE_CHECKING:
    from odradek.metadata.delta import MetadataDelta
    from odradek.metadata.image import MetadataImage
    from odradek.replica.apply import Around
    from odradek.replica.mover import Mover

# Asks the controller to take over a proposal of the ISR; what it says comes back through `Leader.isr_changed`.
Propose = Callable[[Partition, IsrProposal], None]


class PartitionVerifier(Protocol):
    """What a leader needs of the transaction coordinator: it tells whether a partition is in a transaction."""

    def add_or_verify(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partition: TopicPartition, *, is_add: bool
    ) -> Pending[None]:
        """Done when the partition is in the transaction, with `is_add` because it was added; fails with the reason."""
        ...


OPERATIONS = ("Produce", "Fetch", "DeleteRecords")


class ReplicaManager:
    __slots__ = (
        "_clock",
        "_mover",
        "_propose",
        "by_id",
        "config",
        "fetch_expiry",
        "image",
        "is_min_in_sync_capped",
        "logs",
        "loop",
        "metrics",
        "node_id",
        "on_dir_failure",
        "on_opened",
        "purgatories",
        "release",
        "roles_changed",
        "sessions",
        "topics",
        "transaction_coordinator",
        "unopened_topics",
    )

    def __init__(
        self,
        loop: Loop,
        logs: LogManager,
        node_id: int,
        config: ReplicaConfig,
        metrics: Registry,
        *,
        release: Release,
        propose: Propose | None = None,
        transaction_coordinator: PartitionVerifier | None = None,
    ) -> None:
        """Without `propose` nobody else could be in sync: one node. Without a coordinator nobody has transactions."""
        self.loop = loop
        self._clock = loop.ports.clock
        self.logs = logs
        self.unopened_topics = UnopenedTopics(loop)
        self.node_id = node_id
        self.config = config
        self.release = release
        self.is_min_in_sync_capped = release.behaviour.caps_min_insync_replicas
        self.metrics = ReplicaMetrics(metrics)
        self.purgatories = {operation: Purgatory() for operation in OPERATIONS}
        self.fetch_expiry = Expiry(loop)
        self.sessions = SessionCache(
            config.session_slots, loop.ports.rng.stream("fetch sessions"), self.metrics.session_evictions
        )
        self.topics: dict[str, HostedTopic] = {}
        self.by_id: dict[bytes, HostedTopic] = {}
        self.image: MetadataImage | None = None
        self.roles_changed: Pending[None] | None = None  # by the last delta that was handed in
        self.transaction_coordinator = transaction_coordinator
        self.on_dir_failure: Callable[[str], None] | None = None
        self.on_opened: Callable[[Partition], None] | None = None  # a partition whose log was opened has its role
        self._propose = propose
        self._mover: Mover | None = None
        logs.dirs.listen(self._dir_failed)
        logs.dirs.listen_to_damage(self._log_set_aside)
        logs.on_replaced = self._log_replaced
        gauges.register(self)

    # Which partitions there are.

    def partitions(self) -> Iterator[Partition]:
        for topic in self.topics.values():
            yield from topic.partitions.values()

    def partition(self, topic: str, index: int) -> Partition | None:
        hosted = self.topics.get(topic)
        return None if hosted is None else hosted.partitions.get(index)

    def resolve(self, topic: TopicKey, index: int) -> Partition:
        """The partition by the name or the id of its topic, or the error that tells why it is not here."""
        hosted = self.topics.get(topic) if type(topic) is str else self.by_id.get(topic)  # type: ignore[arg-type]
        partition = None if hosted is None else hosted.partitions.get(index)
        if partition is None:
            raise self._why_not(topic, index)
        return partition

    def led_partition(self, topic: TopicKey, index: int, current_leader_epoch: int = -1) -> Partition:
        """The partition by the name or the id of its topic, if we lead it in the epoch that the caller knows."""
        partition = self.resolve(topic, index)
        partition.leading(current_leader_epoch)
        return partition

    def _why_not(self, topic: TopicKey, index: int) -> errors.KafkaError:
        image = None if self.image is None else self.image.topics
        if isinstance(topic, str):
            known = None if image is None else image.by_name.get(topic)
            if known is None or index not in known.partitions:
                return errors.UnknownTopicOrPartition()
            return errors.NotLeaderOrFollower()
        known = None if image is None else image.by_id.get(topic)
        if known is None:
            return errors.UnknownTopicId()
        if index not in known.partitions:
            return errors.UnknownTopicOrPartition()
        if known.name in self.topics:
            return errors.InconsistentTopicId()
        return errors.NotLeaderOrFollower()

    def topic_name(self, topic: TopicKey) -> str | None:
        """None for an id that the metadata does not have."""
        if isinstance(topic, str):
            return topic
        known = None if self.image is None else self.image.topics.by_id.get(topic)
        return None if known is None else known.name

    def host(self, name: str, topic_id: bytes) -> HostedTopic:
        """The topic, from now on one of ours."""
        hosted = self.topics.get(name)
        if hosted is None:
            hosted = self.topics[name] = self.by_id[bytes(topic_id)] = HostedTopic(self, name, bytes(topic_id))
        return hosted

    def drop(self, topic: HostedTopic) -> None:
        if self.topics.get(topic.name) is topic:
            del self.topics[topic.name]
            topic.counters.hand_in(self.metrics.all_topics)
            self.metrics.registry.remove_tagged(topic=topic.name)
        self.by_id.pop(topic.id, None)

    # Metadata and configs.

    async def apply(self, delta: "MetadataDelta", image: "MetadataImage", around: "Around | None" = None) -> None:
        """Makes and ends replicas as the delta says. Ends when their logs are open; errors have taken dirs offline."""
        from odradek.replica.apply import apply

        await apply(self, delta, image, around)

    def update_topic_config(self, topic: str) -> None:
        """After `LogManager.update_topic_config`."""
        hosted = self.topics.get(topic)
        if hosted is not None:
            hosted.config = self.logs.topic_configs.of(topic)

    def update_config(self, layers: BrokerLayers) -> None:
        """After `LogManager.update_broker_defaults`: what is dynamic among the broker's configs."""
        self.config = ReplicaConfig.from_config(layers.config)
        self.sessions.slots = self.config.session_slots
        for topic in self.topics.values():
            topic.config = self.logs.topic_configs.of(topic.name)

    def propose(self, partition: Partition, proposal: IsrProposal) -> None:
        propose = present(self._propose, "a partition with other replicas can propose an ISR to the controller")
        propose(partition, proposal)

    def shrink_isrs(self) -> None:
        """Every half `replica.lag.time.max.ms`: followers that lag leave the in-sync replicas.

        Not wired yet: a cluster has one node, and a partition no followers.
        """
        now_ms = self.mono_ms()
        for partition in self.partitions():
            leader = partition.leader
            if leader is not None and not leader.isr.is_alone:
                end_offset = leader.log.log_end_offset
                proposal = leader.isr.maybe_shrink(end_offset, now_ms, self.config.lag_time_max_ms)
                if proposal is not None:
                    self.propose(partition, proposal)

    @property
    def verifies_transactions(self) -> bool:
        """A 3.3 takes the producer's word (KIP-890 came later)."""
        return self.release.behaviour.verifies_transactions and bool(self.config.is_verification_enabled)

    def mono_ms(self) -> int:
        return self._clock.mono_ms()

    def live_replicas(self, partition: Partition) -> list[int]:
        """The other replicas whose brokers are up."""
        brokers = None if self.image is None else self.image.cluster.brokers
        if brokers is None or len(partition.replicas) == 1:
            return []
        return [
            replica
            for replica in partition.replicas
            if replica != self.node_id and (broker := brokers.get(replica)) is not None and not broker.fenced
        ]

    # Log dirs.

    @property
    def mover(self) -> "Mover":
        if self._mover is None:
            from odradek.replica.mover import Mover

            self._mover = Mover(self)
        return self._mover

    def preferred_dir(self, topic: str, index: int) -> str | None:
        """Where AlterReplicaLogDirs wants a partition that was not here when it was asked."""
        return None if self._mover is None else self._mover.preferred.pop((topic, index), None)

    def _log_replaced(self, topic_partition: TopicPartition, log: Log) -> None:
        """A copy in another dir has become the log, at once: nothing may be appended to the old one any more."""
        partition = self.partition(*topic_partition)
        if partition is not None:
            partition.replace_log(log)

    def _dir_failed(self, log_dir: LogDir, is_last: bool) -> None:
        for topic, index in sorted(log_dir.offline):
            partition = self.partition(topic, index)
            if partition is not None:
                partition.go_offline(DIR_FAILED)
        if self.on_dir_failure is not None:
            self.on_dir_failure(log_dir.path)

    def _log_set_aside(self, log_dir: LogDir, found: SetAsideLog) -> None:
        """Whoever waits for this partition is woken and told; the others do not notice.

        Where another broker has a replica, a fetcher would begin here: drop the log, make an empty one, fetch it all.
        """
        partition = self.partition(*found.topic_partition)
        if partition is not None:
            partition.go_offline(DAMAGED)

    # The end.

    async def stop(self) -> None:
        """Before the logs are stopped, which write the high watermarks down."""
        if self._mover is not None:
            await self._mover.stop()
        for topic in list(self.topics.values()):
            for partition in list(topic.partitions.values()):
                partition.remove()
