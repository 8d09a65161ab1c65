"""The socket server's metrics under Kafka's names. All of them are read off the objects when somebody asks."""

from collections import Counter as Tally
from collections.abc import Callable

from odradek.metrics import Registry
from odradek.metrics.rate import Rate
from odradek.metrics.registry import Read
from odradek.network.connection_quotas import ConnectionRate
from odradek.network.processor import Processor, server_connections
from odradek.reactor.frames import FrameMemory
from odradek.reactor.loop import Loop

NETWORK, SERVER, BEAN = "kafka.network", "kafka.server", "socket-server-metrics"
IDLE_WINDOW_MS = 1000
SOFTWARE_KINDS_MAX = 200  # the names are the peers' own: what is told must not grow with them


class IdleRatio:
    """The share of time that the reactor slept, over a second or more before now."""

    __slots__ = ("_idle_ms", "_loop", "_mono_ms", "_ratio", "_since_ms")

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._mono_ms = loop.ports.clock.mono_ms
        self._since_ms = self._mono_ms()
        self._idle_ms = loop.idle_ms
        self._ratio = 1.0

    def read(self) -> float:
        now_ms = self._mono_ms()
        if now_ms - self._since_ms >= IDLE_WINDOW_MS:
            self._ratio = min(1.0, (self._loop.idle_ms - self._idle_ms) / (now_ms - self._since_ms))
            self._since_ms, self._idle_ms = now_ms, self._loop.idle_ms
        return self._ratio


class SocketServerMetrics:
    __slots__ = ("_idle", "_loop", "_mono_ms", "_processors", "_registry", "_software")

    def __init__(self, registry: Registry, loop: Loop, memory: FrameMemory, rate: ConnectionRate) -> None:
        self._registry = registry
        self._loop = loop
        self._mono_ms = loop.ports.clock.mono_ms
        self._idle = IdleRatio(loop)
        self._processors: list[Processor] = []
        self._software: dict[tuple[int, str, str], str] = {}
        server = "SocketServer"
        registry.gauge(NETWORK, server, "NetworkProcessorAvgIdlePercent", self._idle.read)
        registry.gauge(NETWORK, server, "MemoryPoolAvailable", lambda: memory.available_bytes)
        registry.gauge(NETWORK, server, "MemoryPoolUsed", lambda: memory.used_bytes)
        registry.gauge(NETWORK, server, "ExpiredConnectionsKilledCount", self._expired)
        registry.gauge(NETWORK, "RequestChannel", "RequestQueueSize", lambda: 0)  # served where it was read
        registry.gauge(NETWORK, "RequestChannel", "ResponseQueueSize", self._responses_waiting)
        registry.attribute(SERVER, BEAN, "broker-connection-accept-rate", lambda: rate.rate(self._mono_ms()))
        registry.before_reading(self._count_software)

    def add_listener(self, listener: str, rate: ConnectionRate) -> None:
        tags = {"listener": listener}
        attribute = self._registry.attribute
        attribute(SERVER, BEAN, "connection-accept-rate", lambda: rate.rate(self._mono_ms()), tags)
        attribute(SERVER, BEAN, "connection-accept-throttle-time", lambda: rate.throttle_ms, tags)

    def add_processor(self, processor: Processor) -> None:
        self._processors.append(processor)
        number = str(processor.number)
        gauge = self._registry.gauge
        gauge(NETWORK, "Processor", "IdlePercent", self._idle.read, {"networkProcessor": number})
        waiting = {"processor": number}
        gauge(NETWORK, "RequestChannel", "ResponseQueueSize", lambda: processor.responses_waiting, waiting)
        tags = {"listener": processor.listener, "networkProcessor": number}
        self._add("connection-count", processor.__len__, tags)
        self._add("expired-connections-killed-count", lambda: processor.expired + processor.expired_sessions, tags)
        self._add_total("connection-creation", lambda: processor.created.count, tags)
        self._add_total("connection-close", lambda: processor.closed.count, tags)
        self._add_total("incoming-byte", lambda: processor.bytes_in, tags)
        self._add_total("outgoing-byte", lambda: processor.bytes_out, tags)
        self._add_total("successful-authentication", lambda: processor.authenticated.count, tags)
        self._add_total("failed-authentication", lambda: processor.failed_authentications.count, tags)
        self._add_total("successful-reauthentication", lambda: processor.reauthenticated.count, tags)
        self._add_total("failed-reauthentication", lambda: processor.failed_reauthentications.count, tags)
        without = processor.authenticated_without_reauthentication
        self._add("successful-authentication-no-reauth-total", lambda: without.count, tags)
        self._add("reauthentication-latency-avg", processor.reauthentication_times.average_ms, tags)
        self._add("reauthentication-latency-max", processor.reauthentication_times.max_ms, tags)
        self._add("io-wait-ratio", self._idle.read, tags)
        self._add("io-ratio", lambda: 1 - self._idle.read(), tags)

    def remove_processor(self, processor: Processor) -> None:
        self._processors.remove(processor)
        number = str(processor.number)
        self._registry.remove_tagged(listener=processor.listener, networkProcessor=number)
        self._registry.remove(NETWORK, "Processor", "IdlePercent", {"networkProcessor": number})
        self._registry.remove(NETWORK, "RequestChannel", "ResponseQueueSize", {"processor": number})

    def _add(self, name: str, read: Read, tags: dict[str, str]) -> None:
        self._registry.attribute(SERVER, BEAN, name, read, tags)

    def _add_total(self, name: str, read: Callable[[], int], tags: dict[str, str]) -> None:
        self._add(f"{name}-total", read, tags)
        self._add(f"{name}-rate", Rate(self._mono_ms, read).read, tags)

    def _expired(self) -> int:
        return sum(processor.expired + processor.expired_sessions for processor in self._processors)

    def _responses_waiting(self) -> int:
        return sum(processor.responses_waiting for processor in self._processors)

    def _count_software(self) -> None:
        """`connections` by the name and version that clients have told; what nobody has any more goes."""
        counted: Tally[tuple[int, str, str]] = Tally()
        listeners: dict[int, str] = {}
        for processor in self._processors:
            listeners[processor.number] = processor.listener
            for connection in server_connections(processor):
                name, version = connection.client_software_name, connection.client_software_version
                key = (processor.number, name or "unknown", version or "unknown")
                is_one_too_many = len(counted) >= SOFTWARE_KINDS_MAX and key not in counted
                counted[(processor.number, "other", "other") if is_one_too_many else key] += 1
        for gone in self._software.keys() - counted.keys():
            self._registry.remove(SERVER, BEAN, "connections", self._software_tags(gone, self._software[gone]))
        self._software = {}
        for key, count in counted.items():
            self._tell_software(key, listeners[key[0]], count)

    def _tell_software(self, key: tuple[int, str, str], listener: str, count: int) -> None:
        self._software[key] = listener
        self._add("connections", lambda: count, self._software_tags(key, listener))

    def _software_tags(self, key: tuple[int, str, str], listener: str) -> dict[str, str]:
        number, name, version = key
        return {
            "clientSoftwareName": name,
            "clientSoftwareVersion": version,
            "listener": listener,
            "networkProcessor": str(number),
        }
