"""The socket server: listeners with their acceptors and processors, quotas, memory, metrics; start, change and stop.

A listener is bound when it is added, so that a port in use shows at once, but nobody is accepted before `enable`:
until then the kernel keeps connections in its backlog. On `stop` nobody is accepted any more, no further request is
read, and what was asked before is answered, for as long as the caller allows.
"""

from collections.abc import Callable

from odradek.broken_rule import present, require
from odradek.config.listeners import Endpoint, inter_broker_listener
from odradek.config.parsed import Config
from odradek.metrics import Registry
from odradek.network.acceptor import Acceptor
from odradek.network.config import ListenerConfig, NetworkConfig, per_ip_overrides
from odradek.network.connection_quotas import ConnectionQuotas
from odradek.network.listener import CONTROL_PLANE, DATA_PLANE, Listener
from odradek.network.listener_security import SASL_PROTOCOLS, TLS_PROTOCOLS, MakeTlsContext, mechanisms, tls_settings
from odradek.network.processor import Before, MakeAuthenticator, Processor, ProcessorPlan
from odradek.network.request_channel import RequestChannel, Serve, nobody_serves
from odradek.network.request_metrics import RequestMetrics
from odradek.network.server_connection import ServerConnection
from odradek.network.socket_server_metrics import SocketServerMetrics
from odradek.reactor.frames import SCRATCH_BYTES, FrameMemory
from odradek.reactor.loop import Loop
from odradek.reactor.ports import Listener as ListeningSocket
from odradek.security.ssl_principal import MappingRules

DRAIN_LOOK_MS = 5
BACKLOG = 4096  # the kernel cuts it to net.core.somaxconn


class SocketServer:
    __slots__ = (
        "_config",
        "_is_enabled",
        "_loop",
        "_make_tls_context",
        "_metrics",
        "_network",
        "_next_processor",
        "_poisons",
        "_registry",
        "_scratch",
        "listeners",
        "memory",
        "quotas",
        "request_metrics",
    )

    def __init__(
        self,
        loop: Loop,
        config: Config,
        metrics: Registry,
        *,
        tls: MakeTlsContext | None = None,
        poisons: bool = False,
    ) -> None:
        """`tls` makes TLS contexts (`reactor.adapters.tls.tls_context`). `poisons` overwrites what was received as
        soon as it is dead: for tests and simulation.
        """
        self._loop = loop
        self._registry = metrics
        self._make_tls_context = tls
        self._poisons = poisons
        self._config = config
        self._network = NetworkConfig.from_config(config)
        self._is_enabled = False
        self._next_processor = 0
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))  # one thread, one buffer
        self.listeners: dict[str, Listener] = {}
        self.memory = FrameMemory(self._network.queued_request_bytes_max)
        self.quotas = ConnectionQuotas(loop.ports.clock.mono_ms, inter_broker_listener(config))
        self.request_metrics = RequestMetrics(metrics)
        self._metrics = SocketServerMetrics(metrics, loop, self.memory, self.quotas.rate)
        self._apply_limits()

    # Start

    def add_listener(self, endpoint: Endpoint, serve: Serve = nobody_serves, *, plane: str = DATA_PLANE) -> Listener:
        """Bound, but closed until `enable`. OSError if the address cannot be had, ConfigError for bad credentials.

        `serve` answers the requests; it may be told later (`serve_with`).
        """
        require(endpoint.listener not in self.listeners, f"there is one listener {endpoint.listener}")
        plan = self._plan(endpoint, serve, plane)
        socket = self._listen(endpoint)
        plan.local_address = socket.address
        listener = Listener(endpoint, plane, plan, self._acceptor(endpoint.listener, socket, urgent=plan.urgent))
        self.listeners[endpoint.listener] = listener
        self.quotas.add_listener(endpoint.listener)
        self._metrics.add_listener(endpoint.listener, self.quotas.listener_rate(endpoint.listener))
        self._apply_listener_limits(endpoint.listener)
        self._resize(listener, self._processors_wanted(listener))
        if self._is_enabled:
            listener.acceptor.start()
        return listener

    def serve_with(self, serve: Serve) -> None:
        """From now on the requests of all listeners are answered by `serve`."""
        for listener in self.listeners.values():
            listener.plan.channel.serve = serve

    def enable(self) -> None:
        """From now on connections are accepted and their requests served; control plane first."""
        self._is_enabled = True
        for listener in sorted(self.listeners.values(), key=lambda listener: listener.plane != CONTROL_PLANE):
            listener.acceptor.start()

    def _listen(self, endpoint: Endpoint) -> ListeningSocket:
        """Unless they were set, the kernel tunes the buffers, and its own limit is that of the backlog: with Kafka's 50
        a burst of connections overflows before a turn is over, and whoever comes then tries again after a second.
        """
        given, network = self._config.given, self._network
        return self._loop.ports.network.listen(
            endpoint.host,
            endpoint.port,
            network.backlog if "socket.listen.backlog.size" in given else max(BACKLOG, network.backlog),
            send_buffer_bytes=network.send_buffer_bytes if "socket.send.buffer.bytes" in given else -1,
            receive_buffer_bytes=network.receive_buffer_bytes if "socket.receive.buffer.bytes" in given else -1,
        )

    def _plan(self, endpoint: Endpoint, serve: Serve, plane: str) -> ProcessorPlan:
        name = endpoint.listener
        channel = RequestChannel(serve, self.request_metrics, self._loop.ports.clock.mono_us)
        plan = ProcessorPlan(name, channel, self.memory, self._scratch)
        plan.urgent = plane == CONTROL_PLANE
        plan.is_privileged = plan.urgent or name == self.quotas.protected_listener
        plan.poisons = self._poisons
        plan.idle_ms = self._network.idle_ms
        plan.request_bytes_max = self._network.request_bytes_max
        plan.failed_authentication_delay_ms = self._network.failed_authentication_delay_ms
        self._secure(plan, endpoint)
        return plan

    def _secure(self, plan: ProcessorPlan, endpoint: Endpoint) -> None:
        """Sets up TLS and SASL for new connections; those that are open keep what they have agreed on."""
        if endpoint.protocol in TLS_PROTOCOLS:
            self._add_tls(plan)
        if endpoint.protocol in SASL_PROTOCOLS:
            plan.make_authenticator = self._sasl(plan.listener)

    def _add_tls(self, plan: ProcessorPlan) -> None:
        settings = tls_settings(self._config, plan.listener)
        if settings != plan.tls_settings:
            make = present(self._make_tls_context, "a server with a TLS listener has somebody who makes its context")
            plan.tls = make(settings)
            plan.tls_settings = settings
        plan.mapping_rules = MappingRules.parse(str(self._config["ssl.principal.mapping.rules"] or "DEFAULT"))

    def _sasl(self, listener: str) -> MakeAuthenticator:
        from odradek.security.sasl_authenticator import FRAME_BYTES_MAX, SaslAuthenticator

        offered = mechanisms(self._config, listener)
        bytes_max = min(FRAME_BYTES_MAX, self._network.sasl_receive_bytes_max)

        def make(connection: ServerConnection, before: Before | None) -> SaslAuthenticator:
            return SaslAuthenticator(
                offered,
                lambda frame: connection.channel.serve(connection, frame),
                frame_bytes_max=bytes_max,
                before=before,
            )

        return make

    def _acceptor(self, name: str, socket: ListeningSocket, *, urgent: bool) -> Acceptor:
        meter = self._registry.meter("kafka.network", "Acceptor", "AcceptorBlockedPercent", {"listener": name})
        return Acceptor(
            self._loop,
            name,
            socket,
            self.quotas,
            meter,
            self._close_excess,
            urgent=urgent,
        )

    # Processors

    def _processors_wanted(self, listener: Listener) -> int:
        """How many processors the listener should have: on the control plane one, as in Kafka."""
        if listener.plane == CONTROL_PLANE:
            return 1
        return ListenerConfig(self._config, listener.name).network_threads

    def _resize(self, listener: Listener, count: int) -> None:
        """Adds or removes processors. Those that stay take over the connections of those that go."""
        processors = listener.processors
        while len(processors) < count:
            processor = Processor(self._loop, self._next_processor, listener.plan, self._disconnected)
            self._next_processor += 1
            processors.append(processor)
            self._metrics.add_processor(processor)
        while len(processors) > count:
            leaving = processors.pop()
            processors[len(processors) - 1].take_over(leaving)
            self._metrics.remove_processor(leaving)

    # Changes

    def update_config(self, config: Config) -> None:
        """Takes over what may change while running: processors, connection limits and rates, keys and credentials.

        A key file is read again if its config changes. ConfigError or TlsSettingsError for what cannot be used.
        """
        self._change_keys(config)
        self._network = NetworkConfig.from_config(config)
        self._apply_limits()
        for listener in self.listeners.values():
            self._apply_listener_limits(listener.name)
            self._resize(listener, self._processors_wanted(listener))
        self.quotas.tell_waiting()

    def _change_keys(self, config: Config) -> None:
        former, self._config = self._config, config
        try:
            for listener in self.listeners.values():
                self._secure(listener.plan, listener.endpoint)
        except BaseException:
            self._config = former
            raise

    def _apply_limits(self) -> None:
        quotas, network = self.quotas, self._network
        quotas.max_connections = network.max_connections
        quotas.max_per_address = network.max_connections_per_ip
        quotas.per_address_overrides = per_ip_overrides(network.per_ip_overrides)
        quotas.rate.limit = network.max_connection_creation_rate

    def _apply_listener_limits(self, name: str) -> None:
        own = ListenerConfig(self._config, name)
        self.quotas.listener_max[name] = own.max_connections
        self.quotas.listener_rate(name).limit = own.max_connection_creation_rate

    # Connections

    def connections(self) -> list[ServerConnection]:
        return [connection for listener in self.listeners.values() for connection in listener.connections()]

    def disconnect(self, is_meant: Callable[[ServerConnection], bool] = lambda _: True) -> int:
        """Closes the connections for which `is_meant` holds. Returns how many."""
        meant = [connection for connection in self.connections() if is_meant(connection)]
        for connection in meant:
            connection.close("disconnected by the broker")
        return len(meant)

    def _disconnected(self, connection: ServerConnection) -> None:
        self.quotas.remove(connection.listener, connection.address[0])

    def _close_excess(self) -> None:
        """Closes the idlest connection of the other listeners if a protected one went beyond the broker's limit."""
        if not self.quotas.exceeds_total():
            return
        others = [
            oldest
            for listener in self.listeners.values()
            if not self.quotas.is_protected(listener.name)
            for processor in listener.processors
            if (oldest := processor.oldest()) is not None
        ]
        if others:
            min(others, key=lambda connection: connection.active_ms).close("room for a protected listener")

    # Stop

    async def stop(self, *, drain_ms: int = 0) -> None:
        """Accepts nobody, reads nothing more, waits for the answers that are owed, then closes everything."""
        for listener in self.listeners.values():
            listener.acceptor.stop()
        for connection in self.connections():
            connection.mute()
        clock = self._loop.ports.clock
        deadline_ms = clock.mono_ms() + drain_ms
        while clock.mono_ms() < deadline_ms and any(connection.is_busy for connection in self.connections()):
            await self._loop.sleep(min(DRAIN_LOOK_MS, max(1, deadline_ms - clock.mono_ms())))
        self.close()

    def close(self) -> None:
        """Closes everything at once, without waiting for answers."""
        for listener in self.listeners.values():
            listener.acceptor.stop()
            for processor in listener.processors:
                processor.close()
        self._is_enabled = False
