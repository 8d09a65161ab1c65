"""UpdateFeatures, versions 0-2: an admin raises or lowers finalized feature levels (KIP-584).

     1  request: upgrade type in the place of allow_downgrade, validate_only (KIP-778)
     2  response: one error for all of the request, no results per feature

Who may: ALTER on the cluster. Errors: NOT_CONTROLLER; INVALID_UPDATE_VERSION, for each feature in the 3.3 profile,
for the whole request in the 4.3 profile.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.messages.k57_update_features import UpdateFeaturesRequest, UpdateFeaturesResponse
from odradek.reactor.pending import Pending
from odradek.security.acl import ALTER


@serves(UpdateFeaturesRequest, versions="0-2", on="controller", allow=on_cluster(ALTER))
def update_features(call: ControllerCall, request: UpdateFeaturesRequest) -> Pending[UpdateFeaturesResponse]:
    controller = call.services.controller
    return controller.run(lambda core: core.update_features(request, call.version, controller.quorum.kraft_version))
