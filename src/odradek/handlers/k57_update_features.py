"""UpdateFeatures, versions 0-2: a broker hands it on to the active controller (`handlers/controller/`).

     1  request: upgrade type in the place of allow_downgrade, validate_only (KIP-778)
     2  response: one error for all of the request, no results per feature

Who may: ALTER on the cluster; asked by the controller. Errors: for all, and up to 1 per feature, as the controller
says.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.forward import forward
from odradek.handlers.serves import serves
from odradek.protocol.messages.k57_update_features import (
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)


@serves(UpdateFeaturesRequest, versions="0-2")
async def update_features(call: BrokerCall, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    return await forward(call, request, UpdateFeaturesResponse)
