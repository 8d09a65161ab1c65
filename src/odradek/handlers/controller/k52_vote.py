"""Vote, versions 0-2: a candidate of the quorum asks for this node's vote (KIP-595).

     1  directory ids (KIP-853)
     2  pre-vote (KIP-996)

Who may: CLUSTER_ACTION on the cluster. Errors: as the quorum says.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.messages.k52_vote import VoteRequest
from odradek.raft.client import ResponseOrPending
from odradek.security.acl import CLUSTER_ACTION


@serves(VoteRequest, versions="0-2", on="controller", allow=on_cluster(CLUSTER_ACTION))
def vote(call: ControllerCall, request: VoteRequest) -> ResponseOrPending:
    return call.services.raft.handle_vote(request, call.version)
