"""AddRaftVoter, versions 0-1: adds a controller to the voters of the quorum (KIP-853).

     1  request: whether to answer only when the new set is committed (KIP-1186)

Who may: ALTER on the cluster. Errors: NOT_CONTROLLER; INCONSISTENT_CLUSTER_ID; UNSUPPORTED_VERSION in a quorum of
kraft.version 0; INVALID_REQUEST for one that does not listen where voters do; DUPLICATE_VOTER; REQUEST_TIMED_OUT, for a
second voter cannot be reached yet.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.controller.quorum_change import all_named, check_quorum_change, named
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.errors import DuplicateVoter, InvalidRequest, RequestTimedOut
from odradek.protocol.messages.k80_add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from odradek.raft.keys import ReplicaKey
from odradek.security.acl import ALTER


@serves(AddRaftVoterRequest, versions="0-1", on="controller", allow=on_cluster(ALTER))
def add_raft_voter(call: ControllerCall, request: AddRaftVoterRequest) -> AddRaftVoterResponse:
    voter = ReplicaKey(request.voter_id, bytes(request.voter_directory_id))
    check_quorum_change(call, request.cluster_id, voter, "add")
    voters = call.services.raft.voters
    listeners = {endpoint.name for each in voters for endpoint in each.endpoints}
    if listeners.isdisjoint(each.name for each in request.listeners):
        names = ", ".join(sorted(listeners))
        raise InvalidRequest(f"Add voter request didn't include the endpoint for the default listener {names}")
    if request.voter_id in voters.ids:
        known = all_named(each.key for each in voters)
        raise DuplicateVoter(f"The voter id for {named(voter)} is already part of the set of voters {known}.")
    raise RequestTimedOut(f"Node {request.voter_id} did not answer: several controllers come with the cluster.")
