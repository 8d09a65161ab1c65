"""Requests that wait for their connection, by node, first come first served: its callers ask, and need not look after
connections.

    response = await unsent.send(node, request)

A request fails at once if the node cannot be connected to now, and when an attempt to connect fails: its sender knows
whether to try again, and where. It fails when its time is up, of which the wait for the connection is a part.
"""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from odradek.channel.connection_states import State
from odradek.channel.core import ByVersion
from odradek.channel.errors import ClientClosed, Disconnected
from odradek.channel.in_flight import PendingResponse
from odradek.channel.network_client import Lost, NetworkClient
from odradek.channel.node import Node
from odradek.protocol.declare import Request
from odradek.protocol.errors import KafkaError
from odradek.reactor.timers import Timer

# What a request waits for while its node is in this state.
_HOLDING_UP = {
    State.DISCONNECTED: "",
    State.CONNECTING: ": the connection is still being set up",
    State.CHECKING_API_VERSIONS: ": it is connected, and has not told yet which versions it serves",
    State.READY: ": others are being sent before it",
    State.AUTHENTICATION_FAILED: "",
}


class _Unsent(NamedTuple):
    node: Node
    request: Request | ByVersion
    version: int | None
    deadline_ms: int
    expects_response: bool
    answered: PendingResponse


class UnsentRequests:
    __slots__ = ("_client", "_lost", "_mono_ms", "_queues", "_timer")

    def __init__(self, client: NetworkClient) -> None:
        self._client = client
        self._mono_ms = client.loop.ports.clock.mono_ms
        self._queues: dict[int, deque[_Unsent]] = {}
        self._lost: dict[int, KafkaError] = {}  # why each node is not connected: its next attempt may not be due yet
        self._timer: Timer | None = None
        client.observe(self)

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def send(
        self,
        node: Node,
        request: Request | ByVersion,
        *,
        version: int | None = None,
        timeout_ms: int | None = None,
        expects_response: bool = True,
    ) -> PendingResponse:
        """The response, as `NetworkClient.send` gives it; the node need not be ready."""
        if not self._client.is_active:
            raise ClientClosed("this client was closed")
        timeout_ms = self._client.config.request_timeout_ms if timeout_ms is None else timeout_ms
        answered: PendingResponse = self._client.loop.pending()
        deadline_ms = self._mono_ms() + timeout_ms
        unsent = _Unsent(node, request, version, deadline_ms, expects_response, answered)
        self._queues.setdefault(node.id, deque()).append(unsent)
        self._send_all(node.id)
        if self._client.connection_failed(node.id):
            self._fail(node.id, self._why(node))
        self._set_timer()
        return answered

    def close(self) -> None:
        """Fails the requests that wait. Nothing can be sent afterwards."""
        for node_id in list(self._queues):
            self._fail(node_id, Disconnected("the client was closed before the request was sent"))
        if self._timer is not None:
            self._timer.cancel()

    def why_none(self, nodes: Iterable[Node]) -> KafkaError:
        """Why none of the nodes can be asked now: a refusal, if all have refused us, as it will not pass by itself."""
        nodes = list(nodes)
        refusals = [self._client.authentication_error(node.id) for node in nodes]
        if refusals and refusals[0] is not None and all(refusals):
            return refusals[0]
        reasons = [lost.message for node in nodes if (lost := self._lost.get(node.id)) is not None]
        return Disconnected("; ".join(["none of the known brokers could be reached a moment ago", *reasons]))

    # What the client tells

    def node_changed(self, node: Node) -> None:
        self._lost.pop(node.id, None)
        self._send_all(node.id)

    def node_lost(self, lost: Lost) -> None:
        self._lost[lost.node.id] = lost.error
        self._fail(lost.node.id, lost.error)

    # How it goes

    def _send_all(self, node_id: int) -> None:
        queue = self._queues.get(node_id)
        if queue is None or not self._client.is_active:
            return
        while queue and self._client.ready(queue[0].node):
            self._send(queue.popleft())
        if not queue:
            self._queues.pop(node_id, None)

    def _send(self, unsent: _Unsent) -> None:
        try:
            self._client.send(
                unsent.node.id,
                unsent.request,
                version=unsent.version,
                timeout_ms=max(0, unsent.deadline_ms - self._mono_ms()),
                expects_response=unsent.expects_response,
                answered=unsent.answered,
            )
        except Exception as error:  # noqa: BLE001 - a mistake of who sent it, who waits for what becomes of it
            unsent.answered.fail(error)

    def _why(self, node: Node) -> KafkaError:
        error = self._client.authentication_error(node.id) or self._lost.get(node.id)
        return error or Disconnected(f"{node}: it could not be reached a moment ago")

    def _late(self, node: Node) -> KafkaError:
        known = self._client.states.get(node.id)
        where = "" if known is None else _HOLDING_UP[known.state]
        if known is not None and known.state is State.CONNECTING and not known.addresses:
            where = ": its name is still being resolved"
        before = self._lost.get(node.id)
        earlier = "" if before is None else f"; the attempt before failed: {before.message}"
        return Disconnected(f"{node}: the request was not sent in time{where}{earlier}")

    def _fail(self, node_id: int, error: KafkaError) -> None:
        for unsent in self._queues.pop(node_id, ()):
            unsent.answered.fail(error)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        delays_ms = [self._delay_ms(node_id, queue) for node_id, queue in self._queues.items()]
        if delays_ms:
            self._timer = self._client.loop.after(min(delays_ms), self._look_again)

    def _delay_ms(self, node_id: int, queue: "deque[_Unsent]") -> int:
        """Until the first request is late, or a throttle is over: of everything else the client tells."""
        now_ms = self._mono_ms()
        late_ms = max(0, min(unsent.deadline_ms for unsent in queue) - now_ms)
        throttled_ms = self._client.states.throttle_delay_ms(node_id, now_ms)
        return min(late_ms, throttled_ms) if throttled_ms else late_ms

    def _look_again(self) -> None:
        now_ms = self._mono_ms()
        for node_id, queue in list(self._queues.items()):
            for unsent in [each for each in queue if each.deadline_ms <= now_ms]:
                queue.remove(unsent)
                unsent.answered.fail(self._late(unsent.node))
            self._send_all(node_id)
        self._set_timer()
