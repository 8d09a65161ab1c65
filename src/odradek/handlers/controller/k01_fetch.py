"""Fetch, versions 0-18, of the metadata log by voters and observers of the quorum (KIP-595).

What the other versions changed concerns brokers alone (`handlers/k01_fetch.py`).

     12  epochs to find where logs diverge; flexible
     13  topic ids
     15  replica state in the place of the replica id
     17  directory id of the replica (KIP-853)

Who may: CLUSTER_ACTION on the cluster. Errors: as the quorum says.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.network.request_metrics import OF_FOLLOWER
from odradek.protocol.messages.k01_fetch import FetchRequest
from odradek.raft.client import ResponseOrPending
from odradek.security.acl import CLUSTER_ACTION


@serves(FetchRequest, versions="0-18", on="controller", allow=on_cluster(CLUSTER_ACTION))
def fetch(call: ControllerCall, request: FetchRequest) -> ResponseOrPending:
    call.connection.variation = OF_FOLLOWER
    return call.services.raft.handle_fetch(request, call.version)
