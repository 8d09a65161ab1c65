"""The shape of every client core, and what it asks its driver to do.

A core decides what to ask the cluster and what an answer means. It has no socket, clock or chance: its driver
(`driver.py`) calls it.

    for send in core.poll(now_ms):          # every request that is due now; each is handed out once
        ...                                 # the driver takes it to `send.destination`
    core.answered(send.token, response, now_ms)     # or
    core.failed(send.token, now_ms)         # nobody knows: it was lost, or its answer was, or it is still on its way
    core.deadline()                         # when to poll again although nothing has happened; None: never

After every call into a core (those three, and whatever its user asked of it) the driver polls. What a token stands for
is in flight until it is answered or has failed, exactly once; what is told of a token that the core has given up in the
meantime changes nothing. A core never asks for an answer in order: two requests to two destinations pass each other.

A failure is never a "no". The request may be handled before it failed, after it, twice, or not at all; whoever sends it
again has to say in it that it is the same one.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from odradek.protocol.declare import Request, Response

ANY, CONTROLLER, COORDINATOR, FETCH, LEADER, NODE = "any", "controller", "coordinator", "fetch", "leader", "node"


class Destination(NamedTuple):
    """Where a request goes.

    `any`: whichever broker is least busy. `controller`: the one that the metadata names as controller, which in KRaft
    is any broker that forwards to it. `node`: the broker of that number. `coordinator`: the node that FindCoordinator
    named for `key`, on a connection of its own, so that a heartbeat does not wait behind others. `fetch`: the broker of
    that number, on a connection for fetches alone, which may be held. `leader`: whoever leads that partition, as the
    driver's metadata tells.
    """

    kind: str
    key: str = ""  # a transactional id, a group, or a topic
    number: int = -1  # of the node, or of the partition
    key_type: int = -1  # of a coordinator


ANY_BROKER = Destination(ANY)
THE_CONTROLLER = Destination(CONTROLLER)


def broker(node_id: int) -> Destination:
    return Destination(NODE, number=node_id)


def fetches_of(node_id: int) -> Destination:
    return Destination(FETCH, number=node_id)


def coordinator(key_type: int, key: str, node_id: int) -> Destination:
    return Destination(COORDINATOR, key, node_id, key_type)


def leader(topic: str, partition: int) -> Destination:
    return Destination(LEADER, topic, partition)


class ByVersion(NamedTuple):
    """A request that says the same in other fields from some version on: made when the version is known."""

    api_key: int
    build: Callable[[int], Request]
    version_max: int | None = None  # the newest that it can be said in


class Send(NamedTuple):
    request: Request | ByVersion
    version: int | None  # None: the newest that both sides know
    destination: Destination
    token: object  # compared by identity


class Core(Protocol):
    def poll(self, now_ms: int) -> list[Send]: ...

    def answered(self, token: object, response: Response, now_ms: int) -> None: ...

    def failed(self, token: object, now_ms: int) -> None: ...

    def deadline(self) -> int | None: ...
