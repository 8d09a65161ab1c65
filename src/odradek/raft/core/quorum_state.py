"""What a replica of the quorum knows: its role, who votes, what is committed; and what it is about to ask for.

The rules of elections, of leading and of following (`voting.py`, `leadership.py`, `following.py`) are functions on this
state; `raft_core.py` calls them and hands their effects to the driver. A step of theirs changes the role and adds
effects, nothing else.
"""

from typing import Protocol

from odradek.broken_rule import BrokenRuleError
from odradek.raft.config import RaftConfig
from odradek.raft.core import effects
from odradek.raft.core.effects import Effect
from odradek.raft.core.roles import Follower, Resigned, Role, Unattached
from odradek.raft.core.voters import VoterSet
from odradek.raft.election_state import ElectionState
from odradek.raft.keys import OffsetAndEpoch, ReplicaKey
from odradek.reactor.ports import Stream


class LogFacts(Protocol):
    """All that the core has to know of the metadata log; the driver changes the log, between two steps."""

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


class QuorumState:
    __slots__ = (
        "_effects",
        "_fetches",
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
        self.role: Role = self._restored(state or ElectionState(0))

    def add(self, effect: Effect) -> None:
        self._effects.append(effect)

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

    # Transitions that every rule may need. Those of an election are in voting.py, those of a leader in leadership.py.

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
        if epoch < self.epoch:
            raise BrokenRuleError(f"an epoch never goes back: {self.epoch} to {epoch}")
        voted = self.role.voted if epoch == self.epoch else None
        self.role = Unattached(epoch, voted, self.election_deadline_ms())

    def become_follower(self, epoch: int, leader_id: int) -> None:
        if epoch < self.epoch or leader_id == self.me.id:
            raise BrokenRuleError(f"{self.me.id} in epoch {self.epoch} cannot follow {leader_id} in epoch {epoch}")
        voted = self.role.voted if epoch == self.epoch else None
        self.role = self._follower(epoch, leader_id, voted)

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
