"""The metrics of the data plane, under Kafka's names. The hot path adds to slots; gauges are read when scraped."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from odradek.metrics.meter import Counter, Meter
from odradek.metrics.registry import Collected, Registry
from odradek.replica.roles import Offline

if TYPE_CHECKING:
    from odradek.log.log import Log
    from odradek.replica.manager import ReplicaManager
    from odradek.replica.partition import Partition

SERVER = "kafka.server"
TOPICS = "BrokerTopicMetrics"


class TopicCounters:
    """BrokerTopicMetrics of one topic, or of all of them together. Appends and fetches count in their topic alone:
    `hand_in`.
    """

    __slots__ = (
        "_failed_produces",
        "_handed_in",
        "_registry",
        "_topic",
        "bytes_in",
        "bytes_out",
        "bytes_rejected",
        "fetches",
        "messages_in",
        "produces",
    )

    def __init__(self, registry: Registry, topic: str | None) -> None:
        tags = None if topic is None else {"topic": topic}

        def meter(name: str) -> Meter:
            return registry.meter(SERVER, TOPICS, name, tags)

        self._registry, self._topic = registry, topic
        self._failed_produces: Counter | None = None

        self.messages_in: Counter = meter("MessagesInPerSec")
        self.bytes_in: Counter = meter("BytesInPerSec")
        self.bytes_out: Counter = meter("BytesOutPerSec")
        self.bytes_rejected: Counter = meter("BytesRejectedPerSec") if topic is None else Counter()
        self.produces: Counter = meter("TotalProduceRequestsPerSec")
        self.fetches: Counter = meter("TotalFetchRequestsPerSec")
        self._handed_in = (0,) * len(self._counts())

    @property
    def failed_produces(self) -> Counter:
        """Made when the first one fails: most topics never see any."""
        if self._failed_produces is None:
            tags = None if self._topic is None else {"topic": self._topic}
            self._failed_produces = self._registry.meter(SERVER, TOPICS, "FailedProduceRequestsPerSec", tags)
        return self._failed_produces

    def hand_in(self, all_topics: "TopicCounters") -> None:
        """Adds what was produced and fetched since the last time to the counters of all topics."""
        before = self._handed_in
        now = self._handed_in = tuple(counter.count for counter in self._counts())
        for total, count, counted in zip(all_topics._counts(), now, before, strict=True):
            total.count += count - counted

    def _counts(self) -> tuple[Counter, ...]:
        return (self.messages_in, self.bytes_in, self.produces, self.fetches, self.bytes_out)


class ReplicaMetrics:
    __slots__ = (
        "all_topics",
        "failed_fetches",
        "failed_produces",
        "fetch_conversions",
        "fetch_expirations",
        "follower_expirations",
        "invalid_crc",
        "invalid_magic",
        "invalid_sequence",
        "no_key",
        "produce_conversions",
        "registry",
        "session_evictions",
    )

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.all_topics = TopicCounters(registry, None)

        def meter(name: str) -> Meter:
            return registry.meter(SERVER, TOPICS, name)

        self.failed_produces = meter("FailedProduceRequestsPerSec")
        self.failed_fetches = meter("FailedFetchRequestsPerSec")
        self.produce_conversions = meter("ProduceMessageConversionsPerSec")
        self.fetch_conversions = meter("FetchMessageConversionsPerSec")
        self.invalid_magic = meter("InvalidMagicNumberRecordsPerSec")
        self.invalid_crc = meter("InvalidMessageCrcRecordsPerSec")
        self.invalid_sequence = meter("InvalidOffsetOrSequenceRecordsPerSec")
        self.no_key = meter("NoKeyCompactedTopicRecordsPerSec")
        expires = ("DelayedFetchMetrics", "ExpiresPerSec")
        self.fetch_expirations = registry.meter(SERVER, *expires, {"fetcherType": "consumer"})
        self.follower_expirations = registry.meter(SERVER, *expires, {"fetcherType": "follower"})
        self.session_evictions = registry.meter(SERVER, "FetchSessionCache", "IncrementalFetchSessionEvictionsPerSec")
        for name in ("BytesInPerSec", "BytesOutPerSec"):
            registry.meter(SERVER, TOPICS, f"Replication{name}")
            registry.meter(SERVER, TOPICS, f"Reassignment{name}")

    def topic(self, name: str) -> TopicCounters:
        return TopicCounters(self.registry, name)

    def register(self, replicas: "ReplicaManager") -> None:
        _register_manager(self.registry, replicas)
        self.registry.collect(lambda: _of_partitions(replicas.partitions()))
        self.registry.before_reading(lambda: self._hand_in(replicas))

    def _hand_in(self, replicas: "ReplicaManager") -> None:
        for topic in replicas.topics.values():
            topic.counters.hand_in(self.all_topics)


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


def _of_partitions(partitions: "Iterable[Partition]") -> Iterator[Collected]:
    """A dozen gauges per partition would take more memory than its log: they are made at each scrape."""
    for partition in partitions:
        tags = {"topic": partition.topic.name, "partition": str(partition.index)}
        for name, value in _gauges(partition):
            yield "kafka.cluster", "Partition", name, tags, value
        log = partition.log
        if log is not None:
            yield "kafka.log", "Log", "RetentionSizeInPercent", tags, _retention_percent(log)


def _gauges(partition: "Partition") -> Iterator[tuple[str, int]]:
    log = partition.log
    yield "UnderReplicated", int(is_under_replicated(partition))
    yield "InSyncReplicasCount", 0 if partition.leader is None else len(partition.isr)
    yield "UnderMinIsr", int(is_under_min_isr(partition))
    yield "AtMinIsr", int(is_at_min_isr(partition))
    yield "ReplicasCount", 0 if partition.leader is None else len(partition.replicas)
    yield "LastStableOffsetLag", 0 if log is None else log.high_watermark - log.last_stable_offset


def _retention_percent(log: "Log") -> int:
    """How much of retention.bytes is used; 0 without such a limit."""
    limit = log.config.retention_bytes
    return log.size * 100 // limit if limit > 0 else 0


def is_under_replicated(partition: "Partition") -> bool:
    return partition.leader is not None and len(partition.isr) < len(partition.replicas)


def is_under_min_isr(partition: "Partition") -> bool:
    return partition.leader is not None and len(partition.isr) < _min_in_sync(partition)


def is_at_min_isr(partition: "Partition") -> bool:
    return partition.leader is not None and len(partition.isr) == _min_in_sync(partition)


def _min_in_sync(partition: "Partition") -> int:
    return partition.topic.effective_min_in_sync(len(partition.replicas))


def _producers(partition: "Partition") -> int:
    log = partition.log
    return 0 if log is None else len(log.producers)
