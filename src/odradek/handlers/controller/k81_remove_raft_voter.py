"""RemoveRaftVoter, version 0: removes a controller from the voters of the quorum (KIP-853).

Who may: ALTER on the cluster. Errors: NOT_CONTROLLER; INCONSISTENT_CLUSTER_ID; INVALID_REQUEST without a directory;
UNSUPPORTED_VERSION in a quorum of kraft.version 0; VOTER_NOT_FOUND, for the last voter too: without it there is no
quorum.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.controller.quorum_change import all_named, check_quorum_change, named
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.errors import VoterNotFound
from odradek.protocol.messages.k81_remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from odradek.raft.keys import ReplicaKey
from odradek.security.acl import ALTER


@serves(RemoveRaftVoterRequest, versions="0", on="controller", allow=on_cluster(ALTER))
def remove_raft_voter(call: ControllerCall, request: RemoveRaftVoterRequest) -> RemoveRaftVoterResponse:
    """There is one voter: whoever is asked for is another one, or the last."""
    voter = ReplicaKey(request.voter_id, bytes(request.voter_directory_id))
    check_quorum_change(call, request.cluster_id, voter, "remove")
    known = all_named(each.key for each in call.services.raft.voters)
    raise VoterNotFound(f"Cannot remove voter {named(voter)} from the set of voters {known}")
