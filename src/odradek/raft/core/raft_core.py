"""The quorum as a core without I/O: one replica, told what happens, answers what is to be done.

    effects = core.step(event, now_ms)        next look at the latest at core.next_deadline_ms()

| from | event | to |
|---|---|---|
| any | a request or an answer names a later epoch, without its leader | Unattached of that epoch, no vote |
| any | BeginQuorumEpoch, or an answer that names the leader of this or a later epoch | Follower of it |
| Unattached, Follower | election or fetch timeout, a voter | Prospective, same epoch (Candidate without pre-vote) |
| Prospective | a majority would vote for us | Candidate of the next epoch, voted for itself |
| Prospective | timeout, or a majority would not | Follower of the leader it knows, else Unattached, same epoch |
| Candidate | a majority voted for us | Leader of the same epoch |
| Candidate | timeout; or a majority did not, after a pause | Prospective (without pre-vote: the next Candidate) |
| Leader | no majority has fetched for one and a half fetch timeouts; Resign | Resigned, same epoch |
| Resigned | election timeout | Unattached of the next epoch |

A sole voter goes from anything to Leader of the next epoch at once. An observer is only ever Unattached or Follower.

Why it is safe. A vote and an epoch are persisted before anything is said that depends on them: `Persist` comes first
among the effects, and the driver takes no further event before it is durable (C2). An epoch has one leader, as two
majorities share a voter that votes once (C1). A voter votes only for a log that is at least as long as its own, so the
winner holds all that was committed (C7). The high watermark is what a majority has on disk, and moves only once that
includes a record of the leader's own epoch: an older record on a majority can still be overwritten (C4). A follower
truncates where epochs part, never below the high watermark (C3). A candidate that restarts does not go on with its
candidacy: its log may have lost an unsynced tail on which others based their vote, so it asks anew in a new epoch.

What each role does is in `voting.py`, `leadership.py` and `following.py`, on the state of `quorum_state.py`.
"""

from collections.abc import Callable
from typing import Any

from odradek.broken_rule import BrokenRuleError, require
from odradek.raft.config import RaftConfig
from odradek.raft.core import effects, events, following, leadership, voting
from odradek.raft.core.effects import Effect
from odradek.raft.core.events import Event
from odradek.raft.core.quorum_state import LogFacts, QuorumState
from odradek.raft.core.roles import Candidate, Electing, Follower, Leader, Prospective, Resigned, Unattached
from odradek.raft.core.voters import VoterSet
from odradek.raft.election_state import ElectionState
from odradek.raft.keys import ReplicaKey
from odradek.reactor.ports import Stream


class RaftCore(QuorumState):
    __slots__ = ("_persisted", "_told")

    def __init__(
        self,
        me: ReplicaKey,
        voters: VoterSet,
        log: LogFacts,
        config: RaftConfig,
        draws: Stream,
        state: ElectionState | None,
        now_ms: int,
        *,
        has_pre_vote: bool = True,
        high_watermark: int = 0,
    ) -> None:
        super().__init__(
            me, voters, log, config, draws, state, now_ms, has_pre_vote=has_pre_vote, high_watermark=high_watermark
        )
        self._persisted = state
        self._told: tuple[int | None, int] = (None, -1)

    def next_deadline_ms(self) -> int | None:
        """When TimePassed is due at the latest."""
        role = self.role
        if isinstance(role, Leader):
            deadlines = [each for each in (role.quorum_deadline_ms, role.begin_deadline_ms) if each is not None]
            return min(deadlines) if len(self.voters) > 1 else None
        if isinstance(role, Unattached) and not self.is_voter:
            return None  # it waits for an answer to its Fetch, which comes or fails
        if isinstance(role, (Unattached, Electing, Follower, Resigned)):
            return role.deadline_ms
        raise BrokenRuleError(f"a replica has one of the roles of roles.py: {role!r}")

    # The one way in.

    def step(self, event: Event, now_ms: int) -> list[Effect]:
        self.now_ms = now_ms
        _HANDLERS[type(event)](self, event)
        following.maybe_fetch(self)
        return self._taken()

    def start(self, now_ms: int) -> list[Effect]:
        """The first step: a sole voter leads at its end."""
        self.now_ms = now_ms
        if self.voters.is_sole(self.me):
            voting.become_candidate(self)
        following.maybe_fetch(self)
        return self._taken()

    def _taken(self) -> list[Effect]:
        """The persisted state first, whatever the step did in which order."""
        found, self._effects = self._effects, []
        state = ElectionState(self.role.epoch, self.role.leader_id, self.role.voted)
        if state != self._persisted:
            self._persisted = state
            found.insert(0, effects.Persist(state))
        if (self.leader_id, self.epoch) != self._told:
            self._told = (self.leader_id, self.epoch)
            found.append(effects.LeaderChanged(self.leader_id, self.epoch))
        return found

    # In simulation after each step.

    def validate(self) -> None:
        role = self.role
        require(self.high_watermark <= self.log.end.offset, "the high watermark is never past the log's end")
        if isinstance(role, Leader):
            require(role.leader_id == self.me.id and self.is_voter, "who leads is a voter and knows that it leads")
            if role.high_watermark is not None:
                require(role.high_watermark > role.epoch_start_offset, "a leader commits a record of its epoch first")
                require(role.high_watermark <= self.high_watermark, "what a leader has committed is committed")
        if isinstance(role, Electing):
            require(not role.granting & role.rejecting, "no voter says both yes and no")
            require(self.me.id in role.granting, "who stands for election is for itself")
        if isinstance(role, Candidate):
            require(role.voted == self.me and role.leader_id is None, "a candidate has voted for itself")
        if isinstance(role, Follower):
            require(role.leader_id not in (None, self.me.id), "a follower follows somebody else")


def _time_passed(core: RaftCore, event: events.TimePassed) -> None:
    deadline_ms = core.next_deadline_ms()
    if deadline_ms is None or core.now_ms < deadline_ms:
        return
    role = core.role
    if isinstance(role, Leader):
        leadership.time_passed(core, role)
    elif isinstance(role, Resigned):
        core.become_unattached(core.epoch + 1)
    elif isinstance(role, Prospective):
        voting.lost_pre_vote(core, role)
    elif isinstance(role, Follower) and not core.is_voter:
        core.become_unattached(core.epoch)
    else:
        voting.stand(core)


def _log_flushed(core: RaftCore, event: events.LogFlushed) -> None:
    if isinstance(core.role, Leader):
        leadership.maybe_commit(core)
    elif isinstance(core.role, Follower):
        following.log_flushed(core, core.role)


# Each takes the kind of event that it stands beside, which a dict cannot say.
_HANDLERS: dict[type, Callable[[RaftCore, Any], None]] = {
    events.TimePassed: _time_passed,
    events.VoteRequested: voting.vote_requested,
    events.VoteAnswered: voting.vote_answered,
    events.BeginQuorumEpochRequested: following.begin_quorum_epoch_requested,
    events.EndQuorumEpochRequested: following.end_quorum_epoch_requested,
    events.QuorumEpochAnswered: leadership.quorum_epoch_answered,
    events.FetchRequested: leadership.fetch_requested,
    events.SnapshotRequested: leadership.snapshot_requested,
    events.FetchAnswered: following.fetch_answered,
    events.SnapshotPieceArrived: following.snapshot_piece_arrived,
    events.SnapshotInstalled: following.snapshot_installed,
    events.SnapshotFailed: following.snapshot_failed,
    events.LogFlushed: _log_flushed,
    events.RequestFailed: voting.request_failed,
    events.Resign: leadership.resign,
}
