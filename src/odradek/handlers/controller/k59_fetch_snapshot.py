"""FetchSnapshot, versions 0-1: a piece of a snapshot of the metadata log (KIP-630).

     1  directory ids and the endpoints of the leader (KIP-853)

Who may: CLUSTER_ACTION on the cluster. Errors: as the quorum says.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.messages.k59_fetch_snapshot import FetchSnapshotRequest
from odradek.raft.client import ResponseOrPending
from odradek.security.acl import CLUSTER_ACTION


@serves(FetchSnapshotRequest, versions="0-1", on="controller", allow=on_cluster(CLUSTER_ACTION))
def fetch_snapshot(call: ControllerCall, request: FetchSnapshotRequest) -> ResponseOrPending:
    return call.services.raft.handle_fetch_snapshot(request, call.version)
