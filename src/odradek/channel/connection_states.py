"""How things stand with each node: connected or not, since when, when to try again, where. No I/O.

    DISCONNECTED -> CONNECTING -> CHECKING_API_VERSIONS -> READY
         ^              |                  |                 |
         +--------------+------------------+-----------------+        or AUTHENTICATION_FAILED, from the first two

Each failure to get ready doubles the pause before the next attempt, and each failure to connect doubles the time that
the next attempt may take. Both go back to their first values once the node is ready. A node whose credentials were
refused is tried again after the same pause: somebody may have put them right.

A name may stand for several addresses. Each attempt takes the next one; after the last the name is resolved again. So
it is after a connection has been up: the broker may have moved.

Differs from Kafka: the set-up timeout runs until the peer has proved who it is, not only until the socket is connected.
A peer that accepts and then says nothing in the TLS or SASL exchange would hold a Kafka client up for ever.
"""

from enum import Enum

from odradek.channel.backoff import Backoff
from odradek.channel.node import Node
from odradek.protocol.errors import KafkaError

Address = tuple[str, int]


class State(Enum):
    DISCONNECTED = "disconnected"
    CONNECTING = "connecting"
    CHECKING_API_VERSIONS = "checking API versions"
    READY = "ready"
    AUTHENTICATION_FAILED = "authentication failed"


class NodeConnectionState:
    __slots__ = (
        "addresses",
        "attempt",
        "authentication_error",
        "backoff_ms",
        "failures",
        "last_attempt_ms",
        "node",
        "setup_failures",
        "setup_timeout_ms",
        "state",
        "throttled_until_ms",
    )

    def __init__(self, node: Node) -> None:
        self.node = node
        self.state = State.DISCONNECTED
        self.addresses: list[Address] = []  # those that were not tried yet, the one in use first
        self.attempt = 0  # which one this is: what comes of an earlier one is too late
        self.last_attempt_ms = 0
        self.failures = 0
        self.backoff_ms = 0
        self.setup_failures = 0
        self.setup_timeout_ms = 0
        self.throttled_until_ms = 0
        self.authentication_error: KafkaError | None = None

    @property
    def is_disconnected(self) -> bool:
        return self.state in (State.DISCONNECTED, State.AUTHENTICATION_FAILED)

    @property
    def is_preparing(self) -> bool:
        return self.state in (State.CONNECTING, State.CHECKING_API_VERSIONS)


class ConnectionStates:
    __slots__ = ("_connecting", "_nodes", "_reconnect", "_setup")

    def __init__(self, reconnect: Backoff, setup: Backoff) -> None:
        self._reconnect = reconnect
        self._setup = setup
        self._nodes: dict[int, NodeConnectionState] = {}
        self._connecting: dict[int, NodeConnectionState] = {}

    # Asking

    def get(self, node_id: int) -> NodeConnectionState | None:
        return self._nodes.get(node_id)

    def state(self, node_id: int) -> State:
        known = self._nodes.get(node_id)
        return State.DISCONNECTED if known is None else known.state

    def is_ready(self, node_id: int, now_ms: int) -> bool:
        known = self._nodes.get(node_id)
        return known is not None and known.state is State.READY and known.throttled_until_ms <= now_ms

    def is_preparing(self, node_id: int) -> bool:
        known = self._nodes.get(node_id)
        return known is not None and known.is_preparing

    def can_connect(self, node_id: int, now_ms: int) -> bool:
        known = self._nodes.get(node_id)
        return known is None or (known.is_disconnected and now_ms - known.last_attempt_ms >= known.backoff_ms)

    def is_blacked_out(self, node_id: int, now_ms: int) -> bool:
        """Disconnected, and too early to try again."""
        known = self._nodes.get(node_id)
        return known is not None and known.is_disconnected and not self.can_connect(node_id, now_ms)

    def has_ready(self) -> bool:
        return any(known.state is State.READY for known in self._nodes.values())

    def last_attempt_ms(self, node_id: int) -> int:
        known = self._nodes.get(node_id)
        return 0 if known is None else known.last_attempt_ms

    def setup_failures(self, node_id: int) -> int:
        """How often in a row the connection could not be set up, the attempt under way apart."""
        known = self._nodes.get(node_id)
        return 0 if known is None else known.setup_failures

    def connection_delay_ms(self, node_id: int, now_ms: int) -> int | None:
        """How long to wait before it is worth looking at the node again; None: until something happens to it."""
        known = self._nodes.get(node_id)
        if known is None:
            return 0
        if known.state is State.CONNECTING:
            return known.setup_timeout_ms
        if known.is_disconnected:
            return max(0, known.last_attempt_ms + known.backoff_ms - now_ms)
        return None

    def throttle_delay_ms(self, node_id: int, now_ms: int) -> int:
        known = self._nodes.get(node_id)
        return 0 if known is None else max(0, known.throttled_until_ms - now_ms)

    def poll_delay_ms(self, node_id: int, now_ms: int) -> int | None:
        """How long until the node may be connected to or, if it is throttled, sent to again; None: nobody knows."""
        return self.throttle_delay_ms(node_id, now_ms) or self.connection_delay_ms(node_id, now_ms)

    def next_setup_deadline_ms(self) -> int | None:
        deadlines = [known.last_attempt_ms + known.setup_timeout_ms for known in self._connecting.values()]
        return min(deadlines, default=None)

    def setups_expired(self, now_ms: int) -> list[int]:
        """The nodes whose attempt to connect has taken too long by `now_ms`."""
        return [
            node_id
            for node_id, known in self._connecting.items()
            if known.last_attempt_ms + known.setup_timeout_ms <= now_ms
        ]

    # What happens

    def connecting(self, node: Node, now_ms: int) -> NodeConnectionState:
        """An attempt begins; of an empty list of addresses the name has to be resolved first."""
        known = self._nodes.get(node.id)
        if known is None or known.node[1:3] != node[1:3]:
            known = self._moved(node, known)
        else:
            del known.addresses[:1]
        known.state = State.CONNECTING
        known.attempt += 1
        known.last_attempt_ms = now_ms
        self._connecting[node.id] = known
        return known

    def _moved(self, node: Node, before: NodeConnectionState | None) -> NodeConnectionState:
        """A node of this number at another address has nothing to do with what failed at the old one."""
        known = self._nodes[node.id] = NodeConnectionState(node)
        known.attempt = before.attempt if before is not None else 0
        self._forget_failures(known)
        return known

    def checking_api_versions(self, node_id: int) -> None:
        """The peer is there, and has proved who it is."""
        known = self._nodes[node_id]
        known.state = State.CHECKING_API_VERSIONS
        self._forget_setup_failures(known)
        self._connecting.pop(node_id, None)

    def ready(self, node_id: int) -> None:
        known = self._nodes[node_id]
        known.state = State.READY
        known.authentication_error = None
        self._forget_failures(known)
        self._connecting.pop(node_id, None)

    def disconnected(self, node_id: int, now_ms: int) -> None:
        known = self._nodes[node_id]
        self._failed(known, now_ms)
        if known.state is State.CONNECTING:
            known.setup_failures += 1
            known.setup_timeout_ms = self._setup.after(known.setup_failures + 1)
        else:
            self._forget_setup_failures(known)
            known.addresses.clear()
        known.state = State.DISCONNECTED

    def authentication_failed(self, node_id: int, now_ms: int, error: KafkaError) -> None:
        known = self._nodes[node_id]
        self._failed(known, now_ms)
        known.state = State.AUTHENTICATION_FAILED
        known.authentication_error = error

    def throttle(self, node_id: int, until_ms: int) -> None:
        known = self._nodes.get(node_id)
        if known is not None:
            known.throttled_until_ms = max(known.throttled_until_ms, until_ms)

    def remove(self, node_id: int) -> None:
        self._nodes.pop(node_id, None)
        self._connecting.pop(node_id, None)

    def _failed(self, known: NodeConnectionState, now_ms: int) -> None:
        known.last_attempt_ms = now_ms
        known.throttled_until_ms = 0
        known.failures += 1
        known.backoff_ms = self._reconnect.after(known.failures)
        self._connecting.pop(known.node.id, None)

    def _forget_failures(self, known: NodeConnectionState) -> None:
        known.failures = 0
        known.backoff_ms = 0
        self._forget_setup_failures(known)

    def _forget_setup_failures(self, known: NodeConnectionState) -> None:
        known.setup_failures = 0
        known.setup_timeout_ms = self._setup.after(0)
