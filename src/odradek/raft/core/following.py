"""The follower: copies the leader's log, cuts off what the leader does not have, begins with a snapshot if it must."""

from odradek.broken_rule import present
from odradek.protocol import errors
from odradek.raft.core import effects, events
from odradek.raft.core.quorum_state import QuorumState
from odradek.raft.core.roles import Follower, Prospective, Unattached
from odradek.raft.core.voting import wrong_voter
from odradek.raft.keys import OffsetAndEpoch


class QuorumViolation(Exception):  # noqa: N818 - what is found, not what went wrong here
    """The quorum has broken its word: this replica stops before it does as well."""


def begin_quorum_epoch_requested(core: QuorumState, event: events.BeginQuorumEpochRequested) -> None:
    error_code = _refusal(core, event.leader_id, event.epoch) or wrong_voter(core, event.voter)
    if not error_code and not core.learn(event.leader_id, event.epoch):
        _believe_again(core)
    core.add(effects.Answer(event.token, error_code, core.leader_id, core.epoch))


def _believe_again(core: QuorumState) -> None:
    """We had missed the leader and were asking whether to replace it: it is alive."""
    if isinstance(core.role, Prospective) and core.role.leader_id is not None:
        core.become_follower(core.epoch, core.role.leader_id)


def end_quorum_epoch_requested(core: QuorumState, event: events.EndQuorumEpochRequested) -> None:
    error_code = _refusal(core, event.leader_id, event.epoch)
    if not error_code:
        core.learn(event.leader_id, event.epoch)
        _hurry(core, event.preferred_successors)
    core.add(effects.Answer(event.token, error_code, core.leader_id, core.epoch))


def _refusal(core: QuorumState, leader_id: int, epoch: int) -> int:
    if epoch < core.epoch:
        return errors.FencedLeaderEpoch.code
    is_another = epoch == core.epoch and core.role.leader_id not in (None, leader_id)
    if is_another or leader_id == core.me.id or core.voters.get(leader_id) is None:
        return errors.InvalidRequest.code
    return errors.NONE


def _hurry(core: QuorumState, successors: tuple[int, ...]) -> None:
    """The leader is gone by its own word. The first successor stands at once, the others leave it time to win."""
    role = core.role
    if not isinstance(role, Follower):
        return
    role.has_fetched = False
    place = successors.index(core.me.id) if core.me.id in successors else len(successors)
    role.deadline_ms = core.now_ms if place == 0 else min(role.deadline_ms, core.backoff_deadline_ms())


# Fetching.


def maybe_fetch(core: QuorumState) -> None:
    """At the end of every step. What a Fetch claims to have must be durable: the leader commits by it (C4)."""
    role = core.role
    if isinstance(role, Unattached) and not core.is_voter and role.fetch_id is None:
        role.fetch_id = _send_fetch(core, core.voters.ids[core.draws.below(len(core.voters))])
    elif isinstance(role, Follower) and _is_free(role) and core.log.flushed_offset >= core.log.end.offset:
        role.fetch_id = _send_fetch(core, _leader_of(role))


def _leader_of(role: Follower) -> int:
    return present(role.leader_id, "a follower knows whom it follows")


def _is_free(role: Follower) -> bool:
    return role.fetch_id is None and not role.is_changing_log and not role.fetching_snapshot


def _send_fetch(core: QuorumState, to: int) -> int:
    end = core.log.end
    fetch_id = core.next_fetch_id()
    core.add(effects.SendFetch(to, core.epoch, end.offset, end.epoch, core.high_watermark, fetch_id))
    return fetch_id


def fetch_answered(core: QuorumState, event: events.FetchAnswered) -> None:
    role = core.role
    if core.learn(event.leader_id, event.epoch):
        return
    if not isinstance(role, (Unattached, Follower)) or role.fetch_id != event.fetch_id:
        return
    role.fetch_id = None
    if not isinstance(role, Follower) or event.error_code:
        return
    _alive(core, role)
    if event.diverging is not None:
        _truncate(core, role, event.diverging)
    elif event.snapshot_id is not None:
        _fetch_snapshot(core, role, event.snapshot_id)
    else:
        _take(core, role, event)


def _alive(core: QuorumState, role: Follower) -> None:
    role.has_fetched = True
    role.deadline_ms = core.now_ms + core.config.fetch_timeout_ms


def _take(core: QuorumState, role: Follower, event: events.FetchAnswered) -> None:
    role.high_watermark = max(role.high_watermark, event.high_watermark)
    if event.records:
        role.is_changing_log = True
        core.add(effects.AppendRecords(event.records))
    _follow_high_watermark(core, role)


def _follow_high_watermark(core: QuorumState, role: Follower) -> None:
    core.move_high_watermark(min(role.high_watermark, core.log.flushed_offset))


def log_flushed(core: QuorumState, role: Follower) -> None:
    if core.log.flushed_offset >= core.log.end.offset:
        role.is_changing_log = False
    _follow_high_watermark(core, role)


def _truncate(core: QuorumState, role: Follower, diverging: OffsetAndEpoch) -> None:
    """To where both logs agree: the end of the leader's epoch, here or there, whichever comes first (C3)."""
    ours = core.log.end_offset_for_epoch(diverging.epoch)
    offset = min(ours.offset, diverging.offset) if ours.epoch == diverging.epoch else ours.offset
    if offset < core.high_watermark:
        raise QuorumViolation(
            f"The leader of epoch {core.epoch} would have us truncate to offset {offset}; everything up to "
            f"{core.high_watermark} was committed."
        )
    role.is_changing_log = True  # the next Fetch is about the log as it is then
    core.add(effects.TruncateTo(offset))


# Snapshots.


def _fetch_snapshot(core: QuorumState, role: Follower, snapshot_id: OffsetAndEpoch) -> None:
    if snapshot_id.offset < core.high_watermark:
        return  # an old answer; what we hold is newer
    role.fetching_snapshot = True
    core.add(effects.FetchSnapshot(_leader_of(role), role.epoch, snapshot_id))


def snapshot_piece_arrived(core: QuorumState, event: events.SnapshotPieceArrived) -> None:
    role = core.role
    if isinstance(role, Follower) and (event.leader_id, event.asked_epoch) == (role.leader_id, role.epoch):
        _alive(core, role)


def snapshot_installed(core: QuorumState, event: events.SnapshotInstalled) -> None:
    """Whatever role we have by now: the log begins at it."""
    core.move_high_watermark(event.snapshot_id.offset)
    if isinstance(core.role, Follower):
        core.role.fetching_snapshot = False


def snapshot_failed(core: QuorumState, event: events.SnapshotFailed) -> None:
    has_moved_on = core.learn(event.leader_id, event.epoch) or core.epoch != event.asked_epoch
    if isinstance(core.role, Follower) and not has_moved_on:
        core.role.fetching_snapshot = False
