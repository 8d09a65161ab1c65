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
        return f"node {broker_number(self.id)} at {self.host}:{self.port}{rack}"


NO_NODE = Node(-1, "", -1)

# Under which numbers a broker has further connections: counted down from here, by its own. No broker has such a number
# itself, or its connections would be taken for another's.
_COORDINATOR_IDS = 2**31 - 1
_FETCH_IDS = 2**30 - 1
_BROKERS_MAX = 2**29


def coordinator_connection(node: Node) -> Node:
    """This broker under another number: a coordinator has a connection of its own, so that a heartbeat never waits
    behind a fetch. The number is the one that Kafka's consumer uses.
    """
    return node._replace(id=_COORDINATOR_IDS - node.id)


def fetch_connection(node: Node) -> Node:
    """The same for fetches, which a broker holds until there is something: offsets are looked up beside them."""
    return node._replace(id=_FETCH_IDS - node.id)


def broker_number(node_id: int) -> int:
    """The broker's own number, whichever of its connections this is."""
    for first in (_COORDINATOR_IDS, _FETCH_IDS):
        if first - _BROKERS_MAX < node_id <= first:
            return first - node_id
    return node_id
