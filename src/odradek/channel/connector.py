"""From a node to a socket: the next of its addresses, for which its name may have to be resolved first.

A resolver may block, so it is asked in a job. What it tells after the attempt was given up is ignored.
"""

from collections.abc import Callable, Generator

from odradek.channel.connection_states import Address, NodeConnectionState, State
from odradek.channel.node import Node
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Network, Socket


class Connector:
    __slots__ = ("_failed", "_is_closed", "_loop", "_opened")

    def __init__(
        self, loop: Loop, opened: Callable[[Node, Socket], object], failed: Callable[[int, str], object]
    ) -> None:
        """`opened` gets a socket that has begun to connect, `failed` the reason why there is none."""
        self._loop = loop
        self._opened = opened
        self._failed = failed
        self._is_closed = False

    def connect(self, known: NodeConnectionState) -> None:
        node = known.node
        if not known.addresses and is_address(node.host):
            known.addresses = [(node.host, node.port)]
        if known.addresses:
            self._open(known)
            return
        attempt = known.attempt
        resolving = self._loop.submit(_resolve(self._loop.ports.network, node))
        resolving.when_done(lambda done: self._resolved(known, attempt, done))

    def close(self) -> None:
        self._is_closed = True

    def _resolved(self, known: NodeConnectionState, attempt: int, done: "Pending[list[Address]]") -> None:
        if known.attempt != attempt or known.state is not State.CONNECTING or self._is_closed:
            return  # it took longer than the attempt was given
        try:
            known.addresses = list(done.value())
        except OSError as error:
            self._failed(known.node.id, f"the name cannot be resolved: {error.strerror or error}")
            return
        if known.addresses:
            self._open(known)
        else:
            self._failed(known.node.id, "the name stands for no address")

    def _open(self, known: NodeConnectionState) -> None:
        try:
            socket = self._loop.ports.network.connect(*known.addresses[0])
        except OSError as error:
            self._failed(known.node.id, str(error))
            return
        self._opened(known.node, socket)


def is_address(host: str) -> bool:
    """Returns whether it is an address and not a name: then there is nothing to resolve."""
    return ":" in host or host.replace(".", "").isdigit()


def _resolve(network: Network, node: Node) -> Generator[int, None, list[Address]]:
    yield 0
    return network.resolve(node.host, node.port)
