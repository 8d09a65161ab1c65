"""All shards of one coordinator: which partition a key belongs to, and which of them this broker has.

A key belongs to the partition of the internal topic that its Java hash names. The metadata says who leads that.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

from odradek.coordinator.core import Effect, ShardCore
from odradek.coordinator.load_times import LoadingTogether
from odradek.coordinator.shard import ENDED, FAILED, LOADING, Shard, Tell, quiet
from odradek.metrics.recent_times import RecentTimes
from odradek.protocol import errors
from odradek.protocol.frames import CoordinatorRecords
from odradek.protocol.java_hash import partition_of
from odradek.replica.manager import ReplicaManager
from odradek.replica.partition import Partition
from odradek.replicated.record_decoder import RecordDecoder

if TYPE_CHECKING:
    from odradek.metadata.delta import MetadataDelta
    from odradek.metadata.image import MetadataImage

C = TypeVar("C", bound=ShardCore)


class Shards(Generic[C]):
    """All of one coordinator. `make_core(partition)` makes the core of one."""

    __slots__ = (
        "_by_index",
        "_codec",
        "_compression",
        "_decoder",
        "_loading",
        "_make_core",
        "_partitions",
        "_perform",
        "_replicas",
        "_tell",
        "load_times",
        "topic",
    )

    def __init__(
        self,
        replicas: ReplicaManager,
        topic: str,
        codec: CoordinatorRecords,
        make_core: Callable[[int], C],
        *,
        compression: int = 0,
        decoder: type[RecordDecoder] = RecordDecoder,
        perform: Callable[[Shard[C], Effect], None] | None = None,
        tell: Tell = quiet,
    ) -> None:
        self.topic = topic
        self._replicas = replicas
        self._codec = codec
        self._make_core = make_core
        self._compression = compression
        self._decoder = decoder
        self._perform = perform
        self._tell = tell
        self._by_index: dict[int, Shard[C]] = {}
        self._partitions = 0  # of the topic, while there is one
        self._loading = LoadingTogether(replicas.loop, lambda told: tell(f"Finished loading {told} of {topic}.", None))
        self.load_times = RecentTimes(replicas.loop.ports.clock.mono_ms)

    def __iter__(self) -> Iterator[Shard[C]]:
        return iter(list(self._by_index.values()))

    def get(self, index: int) -> Shard[C] | None:
        return self._by_index.get(index)

    def index_of(self, key: str) -> int | None:
        """The partition that a key belongs to; None while there is no topic."""
        return partition_of(key, self._partitions) if self._partitions else None

    def of(self, key: str) -> Shard[C]:
        """The shard of a key, loading or active. NotCoordinator if another broker has it, or nobody."""
        index = self.index_of(key)
        shard = None if index is None else self._by_index.get(index)
        if shard is None or shard.state is ENDED or shard.state is FAILED:
            raise errors.NotCoordinator()
        return shard

    def active(self, key: str) -> Shard[C]:
        """The shard of a key, ready for events. CoordinatorLoadInProgress while it is not."""
        shard = self.of(key)
        if shard.state is LOADING:
            raise errors.CoordinatorLoadInProgress()
        return shard

    # Metadata

    def applied(self, delta: "MetadataDelta", image: "MetadataImage") -> None:
        """After the roles of a delta have changed: takes up what is led now, lets go of what is not. What is led and
        has no open log yet comes with `opened`.
        """
        if delta.topics is None:
            return
        topic = image.topics.by_name.get(self.topic)
        self._partitions = 0 if topic is None else len(topic.partitions)
        for deleted in delta.topics.deleted.values():
            if deleted.name == self.topic:
                self.stop()
        for changed in delta.topics.changed.values():
            if changed.image.name == self.topic:
                for index in sorted(changed.changed):
                    self._reconcile(index)

    def opened(self, topic: str, index: int) -> None:
        """The log of a partition is open, and the partition has its role."""
        if topic == self.topic:
            self._reconcile(index)

    def _reconcile(self, index: int) -> None:
        shard = self._by_index.get(index)
        partition = self._replicas.partition(self.topic, index)
        if partition is not None and partition.leader is None:
            partition = None
        if shard is not None:
            if shard.partition is partition and shard.epoch == partition.leader_epoch:
                return
            shard.end()
            del self._by_index[index]
        if partition is not None:
            self._elect(index, partition)

    def _elect(self, index: int, partition: Partition) -> None:
        shard = self._by_index[index] = Shard(
            self._replicas,
            partition,
            self._codec,
            self._make_core,
            compression=self._compression,
            decoder=self._decoder,
            perform=self._perform,
            tell=self._tell,
            on_loaded=self._loaded,
        )
        self._loading.begin()
        shard.start()

    def _loaded(self, took_ms: int, records: int | None) -> None:
        if records is not None:
            self.load_times.add(took_ms)
        self._loading.ended(records)

    def stop(self) -> None:
        """Whoever waits is refused; nothing more is decided."""
        for shard in self._by_index.values():
            shard.end()
        self._by_index.clear()
        self._loading.stop()
