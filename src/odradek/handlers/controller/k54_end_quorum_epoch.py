"""EndQuorumEpoch, versions 0-1: the leader of the quorum resigns (KIP-595).

     1  directory ids and the endpoints of the leader (KIP-853)

Who may: CLUSTER_ACTION on the cluster. Errors: as the quorum says.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.messages.k54_end_quorum_epoch import EndQuorumEpochRequest
from odradek.raft.client import ResponseOrPending
from odradek.security.acl import CLUSTER_ACTION


@serves(EndQuorumEpochRequest, versions="0-1", on="controller", allow=on_cluster(CLUSTER_ACTION))
def end_quorum_epoch(call: ControllerCall, request: EndQuorumEpochRequest) -> ResponseOrPending:
    return call.services.raft.handle_end_quorum_epoch(request, call.version)
