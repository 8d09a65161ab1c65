"""UnregisterBroker, version 0: a broker hands it on to the active controller (`handlers/controller/`).

Who may: ALTER on the cluster; asked by the controller. Errors: as the controller says.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.forward import forward
from odradek.handlers.serves import serves
from odradek.protocol.messages.k64_unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)


@serves(UnregisterBrokerRequest, versions="0")
async def unregister_broker(call: BrokerCall, request: UnregisterBrokerRequest) -> UnregisterBrokerResponse:
    return await forward(call, request, UnregisterBrokerResponse)
