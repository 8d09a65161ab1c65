"""What a client counts of its connections and requests, under the names of Kafka's client metrics."""

from collections.abc import Callable

from odradek.metrics import Registry
from odradek.metrics.rate import Rate
from odradek.metrics.registry import Read

DOMAIN = "kafka"
WINDOW_MS = 30_000  # metrics.sample.window.ms: averages and maxima are of the last one to two of these


class Latency:
    """The average and the greatest of the last while."""

    __slots__ = ("_before", "_now", "_since_ms")

    def __init__(self, now_ms: int) -> None:
        self._since_ms = now_ms
        self._before = self._now = (0, 0, 0)  # count, total, greatest

    def record(self, took_ms: int, now_ms: int) -> None:
        self._turn(now_ms)
        count, total, greatest = self._now
        self._now = (count + 1, total + took_ms, max(greatest, took_ms))

    def average(self, now_ms: int) -> float:
        self._turn(now_ms)
        count = self._before[0] + self._now[0]
        return (self._before[1] + self._now[1]) / count if count else 0.0

    def greatest(self, now_ms: int) -> int:
        self._turn(now_ms)
        return max(self._before[2], self._now[2])

    def _turn(self, now_ms: int) -> None:
        if now_ms - self._since_ms >= WINDOW_MS:
            is_recent = now_ms - self._since_ms < 2 * WINDOW_MS
            self._before = self._now if is_recent else (0, 0, 0)
            self._now = (0, 0, 0)
            self._since_ms = now_ms


class ChannelMetrics:
    """`kind` is "producer", "consumer", "admin-client", or what a broker calls the client in it."""

    __slots__ = (
        "_mono_ms",
        "_registry",
        "_tags",
        "_type",
        "bytes_in",
        "bytes_out",
        "connections",
        "connections_closed",
        "connections_created",
        "failed_authentications",
        "latency",
        "requests",
        "responses",
        "successful_authentications",
        "throttle",
    )

    def __init__(self, registry: Registry, kind: str, client_id: str) -> None:
        now_ms = registry.mono_ms()
        self._registry = registry
        self._mono_ms = registry.mono_ms
        self._type = f"{kind}-metrics"
        self._tags = {"client-id": client_id}
        self.connections = self.connections_created = self.connections_closed = 0
        self.requests = self.responses = 0
        self.bytes_in = self.bytes_out = 0
        self.successful_authentications = self.failed_authentications = 0
        self.latency = Latency(now_ms)
        self.throttle = Latency(now_ms)
        self._register(kind)

    def _register(self, kind: str) -> None:
        self._add("connection-count", lambda: self.connections)
        self._add_total("connection-creation", lambda: self.connections_created)
        self._add_total("connection-close", lambda: self.connections_closed)
        self._add_total("request", lambda: self.requests)
        self._add_total("response", lambda: self.responses)
        self._add_total("outgoing-byte", lambda: self.bytes_out)
        self._add_total("incoming-byte", lambda: self.bytes_in)
        self._add_total("network-io", lambda: self.requests + self.responses)
        self._add_total("successful-authentication", lambda: self.successful_authentications)
        self._add_total("failed-authentication", lambda: self.failed_authentications)
        self._add_latency("request-latency", self.latency)
        name = "produce" if kind == "producer" else "fetch" if kind == "consumer" else "request"
        self._add_latency(f"{name}-throttle-time", self.throttle)

    def _add(self, name: str, read: Read) -> None:
        self._registry.attribute(DOMAIN, self._type, name, read, self._tags)

    def _add_total(self, name: str, read: Callable[[], int]) -> None:
        rate = Rate(self._mono_ms, read)
        self._add(f"{name}-total", read)
        self._add(f"{name}-rate", rate.read)

    def _add_latency(self, name: str, latency: Latency) -> None:
        self._add(f"{name}-avg", lambda: latency.average(self._mono_ms()))
        self._add(f"{name}-max", lambda: latency.greatest(self._mono_ms()))
