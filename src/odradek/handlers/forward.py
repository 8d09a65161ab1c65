"""Forwarding: what only the active controller can do, a broker hands on, in the client's version and name."""

from typing import TYPE_CHECKING, TypeVar

from odradek.broken_rule import instance
from odradek.handlers.broker_parts import ACTIVE_CONTROLLER

if TYPE_CHECKING:
    from odradek.handlers.call import BrokerCall
    from odradek.protocol.declare import Request, Response

R = TypeVar("R", bound="Response")


async def forward(call: "BrokerCall", request: "Request", response: type[R]) -> R:
    """Sends the request to the controller in the client's name. Returns its answer, an object of `response`."""
    answer = await call.services.inter_broker.send(
        ACTIVE_CONTROLLER, request, version=call.version, principal=call.principal, client_id=call.client_id
    )
    return instance(answer, response, f"the controller answers {type(request).__name__} with its response")
