"""What a producer counts, under the names of Kafka's producer metrics."""

from collections.abc import Callable
from typing import NamedTuple

from odradek.channel.metrics import DOMAIN, ChannelMetrics
from odradek.client.producer.buffer_pool import BufferPool
from odradek.client.producer.record_sender import RecordSender
from odradek.metrics import Registry
from odradek.metrics.rate import Rate
from odradek.metrics.registry import Gauge

GROUP = "producer-metrics"


class MetricName(NamedTuple):
    name: str
    group: str
    tags: tuple[tuple[str, str], ...] = ()


class ProducerMetrics:
    """Read when they are asked for: nothing is counted twice, and a record costs nothing here."""

    def __init__(self, client_id: str, sender: RecordSender, pool: BufferPool, mono_ms: Callable[[], int]) -> None:
        self._registry = Registry(mono_ms)
        self._mono_ms = mono_ms
        self._tags = {"client-id": client_id}
        self.channel = ChannelMetrics(self._registry, "producer", client_id)
        counts = sender.counts
        self._add_total("record-send", lambda: counts.records_sent)
        self._add_total("record-error", lambda: counts.record_errors)
        self._add_total("record-retry", lambda: counts.record_retries)
        self._add_total("batch-split", lambda: counts.batch_splits)
        self._add("batch-size-avg", lambda: _ratio(counts.bytes_sent, counts.batches))
        self._add("records-per-request-avg", lambda: _ratio(counts.records_in_requests, counts.requests))
        self._add("compression-rate-avg", lambda: _ratio(counts.bytes_sent, counts.bytes_before))
        self._add("requests-in-flight", lambda: counts.requests_in_flight)
        self._add("buffer-total-bytes", lambda: pool.total_bytes)
        self._add("buffer-available-bytes", lambda: pool.available_bytes)
        self._add("waiting-threads", lambda: pool.waiting)
        self._add("bufferpool-wait-time-ns-total", lambda: pool.waited_ns)
        self._add_total("buffer-exhausted", lambda: pool.exhausted)

    def read(self) -> dict[MetricName, float]:
        found = {}
        for name, metric in self._registry:
            value = metric.read() if isinstance(metric, Gauge) else None
            if value is not None:
                found[MetricName(name.attribute, name.type, name.tags)] = float(value)
        return found

    def _add(self, name: str, read: Callable[[], float]) -> None:
        self._registry.attribute(DOMAIN, GROUP, name, read, self._tags)

    def _add_total(self, name: str, read: Callable[[], int]) -> None:
        self._add(f"{name}-total", read)
        rate = Rate(self._mono_ms, read)
        self._registry.attribute(DOMAIN, GROUP, f"{name}-rate", rate.read, self._tags)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
