"""Many small things for the same broker go out together: what is put in one turn of the loop is one request."""

from collections.abc import Callable, Coroutine
from typing import Any, Generic, Protocol, TypeVar

from odradek.protocol.declare import Request
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending

T = TypeVar("T")


class Sender(Protocol):
    """The way to other brokers. It raises or fails if the node cannot be reached."""

    def send(self, node_id: int, request: Request) -> Pending[Any]:  # Any: the response that belongs to the request
        ...


class PerNode(Generic[T]):
    __slots__ = ("_deliver", "_loop", "_waiting")

    def __init__(self, loop: Loop, deliver: Callable[[int, list[T]], Coroutine[object, None, None]]) -> None:
        """`deliver` raises nothing: each thing that was put knows whom to tell."""
        self._loop = loop
        self._deliver = deliver
        self._waiting: dict[int, list[T]] = {}

    def put(self, node_id: int, thing: T) -> None:
        waiting = self._waiting.get(node_id)
        if waiting is None:
            self._waiting[node_id] = [thing]
            self._loop.soon(self._flush, node_id)
        else:
            waiting.append(thing)

    def _flush(self, node_id: int) -> None:
        self._loop.spawn(self._deliver(node_id, self._waiting.pop(node_id)))
