"""The leader: announces itself, serves fetches, counts what a majority has on disk, knows when it has lost touch."""

from odradek.broken_rule import BrokenRuleError, instance
from odradek.protocol import errors
from odradek.raft.core import effects, events
from odradek.raft.core.quorum_state import QuorumState
from odradek.raft.core.roles import Candidate, Leader, ReplicaProgress, Resigned
from odradek.raft.keys import OffsetAndEpoch, ReplicaKey

OBSERVER_SESSION_MS = 300_000
OBSERVERS_MAX = 1000


def become_leader(core: QuorumState) -> None:
    role = core.role
    if not isinstance(role, Candidate) or role.voted != core.me:
        raise BrokenRuleError(f"only a candidate that has voted for itself becomes leader: {role!r}")
    core.role = Leader(role.epoch, core.me.id, role.granting, core.log.end.offset)
    begin(core, core.role)


def begin(core: QuorumState, role: Leader) -> None:
    others = core.voters.others(core.me.id)
    role.voters = {voter_id: ReplicaProgress() for voter_id in others}
    role.begin_deadline_ms = core.now_ms + _begin_interval_ms(core)
    if others:
        role.quorum_deadline_ms = core.now_ms + _quorum_timeout_ms(core)
    core.add(effects.AppendLeaderChange(role.epoch, role.granting))
    for voter_id in others:
        core.add(effects.SendBeginQuorumEpoch(voter_id, role.epoch))


def _begin_interval_ms(core: QuorumState) -> int:
    return max(1, core.config.fetch_timeout_ms // 2)


def _quorum_timeout_ms(core: QuorumState) -> int:
    """Longer than what followers wait: they get the chance to come back before we give up."""
    return core.config.fetch_timeout_ms * 3 // 2


def time_passed(core: QuorumState, role: Leader) -> None:
    if role.quorum_deadline_ms is not None and core.now_ms >= role.quorum_deadline_ms:
        _become_resigned(core, role)
        return
    role.begin_deadline_ms = core.now_ms + _begin_interval_ms(core)
    for voter_id, progress in role.voters.items():
        silent_ms = None if progress.last_fetch_ms is None else core.now_ms - progress.last_fetch_ms
        if silent_ms is None or silent_ms >= _begin_interval_ms(core):
            core.add(effects.SendBeginQuorumEpoch(voter_id, role.epoch))


# The end of an epoch.


def resign(core: QuorumState, event: events.Resign) -> None:
    if isinstance(core.role, Leader) and core.epoch == event.epoch:
        _become_resigned(core, core.role)


def _become_resigned(core: QuorumState, role: Leader) -> None:
    successors = _preferred_successors(role)
    core.role = Resigned(role.epoch, core.me.id, core.election_deadline_ms(), successors)
    for voter_id in successors:
        core.add(effects.SendEndQuorumEpoch(voter_id, role.epoch, successors))


def _preferred_successors(role: Leader) -> tuple[int, ...]:
    """Who is furthest comes first: it is the likeliest to win."""
    ends = {voter_id: -1 if at.end_offset is None else at.end_offset for voter_id, at in role.voters.items()}
    return tuple(sorted(ends, key=lambda voter_id: (-ends[voter_id], voter_id)))


def quorum_epoch_answered(core: QuorumState, event: events.QuorumEpochAnswered) -> None:
    if core.learn(event.leader_id, event.epoch) or event.error_code or event.asked_epoch != core.epoch:
        return
    if isinstance(core.role, Leader):
        core.role.acknowledged.add(event.voter_id)
    elif isinstance(core.role, Resigned):
        core.role.unacknowledged.discard(event.voter_id)


# Fetches.


def fetch_requested(core: QuorumState, event: events.FetchRequested) -> None:
    error_code = _refusal(core, event.epoch)
    if not error_code and (event.offset < 0 or not 0 <= event.last_epoch <= core.epoch):
        error_code = errors.InvalidRequest.code
    if error_code:
        core.add(effects.Answer(event.token, error_code, core.leader_id, core.epoch))
        return
    role = _leader(core)
    diverging, snapshot_id = _parting(core, event.offset, event.last_epoch)
    _heard_of(core, role, event.replica, event.offset if diverging is None and snapshot_id is None else None)
    if diverging is not None or snapshot_id is not None:
        answer = effects.Answer(
            event.token, errors.NONE, core.leader_id, core.epoch, diverging=diverging, snapshot_id=snapshot_id
        )
        core.add(answer)
    else:
        core.add(effects.Serve(event.token))


def snapshot_requested(core: QuorumState, event: events.SnapshotRequested) -> None:
    error_code = _refusal(core, event.epoch)
    if error_code:
        core.add(effects.Answer(event.token, error_code, core.leader_id, core.epoch))
        return
    _heard_of(core, _leader(core), event.replica, None)
    core.add(effects.Serve(event.token))


def _leader(core: QuorumState) -> Leader:
    return instance(core.role, Leader, "only a leader serves and commits")


def _refusal(core: QuorumState, epoch: int) -> int:
    if epoch < core.epoch:
        return errors.FencedLeaderEpoch.code
    if epoch > core.epoch:
        return errors.UnknownLeaderEpoch.code
    return errors.NONE if isinstance(core.role, Leader) else errors.NotLeaderOrFollower.code


def _parting(core: QuorumState, offset: int, last_epoch: int) -> tuple[OffsetAndEpoch | None, OffsetAndEpoch | None]:
    """(where the follower's log parts from ours, the snapshot it has to begin with): at most one of them."""
    log = core.log
    if offset == 0 and last_epoch == 0 and log.log_start_offset == 0:
        return None, None
    earliest = log.earliest_snapshot_id
    if earliest is not None and (
        offset < log.log_start_offset
        or (offset == log.log_start_offset == earliest.offset and last_epoch != earliest.epoch)
        or (log.log_start_offset > 0 and last_epoch < earliest.epoch)
    ):
        return None, log.latest_snapshot_id
    ours = log.end_offset_for_epoch(last_epoch)
    if ours.epoch != last_epoch or ours.offset < offset:
        return ours, None
    return None, None


def _heard_of(core: QuorumState, role: Leader, replica: ReplicaKey, end_offset: int | None) -> None:
    """A replica lives; `end_offset` is how far it has our log on its disk, if this request told."""
    progress = _progress_of(core, role, replica)
    if progress is None:
        return
    if end_offset is not None:
        _note_caught_up(core, progress, end_offset)
        progress.end_offset = end_offset
    progress.last_fetch_ms = core.now_ms
    progress.last_fetch_leader_end = core.log.end.offset
    progress.directory_id = replica.directory_id
    if replica.id in role.voters:
        role.acknowledged.add(replica.id)
        _postpone_resignation(core, role)
        maybe_commit(core)


def _progress_of(core: QuorumState, role: Leader, replica: ReplicaKey) -> ReplicaProgress | None:
    if core.voters.has(replica):
        return role.voters.get(replica.id)  # None for ourselves
    if replica.id < 0:
        return None  # a tool that only reads
    if replica not in role.observers and len(role.observers) >= OBSERVERS_MAX:
        _forget_silent_observers(core, role)
        if len(role.observers) >= OBSERVERS_MAX:
            return None
    return role.observers.setdefault(replica, ReplicaProgress())


def _forget_silent_observers(core: QuorumState, role: Leader) -> None:
    oldest_ms = core.now_ms - OBSERVER_SESSION_MS
    role.observers = {key: at for key, at in role.observers.items() if (at.last_fetch_ms or 0) >= oldest_ms}


def _note_caught_up(core: QuorumState, progress: ReplicaProgress, end_offset: int) -> None:
    if end_offset >= core.log.end.offset:
        progress.last_caught_up_ms = core.now_ms
    elif progress.last_fetch_leader_end >= 0 and end_offset >= progress.last_fetch_leader_end:
        progress.last_caught_up_ms = progress.last_fetch_ms  # it has now what we had then


def _postpone_resignation(core: QuorumState, role: Leader) -> None:
    """The deadline counts from the time at which a majority, we among it, had last been heard of."""
    heard = sorted((at.last_fetch_ms for at in role.voters.values() if at.last_fetch_ms is not None), reverse=True)
    needed = core.voters.majority - 1
    if len(heard) >= needed:
        deadline_ms = heard[needed - 1] + _quorum_timeout_ms(core)
        role.quorum_deadline_ms = max(role.quorum_deadline_ms or 0, deadline_ms)


# The high watermark.


def maybe_commit(core: QuorumState) -> None:
    """The largest offset below which a majority has everything on disk, we ourselves only after our own fsync."""
    role = _leader(core)
    ends = [0 if at.end_offset is None else at.end_offset for at in role.voters.values()]
    ends.append(core.log.flushed_offset)
    offset = sorted(ends, reverse=True)[core.voters.majority - 1]
    # A record of an older epoch may be on a majority and still be lost to a later leader: only one of ours is proof.
    if offset > role.epoch_start_offset and offset > (role.high_watermark or 0):
        role.high_watermark = offset
        core.move_high_watermark(offset)
