"""What the quorum's requests carry: whatever a sender means is what the one who is asked reads, over bytes."""

import pytest

from odradek.protocol.messages.k52_vote import VoteRequest
from odradek.protocol.messages.k53_begin_quorum_epoch import BeginQuorumEpochRequest
from odradek.raft import messages
from odradek.raft.core import effects, events
from odradek.raft.core.voters import Voter, VoterEndpoint, VoterSet
from odradek.raft.keys import OffsetAndEpoch, ReplicaKey

ME, OTHER = ReplicaKey(1, bytes([1]) * 16), ReplicaKey(2, bytes([2]) * 16)
VOTERS = VoterSet([Voter(1, ME.directory_id, (VoterEndpoint("CTL", "host", 9093),)), Voter(*OTHER)])
TOKEN = object()


@pytest.mark.parametrize("is_pre_vote", [True, False])
def test_a_vote_is_asked_for_with_all_that_decides_it(is_pre_vote):
    effect = effects.SendVote(OTHER.id, 7, OffsetAndEpoch(40, 6), is_pre_vote)
    sent = messages.vote_request(effect, "cluster", ME, OTHER).to_bytes(2)
    asked = messages.vote_event(VoteRequest.decode(sent, 2), "cluster", TOKEN)
    assert asked == events.VoteRequested(TOKEN, ME, 7, OffsetAndEpoch(40, 6), is_pre_vote, OTHER)


def test_a_leader_tells_who_it_is_in_which_epoch_and_where():
    effect = effects.SendBeginQuorumEpoch(OTHER.id, 7)
    sent = messages.begin_request(effect, "cluster", ME, OTHER, VOTERS).to_bytes(1)
    request = BeginQuorumEpochRequest.decode(sent, 1)
    told = messages.begin_event(request, "cluster", TOKEN)
    assert told == events.BeginQuorumEpochRequested(TOKEN, ME.id, 7, OTHER)
    assert [(at.name, at.host, at.port) for at in request.leader_endpoints] == [("CTL", "host", 9093)]
