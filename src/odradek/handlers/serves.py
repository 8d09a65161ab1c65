"""How a handler says what it serves.

    @serves(ListConfigResourcesRequest, versions="0-1", allow=on_cluster(DESCRIBE_CONFIGS))
    def list_config_resources(call: BrokerCall, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse: ...

It serves on brokers' listeners and takes a BrokerCall; with `on="controller"` on controllers' listeners, and takes a
ControllerCall; with `on="both"` on both, and takes an AnyCall, which has what every node has.

A handler is a function that returns its response, a Pending of it, or None for no answer at all; or an `async def`.
What a caller needs for the whole request is `allow`; what it needs for a topic, a group or a transactional id the
handler asks for itself (`call.demand`, `call.authorize`). It may raise a KafkaError: the dispatcher answers with what
`refuse(request, error, version)` makes of it, by default a response whose own error code it is.
"""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar, overload

from odradek.broken_rule import present, require
from odradek.handlers.refuse import refuse_by_code
from odradek.protocol import registry, releases
from odradek.protocol.declare import Request, Response
from odradek.protocol.field import parse_versions

if TYPE_CHECKING:
    from odradek.handlers.call import Call
    from odradek.handlers.permission import Permission
    from odradek.handlers.services import BrokerServices, ControllerServices, Services
    from odradek.protocol.errors import KafkaError
    from odradek.reactor.pending import Pending

# What a handler returns. A Pending and a coroutine yield a Response, or None for no answer; a Pending of a subclass is
# no Pending of Response to mypy, hence Any.
Returned: TypeAlias = "Response | Pending[Any] | Coroutine[object, None, Response | None] | None"

# A registered handler. `serves` has checked what it takes against its listener and its API, and what it returns; from
# then on the dispatcher alone calls it, for whatever API, and sees by `is_async` which of the above it gets: hence Any.
Handler = Callable[["Call[Any]", Any], Any]
Refuse = Callable[[Any, "KafkaError", int], Response]  # takes the request of whatever API, the error, the version

S = TypeVar("S", bound="Services")
Rq = TypeVar("Rq", bound=Request)
R = TypeVar("R", bound=Returned)

_COROUTINE = 0x80  # CO_COROUTINE of the inspect module, which is slow to import
_KINDS = {
    "broker": (releases.BROKER,),
    "controller": (releases.CONTROLLER,),
    "both": (releases.BROKER, releases.CONTROLLER),
}


class Served:
    """An API as one handler serves it."""

    __slots__ = (
        "allow",
        "counts_errors",
        "handler",
        "is_async",
        "is_read",
        "key",
        "refuse",
        "request",
        "response",
        "versions",
    )

    def __init__(
        self,
        request: "type[Request]",
        versions: range,
        handler: Handler,
        refuse: Refuse,
        allow: "Permission | None",
        *,
        is_read: bool = False,
        counts_errors: bool = False,
    ) -> None:
        self.key = present(request.api_key, "every request has an API key")
        self.request = request
        self.response = registry.response(self.key)
        self.versions = versions
        self.handler = handler
        self.refuse = refuse
        self.allow = allow
        self.is_read = is_read  # it changes nothing: when its caller is gone, what it waits for is cancelled
        self.counts_errors = counts_errors  # those of the answers that it gives at once
        self.is_async = bool(handler.__code__.co_flags & _COROUTINE)


_SERVED: dict[tuple[str, int], Served] = {}  # by kind of listener and API key


class Register(Protocol[S, Rq]):
    """Takes a handler of this request that works with these services, and gives it back."""

    def __call__(self, handler: "Callable[[Call[S], Rq], R]", /) -> "Callable[[Call[S], Rq], R]": ...


@overload
def serves(
    request: type[Rq],
    *,
    versions: str,
    allow: "Permission | None" = None,
    refuse: "Callable[[Rq, KafkaError, int], Response] | None" = None,
    is_read: bool = False,
    counts_errors: bool = False,
) -> "Register[BrokerServices, Rq]": ...


@overload
def serves(
    request: type[Rq],
    *,
    versions: str,
    on: Literal["controller"],
    allow: "Permission | None" = None,
    refuse: "Callable[[Rq, KafkaError, int], Response] | None" = None,
    is_read: bool = False,
    counts_errors: bool = False,
) -> "Register[ControllerServices, Rq]": ...


@overload
def serves(
    request: type[Rq],
    *,
    versions: str,
    on: Literal["both"],
    allow: "Permission | None" = None,
    refuse: "Callable[[Rq, KafkaError, int], Response] | None" = None,
    is_read: bool = False,
    counts_errors: bool = False,
) -> "Register[Services, Rq]": ...


def serves(
    request: type[Rq],
    *,
    versions: str,
    on: Literal["broker", "controller", "both"] = "broker",
    allow: "Permission | None" = None,
    refuse: "Callable[[Rq, KafkaError, int], Response] | None" = None,
    is_read: bool = False,
    counts_errors: bool = False,
) -> "Register[Any, Rq]":  # Any: with which services it works is what `on` says, above
    """Registers the handler of an API. `allow` is what the whole request needs; it asks itself for each item."""
    low, high = parse_versions(versions)

    def register(handler: "Callable[[Call[S], Rq], R]") -> "Callable[[Call[S], Rq], R]":
        made = refuse or refuse_by_code
        served = Served(
            request, range(low, high + 1), handler, made, allow, is_read=is_read, counts_errors=counts_errors
        )
        for kind in _KINDS[on]:
            place = (kind, served.key)
            require(place not in _SERVED, f"one handler serves {request.__name__} on a {kind} listener")
            _SERVED[place] = served
        return handler

    return register


def served_by(kind: str, key: int) -> Served | None:
    """The registered handler, once its file has been imported."""
    return _SERVED.get((kind, key))
