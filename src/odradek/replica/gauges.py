"""The gauges of the data plane, under Kafka's names: what the replica manager and its partitions are when scraped."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from odradek.log.log import Log
from odradek.metrics.registry import Collected, Registry
from odradek.replica.metrics import SERVER
from odradek.replica.partition import Partition
from odradek.replica.roles import Offline

if TYPE_CHECKING:
    from odradek.replica.manager import ReplicaManager


def register(replicas: "ReplicaManager") -> None:
    registry = replicas.metrics.registry
    _register_manager(registry, replicas)
    registry.collect(lambda: _of_partitions(replicas.partitions()))
    registry.before_reading(lambda: _hand_in(replicas))


def _hand_in(replicas: "ReplicaManager") -> None:
    for topic in replicas.topics.values():
        topic.counters.hand_in(replicas.metrics.all_topics)


def _register_manager(registry: Registry, replicas: "ReplicaManager") -> None:
    def gauge(name: str, read: Callable[[], int]) -> None:
        registry.gauge(SERVER, "ReplicaManager", name, read)

    gauge("PartitionCount", lambda: sum(1 for _ in replicas.partitions()))
    gauge("LeaderCount", lambda: sum(partition.leader is not None for partition in replicas.partitions()))
    gauge(
        "OfflineReplicaCount", lambda: sum(isinstance(partition.role, Offline) for partition in replicas.partitions())
    )
    gauge("UnderReplicatedPartitions", lambda: sum(map(is_under_replicated, replicas.partitions())))
    gauge("UnderMinIsrPartitionCount", lambda: sum(map(is_under_min_isr, replicas.partitions())))
    gauge("AtMinIsrPartitionCount", lambda: sum(map(is_at_min_isr, replicas.partitions())))
    gauge("ReassigningPartitions", lambda: 0)
    gauge("PartitionsWithLateTransactionsCount", lambda: 0)
    gauge("ProducerIdCount", lambda: sum(map(_producers, replicas.partitions())))
    for name in ("IsrExpandsPerSec", "IsrShrinksPerSec", "FailedIsrUpdatesPerSec"):
        registry.meter(SERVER, "ReplicaManager", name)
    sessions = replicas.sessions
    cache = "FetchSessionCache"
    registry.gauge(SERVER, cache, "NumIncrementalFetchSessions", lambda: len(sessions))
    registry.gauge(SERVER, cache, "NumIncrementalFetchPartitionsCached", lambda: sessions.partition_count)
    for operation, purgatory in replicas.purgatories.items():
        for name in ("PurgatorySize", "NumDelayedOperations"):
            registry.gauge(
                SERVER,
                "DelayedOperationPurgatory",
                name,
                lambda purgatory=purgatory: purgatory.size,  # type: ignore[misc]
                {"delayedOperation": operation},
            )


def _of_partitions(partitions: Iterable[Partition]) -> Iterator[Collected]:
    """A dozen gauges per partition would take more memory than its log: they are made at each scrape."""
    for partition in partitions:
        tags = {"topic": partition.topic.name, "partition": str(partition.index)}
        for name, value in _gauges(partition):
            yield "kafka.cluster", "Partition", name, tags, value
        log = partition.log
        if log is not None:
            yield "kafka.log", "Log", "RetentionSizeInPercent", tags, _retention_percent(log)


def _gauges(partition: Partition) -> Iterator[tuple[str, int]]:
    log = partition.log
    yield "UnderReplicated", int(is_under_replicated(partition))
    yield "InSyncReplicasCount", 0 if partition.leader is None else len(partition.isr)
    yield "UnderMinIsr", int(is_under_min_isr(partition))
    yield "AtMinIsr", int(is_at_min_isr(partition))
    yield "ReplicasCount", 0 if partition.leader is None else len(partition.replicas)
    yield "LastStableOffsetLag", 0 if log is None else log.high_watermark - log.last_stable_offset


def _retention_percent(log: Log) -> int:
    """How much of retention.bytes is used; 0 without such a limit."""
    limit = log.config.retention_bytes
    return log.size * 100 // limit if limit > 0 else 0


def is_under_replicated(partition: Partition) -> bool:
    return partition.leader is not None and len(partition.isr) < len(partition.replicas)


def is_under_min_isr(partition: Partition) -> bool:
    return partition.leader is not None and len(partition.isr) < _min_in_sync(partition)


def is_at_min_isr(partition: Partition) -> bool:
    return partition.leader is not None and len(partition.isr) == _min_in_sync(partition)


def _min_in_sync(partition: Partition) -> int:
    return partition.topic.effective_min_in_sync(len(partition.replicas))


def _producers(partition: Partition) -> int:
    log = partition.log
    return 0 if log is None else len(log.producers)
