"""What the socket server asks of the broker's configs."""

from odradek.config.broker import TABLE
from odradek.config.errors import ConfigError
from odradek.config.parsed import Config
from odradek.config.snapshot import Snapshot, field

INT_MAX = 2**31 - 1


class NetworkConfig(Snapshot, of=TABLE):
    network_threads = field("num.network.threads", int)
    request_bytes_max = field("socket.request.max.bytes", int)
    queued_request_bytes_max = field("queued.max.request.bytes", int)
    send_buffer_bytes = field("socket.send.buffer.bytes", int)
    receive_buffer_bytes = field("socket.receive.buffer.bytes", int)
    backlog = field("socket.listen.backlog.size", int)
    idle_ms = field("connections.max.idle.ms", int)
    failed_authentication_delay_ms = field("connection.failed.authentication.delay.ms", int)
    max_connections = field("max.connections", int)
    max_connections_per_ip = field("max.connections.per.ip", int)
    per_ip_overrides = field("max.connections.per.ip.overrides", str)
    max_connection_creation_rate = field("max.connection.creation.rate", int)
    sasl_receive_bytes_max = field("sasl.server.max.receive.size", int)


class ListenerConfig:
    """What one listener may have for itself alone, under the prefix of its name."""

    __slots__ = ("max_connection_creation_rate", "max_connections", "network_threads")

    def __init__(self, config: Config, listener: str) -> None:
        self.max_connections = _own(config, listener, "max.connections")
        self.max_connection_creation_rate = _own(config, listener, "max.connection.creation.rate")
        self.network_threads = int(config.listener(listener, "num.network.threads"))


def _own(config: Config, listener: str, name: str) -> int:
    """The value that was set for this listener; the value for the whole broker is another limit, and no default."""
    return int(config.get(f"listener.name.{listener.lower()}.{name}", INT_MAX))


def per_ip_overrides(text: str) -> dict[str, int]:
    """`address:count` pairs, separated by commas."""
    limits = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        address, colon, count = entry.rpartition(":")
        if not colon or not address or not count.strip().isdecimal():
            raise ConfigError("expected address:count pairs", "max.connections.per.ip.overrides", text)
        limits[_address(address.strip())] = int(count)
    return limits


def _address(name: str) -> str:
    return "127.0.0.1" if name == "localhost" else name.strip("[]")
