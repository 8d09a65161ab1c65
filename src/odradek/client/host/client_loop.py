"""A client's loop, on ports of its own, with its session: what a host turns."""

from typing import Generic

from odradek.broken_rule import instance
from odradek.client.host.session import Open, S, tell
from odradek.reactor.adapters import client_ports
from odradek.reactor.adapters.client_network import ClientNetwork
from odradek.reactor.loop import Loop


class ClientLoop(Generic[S]):
    __slots__ = ("_executor", "_network", "loop", "session")

    def __init__(self, open_session: Open[S]) -> None:
        ports = client_ports()
        self._executor = ports.executor
        self._network = instance(ports.network, ClientNetwork, "a client's network is one")
        self.loop = Loop(ports, on_error=tell)
        try:
            self.session = open_session(self.loop)
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """Afterwards nothing is open, whatever has become of the session. A resolver that hangs is left to itself."""
        self._executor.close()
        self._network.close()

    def abandon(self) -> None:
        """In a process that was forked: what came from the parent is closed, and the parent does not notice."""
        self._network.close()
