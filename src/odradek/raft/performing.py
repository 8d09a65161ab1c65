"""What the driver does for each effect of the core.

Those that wait for the disk hold up everything behind them: the file quorum-state, a truncation, an installed snapshot.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from odradek.protocol import errors
from odradek.raft import effects, election_state, events
from odradek.raft.batches import control_batch, leader_change, quorum_records
from odradek.raft.election_state import ElectionState
from odradek.raft.roles import Leader

if TYPE_CHECKING:
    from odradek.raft.client import RaftClient


def perform(client: "RaftClient", effect: effects.Effect) -> None:
    _TABLE[type(effect)](client, effect)


# Effects that wait for the disk.


def _persist(client: "RaftClient", effect: effects.Persist) -> None:
    client.hold_up(_write_state(client, effect.state))


async def _write_state(client: "RaftClient", state: ElectionState) -> None:
    data = election_state.encode(state, min(client.kraft_version, 1), client.core.voters.ids)
    await client.log.run(election_state.write_job(client.loop.ports.disk, client.log.directory, data))


def _truncate(client: "RaftClient", effect: effects.TruncateTo) -> None:
    client.hold_up(_truncate_to(client, effect.offset))


async def _truncate_to(client: "RaftClient", offset: int) -> None:
    await client.log.truncate_to(offset)
    client.update_voters()
    client.inbox.appendleft(events.LogFlushed())


async def install(client: "RaftClient", effect: effects.FetchSnapshot, part: str) -> None:
    """The snapshot has been fetched: it takes the place of the log, if that is still what we need."""
    if not client.outbound().is_wanted(effect):
        await client.log.remove_part(part)  # the role has changed meanwhile
        return
    try:
        await client.log.install_snapshot(part, effect.snapshot_id)
    except errors.KafkaStorageError:
        raise
    except errors.KafkaError:
        await client.log.remove_part(part)  # what the leader sent is no snapshot
        client.inbox.appendleft(events.SnapshotFailed(effect.epoch))
        return
    client.update_voters()
    client.inbox.appendleft(events.SnapshotInstalled(effect.snapshot_id))


# Effects on the log.


def _append_leader_change(client: "RaftClient", effect: effects.AppendLeaderChange) -> None:
    role = client.core.role
    assert isinstance(role, Leader) and role.epoch == effect.epoch
    controls = [leader_change(client.me.id, client.core.voters, effect.granting_voters)]
    if client.log.are_voters_only_formatted():
        controls += quorum_records(client.kraft_version, client.core.voters)
    now_ms = client.loop.ports.clock.wall_ms()
    client.log.append_as_leader(control_batch(controls, client.log_end_offset, effect.epoch, now_ms))
    role.has_begun = True
    client.appended()


def _append_records(client: "RaftClient", effect: effects.AppendRecords) -> None:
    try:
        client.log.append_as_follower(effect.records)
    except errors.KafkaStorageError:
        raise
    except errors.KafkaError:
        # Not what a leader of this quorum writes: asked for again after a pause.
        client.loop.after(client.config.retry_backoff_ms, lambda: client.happened(events.LogFlushed()))
        return
    client.update_voters()
    client.appended()


# What others learn.


def _move_high_watermark(client: "RaftClient", effect: effects.MoveHighWatermark) -> None:
    client.log.log.update_high_watermark(effect.offset)
    client.tell_everyone()


def _leader_changed(client: "RaftClient", effect: effects.LeaderChanged) -> None:
    client.tell_everyone()


def _answer(client: "RaftClient", effect: effects.Answer) -> None:
    effect.token.answer(effect)


_TABLE: dict[type, Callable[["RaftClient", Any], None]] = {
    effects.Persist: _persist,
    effects.TruncateTo: _truncate,
    effects.AppendLeaderChange: _append_leader_change,
    effects.AppendRecords: _append_records,
    effects.MoveHighWatermark: _move_high_watermark,
    effects.LeaderChanged: _leader_changed,
    effects.Answer: _answer,
    effects.Serve: lambda client, effect: client.inbound().serve(effect),
    effects.SendVote: lambda client, effect: client.outbound().vote(effect),
    effects.SendBeginQuorumEpoch: lambda client, effect: client.outbound().begin_quorum_epoch(effect),
    effects.SendEndQuorumEpoch: lambda client, effect: client.outbound().end_quorum_epoch(effect),
    effects.SendFetch: lambda client, effect: client.outbound().fetch(effect),
    effects.FetchSnapshot: lambda client, effect: client.outbound().snapshot(effect),
}
