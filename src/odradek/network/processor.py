"""A processor: some of a listener's connections, as Kafka deals them out to its network threads."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.broken_rule import instance, present
from odradek.metrics import Counter
from odradek.metrics.recent_times import RecentTimes
from odradek.network.request_channel import RequestChannel
from odradek.network.server_connection import ServerConnection
from odradek.reactor.frames import FrameMemory
from odradek.reactor.loop import Loop
from odradek.reactor.ports import Socket
from odradek.reactor.selector import Selector
from odradek.reactor.tls_settings import TlsSettings
from odradek.reactor.transport import PlainTransport, Transport
from odradek.security.authenticator import Authenticator
from odradek.security.principal import Principal
from odradek.security.ssl_principal import MappingRules, Subject

if TYPE_CHECKING:
    from odradek.reactor.tls import TlsContext

Before = tuple[str, Principal]  # the mechanism and the principal of an earlier authentication
MakeAuthenticator = Callable[[ServerConnection, "Before | None"], Authenticator]


class ProcessorPlan:
    """What all processors of a listener have in common."""

    __slots__ = (
        "channel",
        "failed_authentication_delay_ms",
        "idle_ms",
        "is_privileged",
        "listener",
        "local_address",
        "make_authenticator",
        "mapping_rules",
        "memory",
        "poisons",
        "request_bytes_max",
        "scratch",
        "tls",
        "tls_settings",
        "urgent",
    )

    def __init__(self, listener: str, channel: RequestChannel, memory: FrameMemory, scratch: memoryview) -> None:
        self.listener = listener
        self.channel = channel
        self.memory = memory
        self.scratch = scratch
        self.local_address = ("", 0)
        self.is_privileged = False
        self.urgent = False
        self.poisons = False
        self.idle_ms = -1
        self.request_bytes_max = 0
        self.failed_authentication_delay_ms = 0
        self.make_authenticator: MakeAuthenticator | None = None
        self.mapping_rules: MappingRules | None = None
        self.tls: TlsContext | None = None
        self.tls_settings: TlsSettings | None = None  # that the context was made of


class Processor(Selector):
    __slots__ = (
        "_closed_bytes_in",
        "_closed_bytes_out",
        "_next_index",
        "_on_disconnect",
        "authenticated",
        "authenticated_without_reauthentication",
        "closed",
        "created",
        "expired_sessions",
        "failed_authentications",
        "failed_reauthentications",
        "number",
        "plan",
        "reauthenticated",
        "reauthentication_times",
    )

    def __init__(
        self, loop: Loop, number: int, plan: ProcessorPlan, on_disconnect: "Callable[[ServerConnection], object]"
    ) -> None:
        super().__init__(
            loop,
            idle_ms=plan.idle_ms,
            memory=plan.memory,
            scratch=plan.scratch,
            urgent=plan.urgent,
            poisons=plan.poisons,
        )
        self.number = number
        self.plan = plan
        self._on_disconnect = on_disconnect
        self._next_index = 0
        self._closed_bytes_in = 0
        self._closed_bytes_out = 0
        self.created = Counter()
        self.closed = Counter()
        self.authenticated = Counter()
        self.authenticated_without_reauthentication = Counter()
        self.failed_authentications = Counter()
        self.reauthenticated = Counter()
        self.failed_reauthentications = Counter()
        self.reauthentication_times = RecentTimes(loop.ports.clock.mono_ms)
        self.expired_sessions = 0

    # What a connection asks its processor

    @property
    def listener(self) -> str:
        return self.plan.listener

    @property
    def channel(self) -> RequestChannel:
        return self.plan.channel

    @property
    def is_privileged(self) -> bool:
        return self.plan.is_privileged

    @property
    def local_address(self) -> tuple[str, int]:
        return self.plan.local_address

    @property
    def request_bytes_max(self) -> int:
        return self.plan.request_bytes_max

    @property
    def failed_authentication_delay_ms(self) -> int:
        return self.plan.failed_authentication_delay_ms

    def authenticator(self, connection: ServerConnection, before: "Before | None" = None) -> Authenticator | None:
        make = self.plan.make_authenticator
        return make(connection, before) if make is not None else None

    def certificate_principal(self, subject: Subject | None) -> Principal | None:
        rules = present(self.plan.mapping_rules, "a listener that reads certificates has rules for their names")
        return rules.principal(subject)

    # Connections

    def accept(self, socket: Socket) -> ServerConnection:
        transport: Transport = PlainTransport(socket) if self.plan.tls is None else self.plan.tls.wrap(socket)
        connection = ServerConnection(self, transport, self._next_index)
        self._next_index += 1
        self.created.count += 1
        self.add(connection)
        return connection

    def disconnected(self, connection: ServerConnection) -> None:
        self.closed.count += 1
        self._closed_bytes_in += connection.bytes_in
        self._closed_bytes_out += connection.bytes_out
        self._on_disconnect(connection)

    # What metrics ask

    @property
    def bytes_in(self) -> int:
        return self._closed_bytes_in + sum(connection.bytes_in for connection in self.connections())

    @property
    def bytes_out(self) -> int:
        return self._closed_bytes_out + sum(connection.bytes_out for connection in self.connections())

    @property
    def responses_waiting(self) -> int:
        """Connections with an answer that their peers have not taken."""
        return sum(1 for connection in self.connections() if connection.unsent_bytes)

    def take_over(self, other: Selector) -> None:
        leaving = instance(other, Processor, "a processor takes over from a processor")
        super().take_over(leaving)
        self._closed_bytes_in += leaving._closed_bytes_in
        self._closed_bytes_out += leaving._closed_bytes_out
        for mine, its in zip(self._counters(), leaving._counters(), strict=True):
            mine.count += its.count
        self.reauthentication_times.take_over(leaving.reauthentication_times)

    def _counters(self) -> tuple[Counter, ...]:
        return (
            self.created,
            self.closed,
            self.authenticated,
            self.authenticated_without_reauthentication,
            self.failed_authentications,
            self.reauthenticated,
            self.failed_reauthentications,
        )


def server_connections(processor: Processor) -> list[ServerConnection]:
    of_clients = "a processor has connections of clients"
    return [instance(connection, ServerConnection, of_clients) for connection in processor.connections()]
