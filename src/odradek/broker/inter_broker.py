"""What one node asks another, or the controller: always as a message, also where both are this very process.

The local route puts the request into the loop's queue and lets the dispatcher of the right listener answer it, exactly
as it would answer a peer. So no component can come to depend on being served inside its own call.

Not wired yet is the way to other brokers, over the channel, as a cluster has one node: the composition root is to call
`route_to_others`, with the metadata cache's nodes on the inter-broker listener. A controller elsewhere takes an
Envelope around what is forwarded besides: a connection between nodes says who the node is, not whom it speaks for.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from odradek.broken_rule import present
from odradek.channel.node import Node
from odradek.channel.unsent_requests import UnsentRequests
from odradek.handlers.broker_parts import ACTIVE_CONTROLLER
from odradek.protocol.declare import Request
from odradek.protocol.errors import BrokerNotAvailable
from odradek.protocol.releases import BROKER, CONTROLLER, Release
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.security.principal import ANONYMOUS, Principal

# Responses are `Any` throughout: which class one has follows from the request's API key, which mypy does not see.


class LocalDispatcher(Protocol):
    """What is used of a dispatcher: it answers a request that never was on a wire."""

    def serve_local(
        self,
        request: Request,
        version: int,
        *,
        principal: Principal,
        listener: str = ...,
        address: tuple[str, int] = ...,
        client_id: str | None = ...,
    ) -> Pending[Any]: ...


class InterBroker:
    __slots__ = ("_find_node", "_local", "_loop", "_node_id", "_release", "_requests")

    def __init__(self, loop: Loop, node_id: int, release: Release) -> None:
        self._loop = loop
        self._node_id = node_id
        self._release = release
        self._local: dict[str, tuple[LocalDispatcher, str]] = {}
        self._requests: UnsentRequests | None = None
        self._find_node: Callable[[int], Node | None] = lambda _: None

    def attach(self, kind: str, dispatcher: LocalDispatcher, listener: str) -> None:
        """Requests to this node's broker or controller go to this dispatcher, as if they came in on that listener."""
        self._local[kind] = (dispatcher, listener)

    def route_to_others(self, requests: UnsentRequests, find_node: Callable[[int], Node | None]) -> None:
        """Lets other brokers be asked; `find_node` tells where each of them is, at the time when it is asked.

        Not wired yet: a cluster has one node.
        """
        self._requests = requests
        self._find_node = find_node

    def send(
        self,
        node_id: int,
        request: Request,
        *,
        version: int | None = None,
        principal: Principal | None = None,
        client_id: str | None = None,
    ) -> Pending[Any]:
        """The response. `version` is the newest that both sides know, `principal` this broker's own, unless given."""
        kind = CONTROLLER if node_id == ACTIVE_CONTROLLER else BROKER
        if kind == BROKER and node_id != self._node_id:
            return self._send_to_other(node_id, request, version)
        answered: Pending[Any] = self._loop.pending()
        chosen = self.newest_version(kind, request) if version is None else version
        self._loop.soon(self._deliver, _Sent(kind, request, chosen, principal or ANONYMOUS, client_id, answered))
        return answered

    def _send_to_other(self, node_id: int, request: Request, version: int | None) -> Pending[Any]:
        node = self._find_node(node_id)
        if node is None or self._requests is None:
            raise BrokerNotAvailable(f"Node {node_id} is not known here, where node {self._node_id} is.")
        return self._requests.send(node, request, version=version)

    def newest_version(self, kind: str, request: Request) -> int:
        key = present(request.api_key, "every request has an API key")
        return self._release.api_versions(kind, has_telemetry=True)[key][1]

    def _deliver(self, sent: "_Sent") -> None:
        local = self._local.get(sent.kind)
        if local is None:
            sent.answered.fail(BrokerNotAvailable(f"This node has no {sent.kind.lower()} that serves."))
            return
        dispatcher, listener = local
        serving = dispatcher.serve_local(
            sent.request, sent.version, principal=sent.principal, listener=listener, client_id=sent.client_id
        )
        sent.answered.follow(serving)


class _Sent(NamedTuple):
    kind: str
    request: Request
    version: int
    principal: Principal
    client_id: str | None
    answered: Pending[Any]
