"""Gauges of the node as a whole, under Kafka's names. Those of partitions are read from the logs, at scrape time."""

from collections.abc import Callable, Iterable, Iterator

from odradek.broker.lifecycle import BrokerLifecycle
from odradek.broker.shared import Shared
from odradek.log.manager.manager import LogManager
from odradek.metadata.cache import MetadataCache
from odradek.metadata.partition import NO_LEADER, PartitionRegistration
from odradek.metadata.registration import BrokerRegistration
from odradek.metrics.registry import Collected, Number, Registry
from odradek.raft.client import RaftClient
from odradek.reactor.loop import Loop
from odradek.reactor.ports import Clock

_CONTROLLER = "KafkaController"
OURS = "odradek.log"  # what Kafka has no name for is not put among its own


def register(shared: Shared, lifecycle: BrokerLifecycle, logs: LogManager) -> None:
    registry = shared.metrics
    idle = IdleShare(shared.loop)
    registry.gauge("kafka.server", "KafkaServer", "BrokerState", lambda: lifecycle.state.value)
    registry.gauge("kafka.server", "KafkaRequestHandlerPool", "RequestHandlerAvgIdlePercent", idle.read)
    _register_logs(registry, logs)
    _register_cluster(registry, shared.cache, shared.raft)
    _register_metadata(registry, shared.cache, shared.raft, shared.loop.ports.clock)
    _register_fetchers(registry)


# The logs


def _register_logs(registry: Registry, logs: LogManager) -> None:
    registry.gauge("kafka.log", "LogManager", "OfflineLogDirectoryCount", lambda: len(logs.dirs.offline))
    registry.gauge(OURS, "LogManager", "DamagedPartitionCount", lambda: len(list(_of_damage(logs))))
    registry.gauge("kafka.log", "LogManager", "CordonedLogDirectoryCount", lambda: len(logs.dirs.cordoned))
    for path in logs.dirs.by_path:
        _register_dir(registry, logs, path)
    registry.collect(lambda: _of_logs(logs))
    registry.collect(lambda: _of_damage(logs))


def _register_dir(registry: Registry, logs: LogManager, path: str) -> None:
    def is_offline() -> Number:
        return int(not logs.dirs.by_path[path].is_online)

    def is_cordoned() -> Number:
        return int(path in logs.dirs.cordoned)

    def uncleanable() -> Number:
        return len([each for each in logs.cleaner.uncleanable if each.rpartition("/")[0] == path])

    tags = {"logDirectory": path}
    registry.gauge("kafka.log", "LogManager", "LogDirectoryOffline", is_offline, tags)
    registry.gauge("kafka.log", "LogManager", "LogDirectoryCordoned", is_cordoned, tags)
    registry.gauge("kafka.log", "LogCleanerManager", "uncleanable-partitions-count", uncleanable, tags)


def _of_logs(logs: LogManager) -> Iterator[Collected]:
    for (topic, partition), log in list(logs.current.items()):
        if log.is_closed:
            continue
        tags = {"topic": topic, "partition": str(partition)}
        yield "kafka.log", "Log", "NumLogSegments", tags, len(log.segments)
        yield "kafka.log", "Log", "LogStartOffset", tags, log.log_start_offset
        yield "kafka.log", "Log", "LogEndOffset", tags, log.log_end_offset
        yield "kafka.log", "Log", "Size", tags, log.size


def _of_damage(logs: LogManager) -> Iterator[Collected]:
    """The damaged partitions. Kafka takes the whole dir offline for one of them, and has nothing to count."""
    for log_dir in logs.dirs.online:
        for (topic, partition), found in sorted(log_dir.set_aside_logs.items()):
            tags = {"topic": topic, "partition": str(partition), "file": found.damage.path}
            yield OURS, "Log", "DamagedAtByte", tags, found.damage.position or 0


# The cluster


def _register_cluster(registry: Registry, metadata: MetadataCache, raft: RaftClient) -> None:
    def gauge(name: str, read: Callable[[], Number]) -> None:
        registry.gauge("kafka.controller", _CONTROLLER, name, read)

    def brokers() -> Iterable[BrokerRegistration]:
        return metadata.image.cluster.brokers.values()

    def partitions() -> Iterator[PartitionRegistration]:
        for topic in metadata.image.topics.by_id.values():
            yield from topic.partitions.values()

    gauge("ActiveControllerCount", lambda: int(raft.is_leader))
    gauge("ActiveBrokerCount", lambda: sum(not broker.fenced for broker in brokers()))
    gauge("FencedBrokerCount", lambda: sum(broker.fenced for broker in brokers()))
    gauge("GlobalTopicCount", lambda: len(metadata.image.topics.by_id))
    gauge("GlobalPartitionCount", lambda: sum(1 for _ in partitions()))
    gauge("OfflinePartitionsCount", lambda: sum(each.leader == NO_LEADER for each in partitions()))
    gauge("PreferredReplicaImbalanceCount", lambda: sum(each.leader != each.replicas[0] for each in partitions()))


def _register_metadata(registry: Registry, metadata: MetadataCache, raft: RaftClient, clock: Clock) -> None:
    """How far the metadata log is applied. The active controller does not lag: it has made the records."""

    def lag_ms() -> int:
        return max(0, clock.wall_ms() - metadata.image.append_ms)

    def gauge(name: str, read: Callable[[], Number]) -> None:
        registry.gauge("kafka.controller", _CONTROLLER, name, read)

    def attribute(name: str, read: Callable[[], Number]) -> None:
        registry.attribute("kafka.server", "broker-metadata-metrics", name, read)

    gauge("LastAppliedRecordOffset", lambda: metadata.image.offset)
    gauge("LastAppliedRecordTimestamp", lambda: metadata.image.append_ms)
    gauge("LastAppliedRecordLagMs", lambda: 0 if raft.is_leader else lag_ms())
    gauge("LastCommittedRecordOffset", lambda: raft.high_watermark - 1)
    attribute("last-applied-record-offset", lambda: metadata.image.offset)
    attribute("last-applied-record-timestamp", lambda: metadata.image.append_ms)
    attribute("last-applied-record-lag-ms", lag_ms)
    loader = ("kafka.server", "MetadataLoader")
    registry.gauge(*loader, "CurrentMetadataVersion", lambda: metadata.image.features.metadata_version)
    registry.gauge(*loader, "CurrentControllerId", lambda: _id_or_none(raft.leader_and_epoch[0]))


def _id_or_none(node_id: int | None) -> int:
    return -1 if node_id is None else node_id


def _register_fetchers(registry: Registry) -> None:
    """Gauges of replica fetchers, all 0: this broker follows nobody yet, but alarms look at these names."""
    for name in ("MaxLag", "MinFetchRate", "FailedPartitionsCount", "DeadThreadCount"):
        registry.gauge("kafka.server", "ReplicaFetcherManager", name, lambda: 0, {"clientId": "Replica"})


class IdleShare:
    """The share of the time that the reactor has slept since the last look: 1 is idle, 0 is overloaded."""

    __slots__ = ("_idle_ms", "_loop", "_seen_ms")

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._idle_ms = loop.idle_ms
        self._seen_ms = loop.ports.clock.mono_ms()

    def read(self) -> Number:
        now_ms, idle_ms = self._loop.ports.clock.mono_ms(), self._loop.idle_ms
        span_ms = now_ms - self._seen_ms
        share = 1.0 if span_ms <= 0 else min(1.0, (idle_ms - self._idle_ms) / span_ms)
        self._seen_ms, self._idle_ms = now_ms, idle_ms
        return share
