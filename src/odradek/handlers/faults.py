"""The seam for fault injection: a dispatcher's `faults` are asked before every handler, and may have it their way."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from odradek.handlers.call import AnyCall
    from odradek.handlers.serves import Refuse
    from odradek.protocol.declare import Request, Response

# Has the handler carry out a request, and gives its response: of a class that follows from the API alone, hence Any.
Handle = Callable[["Request"], Awaitable[Any]]


class StandIn(Protocol):
    """Makes the response in the handler's place, with its help if it likes.

    It begins within the turn in which the request came in, so that `handle` may be given what points into the frame;
    after its first wait it may not.
    """

    def __call__(
        self, call: "AnyCall", request: "Request", handle: Handle, refuse: "Refuse"
    ) -> "Coroutine[object, None, Response | None]": ...


class FaultAction(NamedTuple):
    """What to do instead of answering as usual; the delay comes first, then at most one of the others."""

    delay_ms: int = 0
    error_code: int = 0  # answer with this error and leave the handler out
    stand_in: StandIn | None = None  # answers in the handler's place
    disconnect: bool = False  # close the connection and leave the handler out
    drop_response: bool = False  # let the handler do its work and never answer
    hang_ms: int | None = 0  # how long it stays silent after that before it closes; None: until the client closes it


class Faults(Protocol):
    def before(self, call: "AnyCall", request: "Request") -> FaultAction | None: ...
