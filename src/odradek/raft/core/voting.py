"""Elections: who gets our vote, and what the votes of others mean."""

from odradek.broken_rule import BrokenRuleError, instance
from odradek.protocol import errors
from odradek.raft.core import effects, events, leadership
from odradek.raft.core.quorum_state import QuorumState
from odradek.raft.core.roles import Candidate, Electing, Follower, Leader, Prospective, Resigned, Unattached
from odradek.raft.keys import ReplicaKey

UNSUPPORTED_VERSION = errors.UnsupportedVersion.code


# Standing for election.


def stand(core: QuorumState) -> None:
    """For election: with a pre-vote first, where all releases in the quorum may be asked for one."""
    if not core.is_voter:
        core.become_unattached(core.epoch)
    elif core.has_pre_vote and len(core.voters) > 1:
        become_prospective(core)
    else:
        become_candidate(core)


def become_prospective(core: QuorumState) -> None:
    old = core.role
    leader_id = old.leader_id if isinstance(old, Follower) else None
    core.role = Prospective(old.epoch, leader_id, old.voted, core.election_deadline_ms(), core.me.id)
    _ask_for_votes(core, is_pre_vote=True)


def become_candidate(core: QuorumState) -> None:
    core.role = Candidate(core.epoch + 1, None, core.me, core.election_deadline_ms(), core.me.id)
    _ask_for_votes(core, is_pre_vote=False)
    maybe_win(core)


def _ask_for_votes(core: QuorumState, *, is_pre_vote: bool) -> None:
    for voter_id in core.voters.others(core.me.id):
        core.add(effects.SendVote(voter_id, core.epoch, core.log.end, is_pre_vote))


# Our vote for another.


def vote_requested(core: QuorumState, event: events.VoteRequested) -> None:
    error_code = _refusal(core, event)
    is_granted = False
    if not error_code:
        if event.epoch > core.epoch:
            core.become_unattached(event.epoch)
        is_granted = _can_grant(core, event)
        if is_granted and not event.is_pre_vote:
            _vote_for(core, event.candidate)
    core.add(effects.Answer(event.token, error_code, core.leader_id, core.epoch, is_granted))


def _refusal(core: QuorumState, event: events.VoteRequested) -> int:
    # A candidate has raised its epoch above that of its log; one that only asks has not.
    newest = event.epoch if event.is_pre_vote else event.epoch - 1
    if event.last.offset < 0 or not 0 <= event.last.epoch <= newest:
        return errors.InvalidRequest.code
    if event.epoch < core.epoch:
        return errors.FencedLeaderEpoch.code
    return wrong_voter(core, event.voter)


def wrong_voter(core: QuorumState, voter: ReplicaKey | None) -> int:
    """The sender means another replica, perhaps this node with the disk it had before."""
    is_ours = voter is None or voter.is_same_as(core.me)
    return errors.NONE if is_ours else errors.InvalidVoterKey.code


def _can_grant(core: QuorumState, event: events.VoteRequested) -> bool:
    role = core.role
    is_up_to_date = event.last.is_up_to_date_with(core.log.end)
    if event.is_pre_vote:
        has_live_leader = isinstance(role, Leader) or (isinstance(role, Follower) and role.has_fetched)
        return is_up_to_date and not has_live_leader
    if isinstance(role, (Leader, Resigned, Follower)):
        return False  # this epoch has its leader
    if role.voted is not None:
        return role.voted.is_same_as(event.candidate)
    return is_up_to_date and role.leader_id is None


def _vote_for(core: QuorumState, candidate: ReplicaKey) -> None:
    role = core.role
    if not isinstance(role, (Unattached, Electing)):
        raise BrokenRuleError(f"an epoch that has its leader gets no vote: {role!r}")
    if role.voted is None:
        core.become_unattached(core.epoch)
        core.role.voted = candidate


# The votes of others for us.


def vote_answered(core: QuorumState, event: events.VoteAnswered) -> None:
    if core.learn(event.leader_id, event.epoch):
        return
    role = core.role
    if (
        not isinstance(role, Electing)
        or (event.asked_epoch, event.is_pre_vote) != (role.epoch, role.is_pre_vote)
        or role.is_lost
        or core.voters.get(event.voter_id) is None
    ):
        return
    # A voter of an older release cannot be asked for a pre-vote: it is counted as willing, and the real vote decides.
    if event.is_granted or (event.is_pre_vote and event.error_code == UNSUPPORTED_VERSION):
        role.granting.add(event.voter_id)
        role.rejecting.discard(event.voter_id)
        maybe_win(core)
    elif event.error_code == errors.NONE and event.voter_id not in role.granting:
        role.rejecting.add(event.voter_id)
        _maybe_lose(core, role)


def maybe_win(core: QuorumState) -> None:
    role = instance(core.role, Electing, "votes are counted only while this replica stands for election")
    if len(role.granting) < core.voters.majority:
        return
    if isinstance(role, Prospective):
        become_candidate(core)
    else:
        leadership.become_leader(core)


def _maybe_lose(core: QuorumState, role: Electing) -> None:
    """When so many have said no that the rest cannot make a majority."""
    if len(core.voters) - len(role.rejecting) >= core.voters.majority:
        return
    if isinstance(role, Prospective):
        lost_pre_vote(core, role)
    else:
        role.is_lost = True
        role.deadline_ms = min(role.deadline_ms, core.backoff_deadline_ms())


def lost_pre_vote(core: QuorumState, role: Prospective) -> None:
    """The others may still hear the leader that we missed: back to it. Without one, wait for another's election."""
    if role.leader_id is not None:
        core.become_follower(role.epoch, role.leader_id)
    else:
        core.become_unattached(role.epoch)


def request_failed(core: QuorumState, event: events.RequestFailed) -> None:
    """Lost on the way: sent again, if it still says something."""
    role = core.role
    if event.kind == events.FETCH:
        if isinstance(role, (Unattached, Follower)) and role.fetch_id == event.fetch_id:
            role.fetch_id = None
        return
    if event.asked_epoch != role.epoch or core.voters.get(event.node_id) is None:
        return
    to = event.node_id
    if event.kind == events.BEGIN_QUORUM_EPOCH and isinstance(role, Leader) and to not in role.acknowledged:
        core.add(effects.SendBeginQuorumEpoch(to, role.epoch))
    elif event.kind == events.END_QUORUM_EPOCH and isinstance(role, Resigned) and to in role.unacknowledged:
        core.add(effects.SendEndQuorumEpoch(to, role.epoch, role.preferred_successors))
    elif event.kind == events.VOTE and isinstance(role, Electing) and to not in role.granting | role.rejecting:
        core.add(effects.SendVote(to, role.epoch, core.log.end, role.is_pre_vote))
