"""What is done for each effect of the core.

Those that wait for the disk hold up everything behind them: the file quorum-state and a truncation here, the install of
a snapshot in `snapshot_fetching.py`.
"""

from collections.abc import Callable
from typing import Any

from odradek.broken_rule import instance
from odradek.raft import election_state
from odradek.raft.core import effects, events
from odradek.raft.core.effects import Effect
from odradek.raft.driver.appends import Appends
from odradek.raft.driver.event_queue import EventQueue
from odradek.raft.driver.peers import Peers
from odradek.raft.driver.replica import Replica
from odradek.raft.driver.waiting_request import WaitingRequest
from odradek.raft.election_state import ElectionState


class Performer:
    __slots__ = ("_queue", "_replica", "_table", "_tell_everyone")

    def __init__(
        self,
        replica: Replica,
        queue: EventQueue,
        appends: Appends,
        peers: Peers,
        tell_everyone: Callable[[], object],
    ) -> None:
        """`tell_everyone` is called when more is committed or somebody else leads."""
        self._replica = replica
        self._queue = queue
        self._tell_everyone = tell_everyone
        # Each function takes the kind of effect that it stands beside, which a dict cannot say.
        self._table: dict[type, Callable[[Any], object]] = {
            effects.Persist: self._persist,
            effects.TruncateTo: self._truncate,
            effects.AppendLeaderChange: appends.append_leader_change,
            effects.AppendRecords: appends.append_records,
            effects.MoveHighWatermark: self._move_high_watermark,
            effects.LeaderChanged: lambda effect: tell_everyone(),
            effects.Answer: _answer,
            effects.Serve: lambda effect: peers.inbound().serve(effect),
            effects.SendVote: lambda effect: peers.outbound().vote(effect),
            effects.SendBeginQuorumEpoch: lambda effect: peers.outbound().begin_quorum_epoch(effect),
            effects.SendEndQuorumEpoch: lambda effect: peers.outbound().end_quorum_epoch(effect),
            effects.SendFetch: lambda effect: peers.outbound().fetch(effect),
            effects.FetchSnapshot: lambda effect: peers.snapshot_fetching().fetch(effect),
        }

    def perform(self, effect: Effect) -> None:
        self._table[type(effect)](effect)

    # Effects that wait for the disk.

    def _persist(self, effect: effects.Persist) -> None:
        self._queue.hold_up(self._write_state(effect.state))

    async def _write_state(self, state: ElectionState) -> None:
        log = self._replica.log
        data = election_state.encode(state, min(log.kraft_version(), 1), self._replica.core.voters.ids)
        await log.run(election_state.write_job(self._replica.loop.ports.disk, log.directory, data))

    def _truncate(self, effect: effects.TruncateTo) -> None:
        self._queue.hold_up(self._truncate_to(effect.offset))

    async def _truncate_to(self, offset: int) -> None:
        await self._replica.log.truncate_to(offset)
        self._replica.update_voters()
        self._queue.happens_next(events.LogFlushed())

    # What others learn.

    def _move_high_watermark(self, effect: effects.MoveHighWatermark) -> None:
        self._replica.log.log.update_high_watermark(effect.offset)
        self._tell_everyone()


def _answer(effect: effects.Answer) -> None:
    instance(effect.token, WaitingRequest, "the token of a request is who waits for its answer").answer(effect)
