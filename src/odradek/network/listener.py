"""One listener of the socket server: its acceptor, its processors, and how clients prove who they are there."""

from odradek.config.listeners import Endpoint
from odradek.network.acceptor import Acceptor
from odradek.network.processor import Processor, ProcessorPlan, server_connections
from odradek.network.server_connection import ServerConnection

DATA_PLANE, CONTROL_PLANE = "data", "control"


class Listener:
    __slots__ = ("acceptor", "endpoint", "plan", "plane")

    def __init__(self, endpoint: Endpoint, plane: str, plan: ProcessorPlan, acceptor: Acceptor) -> None:
        self.endpoint = endpoint
        self.plane = plane
        self.plan = plan
        self.acceptor = acceptor

    @property
    def name(self) -> str:
        return self.endpoint.listener

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens: the port is the real one, also if any free one was asked for."""
        return self.acceptor.socket.address

    @property
    def processors(self) -> list[Processor]:
        return self.acceptor.processors

    def connections(self) -> list[ServerConnection]:
        return [connection for processor in self.processors for connection in server_connections(processor)]

    def __repr__(self) -> str:
        host, port = self.address
        return f"<Listener {self.name} on {host}:{port}, {self.plane} plane>"
