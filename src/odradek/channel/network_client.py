"""Kafka's NetworkClient: requests to nodes, each on its connection, with everything that may happen to them on the way.

    client = NetworkClient(loop, ChannelConfig(client_id="me"))
    client.ready(node)                       # begins to connect; True once the node can be asked
    response = await client.send(node.id, MetadataRequest(...))

Who has something to ask before the node is ready uses `UnsentRequests`; who knows a partition or a group, `Channel`.

**The order of things.** Kafka's client polls: it selects, then goes through what the select has found in a fixed order
(sends that get no answer, receives, disconnections, new connections, connections whose set-up took too long, requests
that took too long), and calls everybody back at the end. Here the reactor calls. What can be seen of it is kept:

- A request that gets no answer is over when its last byte has gone out (`sent`), before any later answer is read.
- What a connection has received is handled before its end is noticed: it is read before the end of the stream is.
- Timeouts come last. A turn of the loop serves all input before a timer, and a timer sees the time at which a poll
  began whose input has all been served (`reactor/loop.py`). `_sweep` therefore goes by its own deadline and not by the
  clock: after a long pause of this process an answer that has arrived meanwhile is read before its request could be
  late. In a sweep the set-ups of connections come before requests.
- Callbacks never run inside any of this: `Pending` queues them, and the loop calls them when the handler has returned
  and the state of the node is what it will be. Requests that are given up without I/O (a version that the node does not
  serve) fail the same way, in the next round of that queue.

Between two connections Kafka's order within one poll depends on which came first, and nobody may rely on it there.

Requests of the client itself (ApiVersions; Metadata is `MetadataUpdater`'s) are answered inside and reach no caller.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from odradek.broken_rule import instance, present
from odradek.channel.api_versions import ApiVersions, NodeApiVersions, known_versions, next_attempt
from odradek.channel.backoff import Backoff
from odradek.channel.client_connection import (
    PLAINTEXT,
    RESERVED_CORRELATION_IDS,
    ChannelSecurity,
    ClientConnection,
    correlation_id,
    request_frame,
    response_in,
    sasl_exchange,
    transport_to,
)
from odradek.channel.config import ChannelConfig
from odradek.channel.connection_states import ConnectionStates, State
from odradek.channel.connector import Connector
from odradek.channel.core import ByVersion
from odradek.channel.errors import ClientClosed, Disconnected, NodeNotReady
from odradek.channel.in_flight import InFlightRequest, InFlightRequests, PendingResponse
from odradek.channel.metrics import ChannelMetrics
from odradek.channel.node import Node, broker_number
from odradek.channel.throttle import throttle_ms
from odradek.protocol.apis import API_VERSIONS
from odradek.protocol.declare import Request, Response
from odradek.protocol.errors import KafkaError, UnsupportedVersion
from odradek.protocol.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.protocol.parts import Buffer
from odradek.reactor.frames import LENGTH_BYTES, read_length
from odradek.reactor.loop import Loop
from odradek.reactor.ports import Socket
from odradek.reactor.selector import Selector
from odradek.reactor.timers import Timer
from odradek.version import VERSION

SOFTWARE_NAME = "odradek"

# A peer that hangs up in so many TLS handshakes in a row, about a second of attempts, is taken for one that speaks no
# TLS. A broker that restarts refuses connections instead.
HANDSHAKES_CUT_OFF_MAX = 4


class Lost(NamedTuple):
    """The connection to a node, or the attempt to get one, is over."""

    node: Node
    error: KafkaError


class Observer(Protocol):
    """Told, in a round of its own, when it is worth looking at a node again."""

    def node_changed(self, node: Node) -> None:
        """The node has become ready, or has room for another request where it had none."""
        ...

    def node_lost(self, lost: Lost) -> None: ...


class NetworkClient:
    __slots__ = (
        "_connections",
        "_connector",
        "_correlation_id",
        "_discovers_versions",
        "_is_active",
        "_mono_ms",
        "_observers",
        "_random",
        "_security",
        "_selector",
        "_software",
        "_timer",
        "api_versions",
        "config",
        "in_flight",
        "loop",
        "metrics",
        "states",
    )

    def __init__(
        self,
        loop: Loop,
        config: ChannelConfig,
        *,
        security: ChannelSecurity = PLAINTEXT,
        metrics: ChannelMetrics | None = None,
        discovers_versions: bool = True,
    ) -> None:
        """Without `discovers_versions` every node is taken to serve all that we know, as between brokers of a kind."""
        self.loop = loop
        self.config = config
        self.metrics = metrics
        chance = loop.ports.rng.stream(f"channel {config.client_id}")
        self.states = ConnectionStates(
            Backoff(config.reconnect_backoff_ms, config.reconnect_backoff_max_ms, chance),
            Backoff(config.socket_connection_setup_timeout_ms, config.socket_connection_setup_timeout_max_ms, chance),
        )
        self.in_flight = InFlightRequests(config.max_in_flight_requests_per_connection)
        self.api_versions = ApiVersions()
        self._random = chance
        self._security = security
        self._discovers_versions = discovers_versions
        self._software = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=VERSION)
        self._selector = Selector(loop, idle_ms=config.connections_max_idle_ms)
        self._connector = Connector(loop, self._open, self._attempt_failed)
        self._connections: dict[int, ClientConnection] = {}
        self._correlation_id = -1
        self._observers: list[Observer] = []
        self._mono_ms = loop.ports.clock.mono_ms
        self._timer: Timer | None = None
        self._is_active = True

    def observe(self, observer: Observer) -> None:
        self._observers.append(observer)

    # How things stand

    @property
    def is_active(self) -> bool:
        return self._is_active

    def is_ready(self, node_id: int) -> bool:
        """Whether the node can be sent a request now."""
        connection = self._connections.get(node_id)
        return (
            connection is not None
            and self.in_flight.has_room(node_id)
            and not connection.is_sending
            and self.states.is_ready(node_id, self._mono_ms())
        )

    def connection_failed(self, node_id: int) -> bool:
        """Whether the node is disconnected, and it is too early to try again."""
        return self.states.is_blacked_out(node_id, self._mono_ms())

    def authentication_error(self, node_id: int) -> KafkaError | None:
        known = self.states.get(node_id)
        return None if known is None else known.authentication_error

    def poll_delay_ms(self, node_id: int) -> int | None:
        """When it is worth looking at the node again, if nothing is told of it before; None: never."""
        return self.states.poll_delay_ms(node_id, self._mono_ms())

    def least_loaded_node(self, nodes: Sequence[Node]) -> Node | None:
        """The one with the fewest requests in flight, else one that is being connected to, else the one that was tried
        longest ago; None if it is too early to try any. A random one is looked at first, so that clients spread.
        """
        now_ms = self._mono_ms()
        first = self._random.below(len(nodes)) if nodes else 0
        turned = [*nodes[first:], *nodes[:first]]
        ready = [node for node in turned if self.is_ready(node.id)]
        if ready:
            return min(ready, key=lambda node: self.in_flight.count(node.id))
        preparing = [node for node in turned if self.states.is_preparing(node.id)]
        if preparing:
            return preparing[-1]
        possible = [node for node in turned if self.states.can_connect(node.id, now_ms)]
        return min(possible, key=lambda node: self.states.last_attempt_ms(node.id), default=None)

    def has_usable_node(self, nodes: Iterable[Node]) -> bool:
        """One of them is connected, or may be once it was tried."""
        now_ms = self._mono_ms()
        return any(not self.states.is_blacked_out(node.id, now_ms) for node in nodes)

    # What is asked of it

    def ready(self, node: Node) -> bool:
        """Whether the node can be sent a request; if it is not connected and may be, that is begun."""
        self._check_active()
        if self.is_ready(node.id):
            return True
        if self.states.can_connect(node.id, self._mono_ms()):
            self._connect(node)
        return False

    def send(
        self,
        node_id: int,
        request: Request | ByVersion,
        *,
        version: int | None = None,
        timeout_ms: int | None = None,
        expects_response: bool = True,
        answered: PendingResponse | None = None,
    ) -> PendingResponse:
        """The response, in `answered` if that is given; None if none is expected. Without a `version` it is the newest
        that both sides know.

        Fails with Disconnected, UnsupportedVersion, or why the node could not be authenticated with.
        """
        self._check_active()
        if not self.is_ready(node_id):
            raise NodeNotReady(
                f"node {broker_number(node_id)} is {self.states.state(node_id).value}, or has no room for a request"
            )
        answered = self.loop.pending() if answered is None else answered
        try:
            if isinstance(request, ByVersion):
                chosen = self.api_versions.version_up_to(node_id, request.api_key, request.version_max)
                request = request.build(chosen)
            else:
                chosen = self.api_versions.version(node_id, request.api_key, version)
        except UnsupportedVersion as error:
            answered.fail(error)
            return answered
        timeout = self.config.request_timeout_ms if timeout_ms is None else timeout_ms
        self._send(node_id, request, chosen, answered, timeout, expects_response=expects_response)
        return answered

    def send_ready(
        self, node_id: int, request: Request, version: int, *, expects_response: bool = True
    ) -> PendingResponse:
        """`send`, for who has just seen that the node is ready and which version it serves."""
        answered: PendingResponse = self.loop.pending()
        timeout_ms = self.config.request_timeout_ms
        self._send(node_id, request, version, answered, timeout_ms, expects_response=expects_response)
        return answered

    def disconnect(self, node_id: int) -> None:
        """Closes the connection; what is in flight on it fails."""
        connection = self._connections.get(node_id)
        if connection is not None:
            connection.close("closed by this client")
        elif self.states.state(node_id) is State.CONNECTING:
            self._attempt_failed(node_id, "closed by this client")

    def close(self) -> None:
        """What is in flight fails; nothing can be asked any more."""
        if self._is_active:
            self._is_active = False
            if self._timer is not None:
                self._timer.cancel()
            self._connector.close()
            self._selector.close()

    def _check_active(self) -> None:
        if not self._is_active:
            raise ClientClosed("this network client was closed")

    # Connecting

    def _connect(self, node: Node) -> None:
        known = self.states.connecting(node, self._mono_ms())
        self._wake_at(known.last_attempt_ms + known.setup_timeout_ms)
        self._connector.connect(known)

    def _open(self, node: Node, socket: Socket) -> None:
        transport = transport_to(node, socket, self._security)
        exchange = sasl_exchange(self._security, self._software)
        connection = ClientConnection(self, self._selector, node, transport, exchange, self._random)
        self._connections[node.id] = connection
        self._selector.add(connection, is_connecting=True)

    def _attempt_failed(self, node_id: int, reason: str) -> None:
        known = present(self.states.get(node_id), "who is being connected to is known")
        self.states.disconnected(node_id, self._mono_ms())
        self._tell_lost(known.node, Disconnected(f"{known.node}: {reason}"))

    # What connections tell

    def connected(self, connection: ClientConnection) -> None:
        node_id = connection.node.id
        self.states.checking_api_versions(node_id)
        if self.metrics is not None:
            self.metrics.connections += 1
            self.metrics.connections_created += 1
            self.metrics.successful_authentications += int(self._security is not PLAINTEXT)
        if self._discovers_versions:
            self._ask_api_versions(node_id, known_versions(API_VERSIONS)[1])
        else:
            self._is_ready_now(connection.node)

    def sent(self, connection: ClientConnection, *, has_waited: bool) -> None:
        """All that was to be sent has gone out."""
        done = self.in_flight.complete_sent(connection.node.id)
        for request in done:
            request.answered.resolve(None)
        if done or has_waited:
            self._tell_changed(connection.node)

    def received(self, connection: ClientConnection, frame: Buffer) -> None:
        node = connection.node
        if self.metrics is not None:
            self.metrics.bytes_in += LENGTH_BYTES + len(frame)
        request = self.in_flight.oldest(node.id)
        if request is None or correlation_id(frame) != request.correlation_id:
            expected = "nothing" if request is None else str(request)
            connection.close(f"an answer with correlation id {correlation_id(frame)}, where {expected} was expected")
            return
        response = response_in(frame, request.api_key, request.version)
        had_room = self.in_flight.has_room(node.id)
        self.in_flight.complete_oldest(node.id)
        self._obey_throttle(node.id, request, response)
        if request.is_internal:
            rule = "what the client asks by itself is ApiVersions"
            self._api_versions_answered(connection, request, instance(response, ApiVersionsResponse, rule))
            return
        if self.metrics is not None:
            now_ms = self._mono_ms()
            self.metrics.responses += 1
            self.metrics.latency.record(now_ms - request.sent_ms, now_ms)
        request.answered.resolve(response)
        if not had_room:
            self._tell_changed(node)

    def closed(self, connection: ClientConnection) -> None:
        node = connection.node
        if self._connections.get(node.id) is not connection:
            return
        del self._connections[node.id]
        self._count_closed(connection)
        if connection.was_cut_off_in_handshake and self.states.setup_failures(node.id) >= HANDSHAKES_CUT_OFF_MAX:
            connection.speaks_no_tls()
        reason = Disconnected(f"{node}: {connection.close_reason or 'the connection was closed'}")
        error = connection.authentication_error or reason
        self.api_versions.remove(node.id)
        if connection.authentication_error is not None:
            self.states.authentication_failed(node.id, self._mono_ms(), connection.authentication_error)
        else:
            self.states.disconnected(node.id, self._mono_ms())
        for request in self.in_flight.clear(node.id):
            request.answered.is_observed = request.answered.is_observed or request.is_internal
            request.answered.fail(error)
        self._tell_lost(node, error)

    # ApiVersions

    def _ask_api_versions(self, node_id: int, version: int) -> None:
        timeout_ms = self.config.request_timeout_ms
        self._send(node_id, self._software, version, self.loop.pending(), timeout_ms, is_internal=True)

    def _api_versions_answered(
        self, connection: ClientConnection, request: InFlightRequest, response: ApiVersionsResponse
    ) -> None:
        node = connection.node
        if response.error_code == UnsupportedVersion.code and request.version > 0:
            self._ask_api_versions(node.id, next_attempt(response, request.version))
        elif response.error_code:
            connection.close(f"ApiVersions was answered with error {response.error_code}")
        else:
            self.api_versions.update(node.id, NodeApiVersions.from_response(response))
            self._is_ready_now(node)

    def _is_ready_now(self, node: Node) -> None:
        self.states.ready(node.id)
        self._tell_changed(node)

    # How it goes

    def _send(
        self,
        node_id: int,
        request: Request,
        version: int,
        answered: PendingResponse,
        timeout_ms: int,
        *,
        expects_response: bool = True,
        is_internal: bool = False,
    ) -> None:
        """An EncodeError is raised before anything has happened."""
        number = self._next_correlation_id()
        now_ms = self._mono_ms()
        parts = request_frame(request, version, number, self.config.client_id)
        in_flight = InFlightRequest(
            number,
            request,
            version,
            now_ms,
            timeout_ms,
            answered,
            expects_response=expects_response,
            is_internal=is_internal,
        )
        self.in_flight.add(node_id, in_flight)
        self._wake_at(in_flight.deadline_ms)
        if self.metrics is not None:
            self.metrics.requests += 1
            self.metrics.bytes_out += LENGTH_BYTES + read_length(parts[0])[0]  # type: ignore[arg-type]
        self._connections[node_id].send_request(parts)

    def _next_correlation_id(self) -> int:
        self._correlation_id += 1
        if self._correlation_id in RESERVED_CORRELATION_IDS:
            self._correlation_id = 0
        return self._correlation_id

    def _obey_throttle(self, node_id: int, request: InFlightRequest, response: Response) -> None:
        wait_ms = throttle_ms(request.api_key, request.version, response)
        if wait_ms:
            now_ms = self._mono_ms()
            self.states.throttle(node_id, now_ms + wait_ms)
            if self.metrics is not None:
                self.metrics.throttle.record(wait_ms, now_ms)

    def _count_closed(self, connection: ClientConnection) -> None:
        if self.metrics is None:
            return
        if self.states.state(connection.node.id) in (State.CHECKING_API_VERSIONS, State.READY):
            self.metrics.connections -= 1
            self.metrics.connections_closed += 1
        if connection.authentication_error is not None:
            self.metrics.failed_authentications += 1

    def _tell_changed(self, node: Node) -> None:
        for observer in self._observers:
            self.loop.soon(observer.node_changed, node)

    def _tell_lost(self, node: Node, error: KafkaError) -> None:
        for observer in self._observers:
            self.loop.soon(observer.node_lost, Lost(node, error))

    # Time

    def _wake_at(self, deadline_ms: int) -> None:
        """There is one timer, for what is due first; it may find out that there is nothing to do any more."""
        if self._timer is not None and self._timer.is_live:
            if self._timer.deadline_ms <= deadline_ms:
                return
            self._timer.cancel()
        self._timer = self.loop.after(max(0, deadline_ms - self._mono_ms()), self._sweep)

    def _sweep(self) -> None:
        due_ms = present(self._timer, "a sweep is the timer's").deadline_ms
        for node_id in self.states.setups_expired(due_ms):
            self._setup_took_too_long(node_id)
        for node_id in self.in_flight.expired(due_ms):
            oldest = self.in_flight.oldest(node_id)
            self._connections[node_id].close(f"no answer in time to {oldest}")
        deadlines = (self.states.next_setup_deadline_ms(), self.in_flight.next_deadline_ms())
        next_ms = min((deadline for deadline in deadlines if deadline is not None), default=None)
        if next_ms is not None:
            self._wake_at(next_ms)

    def _setup_took_too_long(self, node_id: int) -> None:
        connection = self._connections.get(node_id)
        reason = "it took too long to connect"
        if connection is not None:
            connection.close(reason)
        else:
            self._attempt_failed(node_id, reason)
