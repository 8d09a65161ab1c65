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

The log is seen through `LogFacts`; the driver changes it, by the effects, between two steps.
"""

from collections.abc import Callable
from typing import Any, Protocol

from odradek.raft import effects, events, following, leadership, voting
from odradek.raft.config import RaftConfig
from odradek.raft.effects import Effect
from odradek.raft.election_state import ElectionState
from odradek.raft.events import Event
from odradek.raft.keys import OffsetAndEpoch, ReplicaKey
from odradek.raft.roles import Candidate, Electing, Follower, Leader, Prospective, Resigned, Role, Unattached
from odradek.raft.voters import VoterSet
from odradek.reactor.ports import Stream


class LogFacts(Protocol):
    @property
    def end(self) -> OffsetAndEpoch: ...
    @property
    def flushed_offset(self) -> int: ...  # everything below is durable
    @property
    def log_start_offset(self) -> int: ...
    @property
    def earliest_snapshot_id(self) -> OffsetAndEpoch | None: ...
    @property
    def latest_snapshot_id(self) -> OffsetAndEpoch | None: ...
    def end_offset_for_epoch(self, epoch: int) -> OffsetAndEpoch: ...


class RaftCore:
    __slots__ = (
        "_effects",
        "_fetches",
        "_persisted",
        "_told",
        "config",
        "draws",
        "has_pre_vote",
        "high_watermark",
        "log",
        "me",
        "now_ms",
        "role",
        "voters",
    )

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
        """`state` is what the file quorum-state holds, `high_watermark` what is known to be committed: a snapshot's."""
        self.me = me
        self.voters = voters
        self.log = log
        self.config = config
        self.draws = draws
        self.has_pre_vote = has_pre_vote
        self.now_ms = now_ms
        self.high_watermark = high_watermark
        self._effects: list[Effect] = []
        self._fetches = 0
        self._persisted = state
        self._told: tuple[int | None, int] = (None, -1)
        self.role: Role = self._restored(state or ElectionState(0))

    # What it is.

    @property
    def epoch(self) -> int:
        return self.role.epoch

    @property
    def leader_id(self) -> int | None:
        """None while the one that led is known to have resigned."""
        return None if isinstance(self.role, Resigned) else self.role.leader_id

    @property
    def is_voter(self) -> bool:
        return self.voters.has(self.me)

    def next_deadline_ms(self) -> int | None:
        role = self.role
        if isinstance(role, Leader):
            deadlines = [each for each in (role.quorum_deadline_ms, role.begin_deadline_ms) if each is not None]
            return min(deadlines) if len(self.voters) > 1 else None
        if isinstance(role, Unattached) and not self.is_voter:
            return None  # it waits for an answer to its Fetch, which comes or fails
        assert isinstance(role, (Unattached, Electing, Follower, Resigned))
        return role.deadline_ms

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
            self.become_candidate()
        following.maybe_fetch(self)
        return self._taken()

    def add(self, effect: Effect) -> None:
        self._effects.append(effect)

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

    # Time.

    def election_deadline_ms(self) -> int:
        """Drawn anew each time, so that voters do not stand at once again and again."""
        return self.now_ms + self.config.election_timeout_ms + self._draw(self.config.election_timeout_ms)

    def backoff_deadline_ms(self) -> int:
        return self.now_ms + 1 + self._draw(self.config.election_backoff_max_ms)

    def _draw(self, bound: int) -> int:
        return self.draws.below(bound) if bound > 0 else 0

    def next_fetch_id(self) -> int:
        """An answer counts only for the last Fetch of its role: an old one may tell to truncate what is committed."""
        self._fetches += 1
        return self._fetches

    # Transitions.

    def _restored(self, state: ElectionState) -> Role:
        """The role after a start. The log may know a later epoch than the file: then nobody was voted for in it."""
        deadline_ms = self.election_deadline_ms()
        if self.log.end.epoch > state.epoch:
            return Unattached(self.log.end.epoch, None, deadline_ms)
        if state.leader_id == self.me.id:
            return Resigned(state.epoch, self.me.id, deadline_ms, ())
        if state.leader_id is not None:
            return self._follower(state.epoch, state.leader_id, state.voted)
        return Unattached(state.epoch, state.voted, deadline_ms)

    def _follower(self, epoch: int, leader_id: int, voted: ReplicaKey | None) -> Follower:
        deadline_ms = self.now_ms + self.config.fetch_timeout_ms
        return Follower(epoch, leader_id, voted, deadline_ms, self.high_watermark)

    def become_unattached(self, epoch: int) -> None:
        assert epoch >= self.epoch, f"an epoch never goes back: {self.epoch} to {epoch}"
        voted = self.role.voted if epoch == self.epoch else None
        self.role = Unattached(epoch, voted, self.election_deadline_ms())

    def become_follower(self, epoch: int, leader_id: int) -> None:
        assert epoch >= self.epoch and leader_id != self.me.id
        voted = self.role.voted if epoch == self.epoch else None
        self.role = self._follower(epoch, leader_id, voted)

    def stand(self) -> None:
        """For election: with a pre-vote first, where all releases in the quorum may be asked for one."""
        if not self.is_voter:
            self.become_unattached(self.epoch)
        elif self.has_pre_vote and len(self.voters) > 1:
            self.become_prospective()
        else:
            self.become_candidate()

    def become_prospective(self) -> None:
        old = self.role
        leader_id = old.leader_id if isinstance(old, Follower) else None
        self.role = Prospective(old.epoch, leader_id, old.voted, self.election_deadline_ms(), self.me.id)
        self._ask_for_votes()

    def become_candidate(self) -> None:
        epoch = self.epoch + 1
        self.role = Candidate(epoch, None, self.me, self.election_deadline_ms(), self.me.id)
        self._ask_for_votes()
        voting.maybe_win(self)

    def _ask_for_votes(self) -> None:
        assert isinstance(self.role, Electing)
        for voter_id in self.voters.others(self.me.id):
            self.add(effects.SendVote(voter_id, self.epoch, self.log.end, self.role.is_pre_vote))

    def become_leader(self) -> None:
        role = self.role
        assert isinstance(role, Candidate) and role.voted == self.me
        self.role = Leader(role.epoch, self.me.id, role.granting, self.log.end.offset)
        leadership.begin(self)

    def become_resigned(self) -> None:
        assert isinstance(self.role, Leader)
        successors = leadership.preferred_successors(self.role)
        self.role = Resigned(self.epoch, self.me.id, self.election_deadline_ms(), successors)
        leadership.announce_end(self)

    def learn(self, leader_id: int | None, epoch: int) -> bool:
        """What a request or an answer tells of the quorum; True if that changed the role."""
        if epoch < self.epoch or leader_id == self.me.id:
            return False
        if leader_id is not None and self.voters.get(leader_id) is None:
            leader_id = None
        if leader_id is not None and (epoch > self.epoch or self._has_no_leader()):
            self.become_follower(epoch, leader_id)
            return True
        if epoch > self.epoch:
            self.become_unattached(epoch)
            return True
        return False

    def _has_no_leader(self) -> bool:
        return self.role.leader_id is None

    def move_high_watermark(self, offset: int) -> None:
        if offset > self.high_watermark:
            self.high_watermark = offset
            self.add(effects.MoveHighWatermark(offset))

    # In simulation after each step.

    def validate(self) -> None:
        role = self.role
        assert self.high_watermark <= self.log.end.offset, "the high watermark is past the log's end"
        if isinstance(role, Leader):
            assert role.leader_id == self.me.id and self.is_voter
            assert role.high_watermark is None or role.high_watermark > role.epoch_start_offset
            assert role.high_watermark is None or role.high_watermark <= self.high_watermark
        if isinstance(role, Electing):
            assert not role.granting & role.rejecting
            assert self.me.id in role.granting
        if isinstance(role, Candidate):
            assert role.voted == self.me and role.leader_id is None
        if isinstance(role, Follower):
            assert role.leader_id not in (None, self.me.id)


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
        core.stand()


def _log_flushed(core: RaftCore, event: events.LogFlushed) -> None:
    if isinstance(core.role, Leader):
        leadership.maybe_commit(core)
    elif isinstance(core.role, Follower):
        following.log_flushed(core, core.role)


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
