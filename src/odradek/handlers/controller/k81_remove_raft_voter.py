"""RemoveRaftVoter, version 0: removes a controller from the voters of the quorum (KIP-853).

Who may: ALTER on the cluster. Errors: NOT_CONTROLLER; INCONSISTENT_CLUSTER_ID; UNSUPPORTED_VERSION in a quorum of
kraft.version 0; VOTER_NOT_FOUND; INVALID_REQUEST for the last voter, without which there is no quorum.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.controller.quorum_change import check_quorum_change
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.errors import InvalidRequest, VoterNotFound
from odradek.protocol.messages.k81_remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from odradek.security.acl import ALTER


@serves(RemoveRaftVoterRequest, versions="0", on="controller", allow=on_cluster(ALTER))
def remove_raft_voter(call: ControllerCall, request: RemoveRaftVoterRequest) -> RemoveRaftVoterResponse:
    check_quorum_change(call, request.cluster_id, "removing")
    if request.voter_id not in call.services.raft.voters.ids:
        raise VoterNotFound(f"The voter {request.voter_id} is not part of the set of voters.")
    raise InvalidRequest(f"The voter {request.voter_id} is the last one: a quorum needs at least one.")
