"""How a handler says what it serves.

    @serves(ListConfigResourcesRequest, versions="0-1", allow=on_cluster(DESCRIBE_CONFIGS))
    def list_config_resources(call: Call, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse: ...

A handler is a function that returns its response, a Pending of it, or None for no answer at all; or an `async def`.
What a caller needs for the whole request is `allow`; what it needs for a topic, a group or a transactional id the
handler asks for itself (`call.demand`, `call.authorize`). It may raise a KafkaError: the dispatcher answers with what
`refuse(request, error, version)` makes of it, by default a response whose own error code it is.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from odradek.handlers.refuse import refuse_by_code
from odradek.protocol import registry, releases
from odradek.protocol.field import parse_versions

if TYPE_CHECKING:
    from odradek.handlers.permission import Permission
    from odradek.protocol.declare import Request, Response
    from odradek.protocol.errors import KafkaError

Handler = Callable[..., Any]
Refuse = Callable[..., "Response"]  # takes (request, error, version)
H = TypeVar("H", bound=Handler)

_COROUTINE = 0x80  # CO_COROUTINE of the inspect module, which is slow to import
_KINDS = {"broker": releases.BROKER, "controller": releases.CONTROLLER}


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
        assert request.api_key is not None
        self.key = request.api_key
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


def serves(
    request: "type[Request]",
    *,
    versions: str,
    on: tuple[str, ...] = ("broker",),
    allow: "Permission | None" = None,
    refuse: "Callable[[Any, KafkaError, int], Response] | None" = None,
    is_read: bool = False,
    counts_errors: bool = False,
) -> Callable[[H], H]:
    """Registers the handler of an API. `allow` is what the whole request needs; it asks itself for each item."""
    low, high = parse_versions(versions)

    def register(handler: H) -> H:
        made = refuse or refuse_by_code
        served = Served(
            request, range(low, high + 1), handler, made, allow, is_read=is_read, counts_errors=counts_errors
        )
        for listener in on:
            place = (_KINDS[listener], served.key)
            assert place not in _SERVED, f"{request.__name__} has two handlers on the {listener}'s listener"
            _SERVED[place] = served
        return handler

    return register


def served_by(kind: str, key: int) -> Served | None:
    """The registered handler, once its file has been imported."""
    return _SERVED.get((kind, key))
