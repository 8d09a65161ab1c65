"""UpdateRaftVoter, version 0: a voter tells the leader its endpoints and the kraft.versions that it supports (KIP-853).

Who may: CLUSTER_ACTION on the cluster. Errors: INCONSISTENT_CLUSTER_ID; NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH,
UNKNOWN_LEADER_EPOCH; INVALID_REQUEST without an id, a directory id, an endpoint of the controllers' listener, or the
quorum's kraft.version among the supported ones, and for the leader's own voter; VOTER_NOT_FOUND. All of them tell who
leads. With one voter no other answer is left: the leader knows itself.
"""

from odradek.config.listeners import controller_names
from odradek.handlers.call import ControllerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.errors import KafkaError
from odradek.protocol.field import ZERO_UUID
from odradek.protocol.messages.k82_update_raft_voter import (
    CurrentLeader,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from odradek.raft.client import RaftClient
from odradek.raft.keys import ReplicaKey
from odradek.security.acl import CLUSTER_ACTION


@serves(UpdateRaftVoterRequest, versions="0", on="controller", allow=on_cluster(CLUSTER_ACTION))
def update_raft_voter(call: ControllerCall, request: UpdateRaftVoterRequest) -> UpdateRaftVoterResponse:
    raft = call.services.raft
    return UpdateRaftVoterResponse(error_code=_refusal(call, raft, request).code, current_leader=_leader(raft))


def _refusal(call: ControllerCall, raft: RaftClient, request: UpdateRaftVoterRequest) -> type[KafkaError]:
    if request.cluster_id != call.services.cluster_id:
        return errors.InconsistentClusterId
    if request.current_leader_epoch != raft.epoch:
        is_old = request.current_leader_epoch < raft.epoch
        return errors.FencedLeaderEpoch if is_old else errors.UnknownLeaderEpoch
    if not raft.is_leader:
        return errors.NotLeaderOrFollower
    if not _is_whole(call, request) or not _supports(request, raft.kraft_version):
        return errors.InvalidRequest
    if not raft.voters.has(ReplicaKey(request.voter_id, request.voter_directory_id)):
        return errors.VoterNotFound
    return errors.InvalidRequest  # it is us


def _is_whole(call: ControllerCall, request: UpdateRaftVoterRequest) -> bool:
    name = controller_names(call.services.configs.current.config)[0]
    has_endpoint = any(listener.name == name for listener in request.listeners)
    return request.voter_id >= 0 and request.voter_directory_id != ZERO_UUID and has_endpoint


def _supports(request: UpdateRaftVoterRequest, kraft_version: int) -> bool:
    supported = request.k_raft_version_feature
    return supported.min_supported_version <= kraft_version <= supported.max_supported_version


def _leader(raft: RaftClient) -> CurrentLeader:
    leader_id, epoch = raft.leader_and_epoch
    told = CurrentLeader(leader_id=-1 if leader_id is None else leader_id, leader_epoch=epoch)
    voter = None if leader_id is None else raft.voters.get(leader_id)
    if voter is not None and voter.endpoints:
        told.host, told.port = voter.endpoints[0].host, voter.endpoints[0].port
    return told
