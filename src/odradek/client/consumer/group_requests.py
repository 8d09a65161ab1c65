"""What the cores of a group member have in common: requests to its coordinator, each answered or failed once.

A subclass says in `_due` which requests are due and asks them with `_ask`. The error of an answer falls into one of
these classes, the same for every request to a coordinator; what is special about a request is in the subclass.

    NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE          the coordinator is looked up again, then the request is repeated
    COORDINATOR_LOAD_IN_PROGRESS, other retriable ones  the request is repeated after a while
    the rest                                            the subclass decides; what it does not know is fatal
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from odradek.client.consumer.coordinator_lookup import CoordinatorLookup
from odradek.client.core import Backoff, Destination, Send, Versions
from odradek.protocol import errors
from odradek.protocol.declare import Request, Response

ELSEWHERE = frozenset((errors.NotCoordinator.code, errors.CoordinatorNotAvailable.code))


class _InFlight(NamedTuple):
    """`on_answer` takes the response to its own request. Any: its class follows from that, which mypy does not see."""

    on_answer: Callable[[Any, int], None]
    on_failure: Callable[[int], None]


class GroupRequests:
    __slots__ = (
        "_backoff",
        "_failures",
        "_in_flight",
        "_out",
        "_retry_at_ms",
        "_versions",
        "error",
        "lookup",
    )

    def __init__(self, lookup: CoordinatorLookup, versions: Versions, backoff: Backoff | None = None) -> None:
        self.lookup = lookup
        self.error: errors.KafkaError | None = None  # fatal: nothing more will be asked
        self._versions = versions
        self._backoff = backoff or Backoff()
        self._failures = 0
        self._retry_at_ms = 0
        self._in_flight: dict[object, _InFlight] = {}
        self._out: list[Send] = []

    # The core's shape

    def poll(self, now_ms: int) -> list[Send]:
        if self.error is None and self._wants(now_ms):
            destination = self.lookup.want()
            if self.lookup.error is not None:
                self._fail_for_good(self.lookup.error, now_ms)
            elif destination is not None:
                self._due(destination, now_ms)
        out, self._out = self._out, []
        return out

    def answered(self, token: object, response: Response, now_ms: int) -> None:
        flight = self._in_flight.pop(token, None)
        if flight is not None:
            flight.on_answer(response, now_ms)

    def failed(self, token: object, now_ms: int) -> None:
        flight = self._in_flight.pop(token, None)
        if flight is not None:
            self.lookup.forget()
            flight.on_failure(now_ms)

    def deadline(self) -> int | None:
        """None as long as the coordinator is being looked up, but for what needs none: that ends with an event."""
        raise NotImplementedError

    # For subclasses

    def _wants(self, now_ms: int) -> bool:
        """Whether there is anything to ask the coordinator by now."""
        raise NotImplementedError

    def _due(self, destination: Destination, now_ms: int) -> None:
        raise NotImplementedError

    def _fail_for_good(self, error: errors.KafkaError, now_ms: int) -> None:
        self.error = error

    def _ask(
        self,
        request: Request,
        destination: Destination,
        now_ms: int,
        on_answer: Callable[[Any, int], None],  # Any: as above
        on_failure: Callable[[int], None],
        version_max: int = 99,
    ) -> object:
        token = object()
        version = min(self._versions[request.api_key], version_max)
        self._in_flight[token] = _InFlight(on_answer, on_failure)
        self._out.append(Send(request, version, destination, token))
        return token

    def _later(self, now_ms: int) -> None:
        """The next attempt waits, longer each time. A coordinator that was lost is looked for meanwhile: that it is
        found is the event with which it goes on.
        """
        self._failures += 1
        self._retry_at_ms = now_ms + self._backoff.after(self._failures)
        self.lookup.want()

    def _went_well(self) -> None:
        self._failures = 0
        self._retry_at_ms = 0

    def _is_passing(self, code: int, now_ms: int) -> bool:
        """Whether the same request may go well later, and then does so: see the table above."""
        if code in ELSEWHERE:
            self.lookup.forget()
        elif not errors.by_code(code).retriable:
            return False
        self._later(now_ms)
        return True
