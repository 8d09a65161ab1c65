"""Forwarding: what only the active controller can do, a broker hands on, in the client's version and name."""

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from odradek.handlers.call import Call
    from odradek.protocol.declare import Request, Response

CONTROLLER = -1  # the node id that stands for whoever is the active controller

R = TypeVar("R", bound="Response")


async def forward(call: "Call", request: "Request", response: type[R]) -> R:
    """The controller's answer. `response` is only told for its type."""
    answer: Any = await call.services.inter_broker.send(
        CONTROLLER, request, version=call.version, principal=call.principal, client_id=call.client_id
    )
    assert isinstance(answer, response), f"{type(request).__name__} was answered with {type(answer).__name__}"
    return answer
