"""Gauges of the node as a whole, under Kafka's names. Those of partitions are read from the logs, at scrape time."""

from collections.abc import Iterator
from typing import Any

from odradek.handlers.services import Services
from odradek.metadata.partition import NO_LEADER
from odradek.metrics.registry import Collected, Number, Registry

_CONTROLLER = "KafkaController"
OURS = "odradek.log"  # what Kafka has no name for is not put among its own


def register(registry: Registry, services: Services) -> None:
    _register_broker(registry, services)
    _register_cluster(registry, services)
    _register_metadata(registry, services)
    _register_fetchers(registry)
    registry.collect(lambda: _of_logs(services.logs))
    registry.collect(lambda: _of_damage(services.logs))


def _register_broker(registry: Registry, services: Services) -> None:
    idle = IdleShare(services)
    registry.gauge("kafka.server", "KafkaServer", "BrokerState", lambda: services.lifecycle.state.value)
    registry.gauge("kafka.server", "KafkaRequestHandlerPool", "RequestHandlerAvgIdlePercent", idle.read)
    registry.attribute(
        "kafka.server", "broker-metadata-metrics", "last-applied-record-offset", lambda: services.metadata.image.offset
    )
    registry.attribute(
        "kafka.server",
        "broker-metadata-metrics",
        "last-applied-record-timestamp",
        lambda: services.metadata.image.append_ms,
    )
    registry.gauge("kafka.log", "LogManager", "OfflineLogDirectoryCount", lambda: len(services.logs.dirs.offline))
    registry.gauge(OURS, "LogManager", "DamagedPartitionCount", lambda: len(list(_of_damage(services.logs))))
    registry.gauge("kafka.log", "LogManager", "CordonedLogDirectoryCount", lambda: len(services.logs.dirs.cordoned))
    for path in services.logs.dirs.by_path:
        _register_dir(registry, services, path)


def _register_dir(registry: Registry, services: Services, path: str) -> None:
    def is_offline() -> Number:
        return int(not services.logs.dirs.by_path[path].is_online)

    def is_cordoned() -> Number:
        return int(path in services.logs.dirs.cordoned)

    def uncleanable() -> Number:
        return len([each for each in services.logs.cleaner.uncleanable if each.rpartition("/")[0] == path])

    tags = {"logDirectory": path}
    registry.gauge("kafka.log", "LogManager", "LogDirectoryOffline", is_offline, tags)
    registry.gauge("kafka.log", "LogManager", "LogDirectoryCordoned", is_cordoned, tags)
    registry.gauge("kafka.log", "LogCleanerManager", "uncleanable-partitions-count", uncleanable, tags)


def _register_cluster(registry: Registry, services: Services) -> None:
    def gauge(name: str, read: Any) -> None:
        registry.gauge("kafka.controller", _CONTROLLER, name, read)

    def brokers() -> list[Any]:
        return list(services.metadata.image.cluster.brokers.values())

    gauge("ActiveControllerCount", lambda: int(services.raft.is_leader))
    gauge("ActiveBrokerCount", lambda: sum(not broker.fenced for broker in brokers()))
    gauge("FencedBrokerCount", lambda: sum(broker.fenced for broker in brokers()))
    gauge("GlobalTopicCount", lambda: len(services.metadata.image.topics.by_id))
    gauge("GlobalPartitionCount", lambda: sum(1 for _ in _partitions(services)))
    gauge("OfflinePartitionsCount", lambda: sum(each.leader == NO_LEADER for each in _partitions(services)))
    gauge(
        "PreferredReplicaImbalanceCount",
        lambda: sum(each.leader != each.replicas[0] for each in _partitions(services)),
    )


def _register_metadata(registry: Registry, services: Services) -> None:
    """How far the metadata log is applied. The active controller does not lag: it has made the records."""

    def lag_ms() -> int:
        applied_ms: int = services.metadata.image.append_ms
        return max(0, services.clock.wall_ms() - applied_ms)

    def gauge(name: str, read: Any) -> None:
        registry.gauge("kafka.controller", _CONTROLLER, name, read)

    gauge("LastAppliedRecordOffset", lambda: services.metadata.image.offset)
    gauge("LastAppliedRecordTimestamp", lambda: services.metadata.image.append_ms)
    gauge("LastAppliedRecordLagMs", lambda: 0 if services.raft.is_leader else lag_ms())
    gauge("LastCommittedRecordOffset", lambda: services.raft.high_watermark - 1)
    registry.attribute("kafka.server", "broker-metadata-metrics", "last-applied-record-lag-ms", lag_ms)
    loader = ("kafka.server", "MetadataLoader")
    registry.gauge(*loader, "CurrentMetadataVersion", lambda: services.metadata.image.features.metadata_version)
    registry.gauge(*loader, "CurrentControllerId", lambda: _id_or_none(services.raft.leader_and_epoch[0]))


def _id_or_none(node_id: int | None) -> int:
    return -1 if node_id is None else node_id


def _register_fetchers(registry: Registry) -> None:
    """Nobody is followed yet, and alarms look at these."""
    for name in ("MaxLag", "MinFetchRate", "FailedPartitionsCount", "DeadThreadCount"):
        registry.gauge("kafka.server", "ReplicaFetcherManager", name, lambda: 0, {"clientId": "Replica"})


def _partitions(services: Services) -> Iterator[Any]:
    for topic in services.metadata.image.topics.by_id.values():
        yield from topic.partitions.values()


def _of_logs(logs: Any) -> Iterator[Collected]:
    for (topic, partition), log in list(logs.current.items()):
        if log.is_closed:
            continue
        tags = {"topic": topic, "partition": str(partition)}
        yield "kafka.log", "Log", "NumLogSegments", tags, len(log.segments)
        yield "kafka.log", "Log", "LogStartOffset", tags, log.log_start_offset
        yield "kafka.log", "Log", "LogEndOffset", tags, log.log_end_offset
        yield "kafka.log", "Log", "Size", tags, log.size


def _of_damage(logs: Any) -> Iterator[Collected]:
    """Kafka takes the whole dir offline for one of them, and has nothing to count."""
    for log_dir in logs.dirs.online:
        for (topic, partition), found in sorted(log_dir.set_aside.items()):
            tags = {"topic": topic, "partition": str(partition), "file": found.damage.path}
            yield OURS, "Log", "DamagedAtByte", tags, found.damage.position or 0


class IdleShare:
    """The share of the time that the reactor has slept since the last look: 1 is idle, 0 is overloaded."""

    __slots__ = ("_idle_ms", "_loop", "_seen_ms")

    def __init__(self, services: Services) -> None:
        self._loop = services.loop
        self._idle_ms = self._loop.idle_ms
        self._seen_ms = services.clock.mono_ms()

    def read(self) -> Number:
        now_ms, idle_ms = self._loop.ports.clock.mono_ms(), self._loop.idle_ms
        span_ms = now_ms - self._seen_ms
        share = 1.0 if span_ms <= 0 else min(1.0, (idle_ms - self._idle_ms) / span_ms)
        self._seen_ms, self._idle_ms = now_ms, idle_ms
        return share
