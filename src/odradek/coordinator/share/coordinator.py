"""The share coordinator of a broker: finds the shard of a share-partition and lets its core decide."""

from typing import TYPE_CHECKING

from odradek.broken_rule import instance
from odradek.config.parsed import Config
from odradek.coordinator.core import Effect
from odradek.coordinator.shard import Shard, Tell, quiet
from odradek.coordinator.shards import Shards
from odradek.coordinator.share.state import ShareState
from odradek.protocol import errors
from odradek.protocol.frames import SHARE_STATE
from odradek.protocol.internal_topics import SHARE_STATE_TOPIC
from odradek.reactor.pending import Pending
from odradek.replica.deletion import delete_records
from odradek.replica.manager import ReplicaManager
from odradek.replica.share.persisted import SharePartitionKey

if TYPE_CHECKING:
    from odradek.coordinator.share.core import ShareCore, Write
    from odradek.metadata.delta import MetadataDelta
    from odradek.metadata.image import MetadataImage


class ShareCoordinator:
    __slots__ = ("_config", "_image", "_replicas", "_tell", "shards")

    def __init__(self, replicas: ReplicaManager, config: Config, *, tell: Tell = quiet) -> None:
        self._replicas = replicas
        self._tell = tell
        self._image: MetadataImage | None = None
        self._config = config
        self.shards: Shards[ShareCore] = Shards(
            replicas,
            SHARE_STATE_TOPIC,
            SHARE_STATE,
            self._make_core,
            compression=config["share.coordinator.state.topic.compression.codec"],
            perform=self._perform,
            tell=tell,
        )

    def _make_core(self, index: int) -> "ShareCore":
        from odradek.coordinator.share.core import ShareCore, ShareCoreConfig  # most brokers never need it

        config = self._config
        of_cores = ShareCoreConfig(
            config["share.coordinator.snapshot.update.records.per.snapshot"],
            config["share.coordinator.cold.partition.snapshot.interval.ms"],
            config["share.coordinator.state.topic.prune.interval.ms"],
        )
        return ShareCore(of_cores, self._exists)

    def _exists(self, topic_id: bytes, partition: int) -> bool:
        topic = None if self._image is None else self._image.topics.by_id.get(topic_id)
        return topic is not None and partition in topic.partitions

    # Metadata

    def applied(self, delta: "MetadataDelta", image: "MetadataImage") -> None:
        self._image = image
        self.shards.applied(delta, image)
        if delta.topics is not None and delta.topics.deleted:
            self._forget({bytes(topic_id) for topic_id in delta.topics.deleted})

    def _forget(self, topic_ids: set[bytes]) -> None:
        for shard in self.shards:
            if shard.is_active:
                shard.run(lambda core: core.topics_deleted(topic_ids)).is_observed = True

    def opened(self, topic: str, partition: int) -> None:
        self.shards.opened(topic, partition)

    def stop(self) -> None:
        self.shards.stop()

    # Requests; what is wrong is raised, or is the error of what is returned.

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Pending[None]:
        shard = self._shard(key)
        now = shard.now()
        return shard.run(lambda core: core.initialize(now, key, state_epoch, start_offset))

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Pending[ShareState]:
        shard = self._shard(key)
        now = shard.now()
        return shard.run(lambda core: core.read(now, key, leader_epoch))

    def write(self, key: SharePartitionKey, write: "Write") -> Pending[None]:
        shard = self._shard(key)
        now = shard.now()
        return shard.run(lambda core: core.write(now, key, write))

    def delete(self, key: SharePartitionKey) -> Pending[None]:
        return self._shard(key).run(lambda core: core.delete(key))

    def summary(self, key: SharePartitionKey) -> Pending[ShareState | None]:
        return self._shard(key).run(lambda core: core.summary(key))

    def _shard(self, key: SharePartitionKey) -> "Shard[ShareCore]":
        return self.shards.active(key.as_coordinator_key())

    # Effects

    def _perform(self, shard: "Shard[ShareCore]", effect: Effect) -> None:
        """What of a core's log is not needed any more is deleted."""
        from odradek.coordinator.share.core import Prune

        prune = instance(effect, Prune, "the one effect of a share core")
        try:
            delete_records(self._replicas, shard.partition, prune.offset, 0)
        except errors.KafkaError as error:
            self._tell(f"{shard.partition.name} could not be pruned up to {prune.offset}.", error)
