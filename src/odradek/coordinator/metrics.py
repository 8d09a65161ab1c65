"""The coordinators' metrics under Kafka's names. Groups are counted when somebody looks, once for all gauges."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from odradek.coordinator.shard import ACTIVE, FAILED, LOADING
from odradek.metrics.rate import Rate
from odradek.metrics.recent_times import RecentTimes
from odradek.metrics.registry import Registry

if TYPE_CHECKING:
    from odradek.coordinator.group.coordinator import GroupCoordinator
    from odradek.coordinator.group.core import GroupCore
    from odradek.coordinator.transaction.coordinator import TransactionCoordinator

SERVER, GROUP, TRANSACTION = "kafka.server", "kafka.coordinator.group", "kafka.coordinator.transaction"
GROUP_BEAN, TRANSACTION_BEAN = "group-coordinator-metrics", "transaction-coordinator-metrics"

CLASSIC_STATES = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty")
CONSUMER_STATES = ("Empty", "Assigning", "Reconciling", "Stable", "Dead")
STREAMS_STATES = ("Empty", "NotReady", "Assigning", "Reconciling", "Stable", "Dead")
SHARD_STATES = (LOADING, ACTIVE, FAILED)


class Census:
    """What there is in all shards at one moment."""

    __slots__ = ("classic", "consumer", "offsets", "shards", "streams")

    def __init__(self, shards: "Iterable[tuple[str, GroupCore]]" = ()) -> None:
        self.classic: Counter[str] = Counter()
        self.consumer: Counter[str] = Counter()
        self.shards: Counter[str] = Counter()
        self.streams: Counter[str] = Counter()
        self.offsets = 0
        for state, core in shards:
            self.shards[state] += 1
            self.classic.update(group.state for group in core.classic.groups.values())
            self.consumer.update(group.state for group in core.consumers.groups.values())
            self.streams.update(group.state for group in core.streams.groups.values())
            self.offsets += core.offsets.count()


def register_groups(registry: Registry, coordinator: "GroupCoordinator") -> None:
    census = Census()

    def look() -> None:
        nonlocal census
        census = Census((shard.state, shard.core) for shard in coordinator.shards)

    registry.before_reading(look)
    _register_group_counts(registry, lambda: census)
    _register_group_rates(registry, coordinator)
    _register_load_times(registry, GROUP_BEAN, coordinator.shards.load_times)


def _register_group_counts(registry: Registry, census: Callable[[], Census]) -> None:
    manager = "GroupMetadataManager"
    registry.gauge(GROUP, manager, "NumOffsets", lambda: census().offsets)
    registry.gauge(GROUP, manager, "NumGroups", lambda: census().classic.total())
    for state in CLASSIC_STATES:
        registry.gauge(GROUP, manager, f"NumGroups{state}", lambda state=state: census().classic[state])  # type: ignore[misc]

    def attribute(name: str, read: Callable[[], int], **tags: str) -> None:
        registry.attribute(SERVER, GROUP_BEAN, name, read, tags)

    attribute("group-count", lambda: census().classic.total(), protocol="classic")
    attribute("group-count", lambda: census().consumer.total(), protocol="consumer")
    attribute("group-count", lambda: census().streams.total(), protocol="streams")
    for state in CONSUMER_STATES:
        attribute("consumer-group-count", lambda state=state: census().consumer[state], state=state)  # type: ignore[misc]
    for state in STREAMS_STATES:
        attribute("streams-group-count", lambda state=state: census().streams[state], state=state)  # type: ignore[misc]
    for state in SHARD_STATES:
        attribute("num-partitions", lambda state=state: census().shards[state], state=state)  # type: ignore[misc]


def _register_group_rates(registry: Registry, coordinator: "GroupCoordinator") -> None:
    counts = coordinator.counts
    counted: dict[str, Callable[[], int]] = {
        "offset-commit": lambda: counts.offset_commits,
        "offset-expiration": lambda: counts.offset_expirations,
        "offset-deletion": lambda: counts.offset_deletions,
        "group-completed-rebalance": lambda: counts.rebalances_completed,
        "consumer-group-rebalance": lambda: counts.consumer_rebalances,
        "streams-group-rebalance": lambda: counts.streams_rebalances,
    }
    for name, read in counted.items():
        registry.attribute(SERVER, GROUP_BEAN, f"{name}-count", read)
        registry.attribute(SERVER, GROUP_BEAN, f"{name}-rate", Rate(registry.mono_ms, read).read)


def register_transactions(registry: Registry, coordinator: "TransactionCoordinator") -> None:
    _register_load_times(registry, TRANSACTION_BEAN, coordinator.shards.load_times)
    manager = "TransactionMarkerChannelManager"
    registry.gauge(TRANSACTION, manager, "UnknownDestinationQueueSize", lambda: coordinator.leaderless_markers)
    registry.gauge(TRANSACTION, manager, "LogAppendRetryQueueSize", lambda: coordinator.unwritten_completions)

    verification = "AddPartitionsToTxnManager"
    times = registry.histogram(SERVER, verification, "VerificationTimeMs")
    failures = registry.meter(SERVER, verification, "VerificationFailureRate")

    def when_verified(took_ms: int, failed: int) -> None:
        times.record(took_ms)
        failures.mark(failed)

    coordinator.when_verified = when_verified


def _register_load_times(registry: Registry, bean: str, times: RecentTimes) -> None:
    registry.attribute(SERVER, bean, "partition-load-time-avg", times.average_ms)
    registry.attribute(SERVER, bean, "partition-load-time-max", times.max_ms)
