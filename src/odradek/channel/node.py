"""A broker as others see it: a number and an address."""

from typing import NamedTuple


class Node(NamedTuple):
    id: int
    host: str
    port: int
    rack: str | None = None

    @property
    def is_empty(self) -> bool:
        return not self.host or self.port < 0

    def __str__(self) -> str:
        rack = f" (rack {self.rack})" if self.rack else ""
        return f"node {self.id} at {self.host}:{self.port}{rack}"


NO_NODE = Node(-1, "", -1)

_COORDINATOR_IDS = 2**31 - 1


def coordinator_connection(node: Node) -> Node:
    """This broker under another number: a coordinator has a connection of its own, so that a heartbeat never waits
    behind a fetch. The number is the one that Kafka's consumer uses.
    """
    return node._replace(id=_COORDINATOR_IDS - node.id)
