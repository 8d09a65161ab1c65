"""ElectLeaders, versions 0-2: an admin has leaders elected (KIP-183).

     1  election type, preferred or unclean; response: an error for the whole request (KIP-460)
     2  same fields in the flexible encoding (KIP-482)

Who may: ALTER on the cluster. Errors: NOT_CONTROLLER; INVALID_REQUEST for an unknown election type; per partition
UNKNOWN_TOPIC_OR_PARTITION, ELECTION_NOT_NEEDED, PREFERRED_LEADER_NOT_AVAILABLE, ELIGIBLE_LEADERS_NOT_AVAILABLE.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.k43_elect_leaders import refuse_elect_leaders
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.messages.k43_elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from odradek.reactor.pending import Pending
from odradek.security.acl import ALTER


@serves(ElectLeadersRequest, versions="0-2", on="controller", allow=on_cluster(ALTER), refuse=refuse_elect_leaders)
def elect_leaders(call: ControllerCall, request: ElectLeadersRequest) -> Pending[ElectLeadersResponse]:
    return call.services.controller.run(lambda core: core.elect_leaders(request))
