"""Requests on their way, by node, oldest first. No I/O.

A node answers in the order in which it was asked, so an answer belongs to the oldest request, and its correlation id
only proves that both sides agree on that. A request that takes too long takes its connection with it: the
answer may still come, and nobody could tell what it answers.
"""

from collections import deque
from typing import Any

from odradek.protocol.declare import Request, Response
from odradek.reactor.pending import Pending

# The response to a request, of the class that belongs to the request's: only who asked knows which that is.
PendingResponse = Pending[Any]


class InFlightRequest:
    __slots__ = (
        "answered",
        "api_key",
        "correlation_id",
        "deadline_ms",
        "expects_response",
        "is_internal",
        "request",
        "sent_ms",
        "version",
    )

    def __init__(
        self,
        correlation_id: int,
        request: Request,
        version: int,
        sent_ms: int,
        timeout_ms: int,
        answered: PendingResponse,
        *,
        expects_response: bool = True,
        is_internal: bool = False,
    ) -> None:
        self.correlation_id = correlation_id
        self.request = request
        self.api_key = request.api_key
        self.version = version
        self.sent_ms = sent_ms
        self.deadline_ms = sent_ms + timeout_ms
        self.answered: Pending[Response | None] = answered
        self.expects_response = expects_response
        self.is_internal = is_internal

    def __repr__(self) -> str:
        return f"{type(self.request).__name__} version {self.version} with correlation id {self.correlation_id}"


class InFlightRequests:
    __slots__ = ("_by_node", "_limit", "total")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._by_node: dict[int, deque[InFlightRequest]] = {}
        self.total = 0

    def count(self, node_id: int) -> int:
        queue = self._by_node.get(node_id)
        return len(queue) if queue is not None else 0

    def has_room(self, node_id: int) -> bool:
        queue = self._by_node.get(node_id)
        return queue is None or len(queue) < self._limit

    def add(self, node_id: int, request: InFlightRequest) -> None:
        queue = self._by_node.get(node_id)
        if queue is None:
            queue = self._by_node[node_id] = deque()
        queue.append(request)
        self.total += 1

    def oldest(self, node_id: int) -> InFlightRequest | None:
        """Whose answer comes next."""
        queue = self._by_node.get(node_id)
        return queue[0] if queue else None

    def complete_oldest(self, node_id: int) -> InFlightRequest:
        self.total -= 1
        return self._by_node[node_id].popleft()

    def complete_sent(self, node_id: int) -> list[InFlightRequest]:
        """All has gone out: those that get no answer are over."""
        queue = self._by_node.get(node_id)
        if not queue:
            return []
        done = [request for request in queue if not request.expects_response]
        if done:
            self._by_node[node_id] = deque(request for request in queue if request.expects_response)
            self.total -= len(done)
        return done

    def clear(self, node_id: int) -> list[InFlightRequest]:
        """The connection is gone: what was on its way on it, in order."""
        cleared = list(self._by_node.pop(node_id, ()))
        self.total -= len(cleared)
        return cleared

    def next_deadline_ms(self) -> int | None:
        return min((request.deadline_ms for queue in self._by_node.values() for request in queue), default=None)

    def expired(self, now_ms: int) -> list[int]:
        """The nodes that owe an answer which is overdue by `now_ms`."""
        return [
            node_id
            for node_id, queue in self._by_node.items()
            if any(request.deadline_ms <= now_ms for request in queue)
        ]
