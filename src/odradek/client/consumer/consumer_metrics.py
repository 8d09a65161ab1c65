"""What a consumer counts, under the names of Kafka's consumer metrics."""

from collections.abc import Callable
from typing import NamedTuple

from odradek.channel.metrics import DOMAIN, ChannelMetrics
from odradek.client.consumer.fetcher import Fetcher
from odradek.client.consumer.group_session import GroupSession
from odradek.client.consumer.subscription_state import SubscriptionState
from odradek.metrics import Registry
from odradek.metrics.rate import Rate
from odradek.metrics.registry import Gauge

CONSUMER, FETCH, COORDINATOR = "consumer-metrics", "consumer-fetch-manager-metrics", "consumer-coordinator-metrics"


class MetricName(NamedTuple):
    name: str
    group: str
    tags: tuple[tuple[str, str], ...] = ()


class Counts:
    """Of what was handed out; the program's thread writes it."""

    __slots__ = ("bytes", "polls", "records")

    def __init__(self) -> None:
        self.records = self.bytes = self.polls = 0


class MetricsBase:
    """Read when they are asked for."""

    def __init__(self, client_id: str, mono_ms: Callable[[], int]) -> None:
        self._registry = Registry(mono_ms)
        self._mono_ms = mono_ms
        self._tags = {"client-id": client_id}
        self.channel = ChannelMetrics(self._registry, "consumer", client_id)
        self.counts = Counts()

    def read(self) -> dict[MetricName, float]:
        found = {}
        for name, metric in self._registry:
            value = metric.read() if isinstance(metric, Gauge) else None
            if value is not None:
                found[MetricName(name.attribute, name.type, name.tags)] = float(value)
        return found

    def _add(self, group: str, name: str, read: Callable[[], float]) -> None:
        self._registry.attribute(DOMAIN, group, name, read, self._tags)

    def _add_total(self, group: str, name: str, read: Callable[[], int]) -> None:
        self._add(group, f"{name}-total", read)
        rate = Rate(self._mono_ms, read)
        self._registry.attribute(DOMAIN, group, f"{name}-rate", rate.read, self._tags)


class ConsumerMetrics(MetricsBase):
    def of_fetching(self, state: SubscriptionState, fetcher: Fetcher) -> None:
        counts = self.counts
        self._add_total(FETCH, "records-consumed", lambda: counts.records)
        self._add(FETCH, "records-lag-max", lambda: max(_known(map(state.lag, state.assigned())), default=0))
        self._add(FETCH, "records-lead-min", lambda: min(_known(map(state.lead, state.assigned())), default=0))
        self._add(FETCH, "buffered-bytes", lambda: fetcher.buffered_bytes)
        self._add(CONSUMER, "polls-total", lambda: counts.polls)

    def of_group(self, group: GroupSession) -> None:
        self._add(COORDINATOR, "assigned-partitions", lambda: len(group.owned))
        self._add_total(COORDINATOR, "commit", lambda: group.commits.count)
        self._add_total(COORDINATOR, "rebalance", lambda: group.rebalances)
        self._add_total(COORDINATOR, "failed-rebalance", lambda: group.losses)
        self._add(CONSUMER, "last-poll-seconds-ago", lambda: max(0, self._mono_ms() - group.polled_ms) // 1000)


def _known(numbers: "map[int | None]") -> list[int]:
    return [number for number in numbers if number is not None]
