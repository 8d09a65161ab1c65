"""Mistakes that a quorum must not make, each put into the code on purpose. `apply(name, monkeypatch)` makes one."""

from odradek.raft import cleaning, election_state, snapshots
from odradek.raft.core import effects, following, leadership, raft_core, voting
from odradek.raft.core.raft_core import RaftCore
from odradek.raft.core.roles import Candidate, Follower, Leader
from odradek.raft.driver.event_queue import EventQueue
from odradek.raft.driver.snapshot_fetching import SnapshotFetching
from odradek.raft.metadata_log import MetadataLog
from odradek.reactor.atomic_write import append_all
from odradek.sim.disk import SimFile


def _write_unsynced(disk, path, data):
    file = disk.open(path, create=True)
    file.truncate(0)
    append_all(file, data)
    file.close()


def skip_fsync_of_vote(patch):
    """Written beside the old one and renamed, but never synced."""

    def write_job(disk, directory, data):
        path = f"{directory}/quorum-state"
        _write_unsynced(disk, path + ".tmp", data)
        disk.rename(path + ".tmp", path)
        yield 0

    patch.setattr(election_state, "write_job", write_job)


def answer_before_persisting(patch):
    taken = RaftCore._taken

    def _taken(self):
        found = taken(self)
        if found and isinstance(found[0], effects.Persist):
            found.append(found.pop(0))
        return found

    patch.setattr(RaftCore, "_taken", _taken)


def go_on_while_persisting(patch):
    patch.setattr(EventQueue, "hold_up", lambda self, work: self._replica.loop.spawn(self._done(work)))


def forget_later_epoch(patch):
    """A higher epoch that comes without a vote is not persisted."""
    taken = RaftCore._taken

    def _taken(self):
        found = taken(self)
        return [each for each in found if not (isinstance(each, effects.Persist) and each.state[1:] == (None, None))]

    patch.setattr(RaftCore, "_taken", _taken)


def vote_twice_in_an_epoch(patch):
    def _vote_for(self, candidate):
        self.become_unattached(self.epoch)
        self.role.voted = candidate

    def _can_grant(self, event):
        is_up_to_date = event.last.is_up_to_date_with(self.log.end)
        return is_up_to_date and not isinstance(self.role, (Leader, Follower, Candidate))

    patch.setattr(voting, "_vote_for", _vote_for)
    patch.setattr(voting, "_can_grant", _can_grant)


def vote_for_a_shorter_log(patch):
    can_grant = voting._can_grant
    patch.setattr(voting, "_can_grant", lambda self, event: can_grant(self, event._replace(last=self.log.end)))


def _commit(core, own_end, is_allowed):
    role = core.role
    ends = [at.end_offset or 0 for at in role.voters.values()] + [own_end]
    offset = sorted(ends, reverse=True)[core.voters.majority - 1]
    if is_allowed(role, offset) and offset > (role.high_watermark or 0):
        role.high_watermark = offset
        core.move_high_watermark(offset)


def commit_older_epoch_by_counting(patch):
    def maybe_commit(core):
        _commit(core, core.log.flushed_offset, lambda role, offset: True)

    patch.setattr(leadership, "maybe_commit", maybe_commit)


def count_own_unsynced_end(patch):
    def maybe_commit(core):
        _commit(core, core.log.end.offset, lambda role, offset: offset > role.epoch_start_offset)

    patch.setattr(leadership, "maybe_commit", maybe_commit)


def count_one_too_few(patch):
    def maybe_commit(core):
        role = core.role
        ends = sorted([core.log.flushed_offset, *(at.end_offset or 0 for at in role.voters.values())], reverse=True)
        offset = ends[core.voters.majority - 2]
        if offset > role.epoch_start_offset and offset > (role.high_watermark or 0):
            role.high_watermark = offset
            core.move_high_watermark(offset)

    patch.setattr(leadership, "maybe_commit", maybe_commit)


def fetch_from_unsynced_end(patch):
    def maybe_fetch(core):
        role = core.role
        if isinstance(role, Follower) and role.fetch_id is None and not role.fetching_snapshot:
            role.is_changing_log = False
            role.fetch_id = following._send_fetch(core, role.leader_id)

    patch.setattr(following, "maybe_fetch", maybe_fetch)


def no_truncation_on_divergence(patch):
    patch.setattr(following, "_truncate", lambda core, role, diverging: None)


def truncate_to_own_end_of_epoch(patch):
    """Where the epoch ends here, though it ends earlier in the leader's log."""

    def _truncate(core, role, diverging):
        role.is_changing_log = True
        core.add(effects.TruncateTo(core.log.end_offset_for_epoch(diverging.epoch).offset))

    patch.setattr(following, "_truncate", _truncate)


def append_without_comparing_epochs(patch):
    """The leader looks at the offset alone, and the log of the follower parts from its own unnoticed."""

    def _parting(core, offset, last_epoch):
        end = core.log.end
        if offset < core.log.log_start_offset:
            return None, core.log.latest_snapshot_id
        return (end, None) if offset > end.offset else (None, None)

    def _truncate(core, role, diverging):
        role.is_changing_log = True
        core.add(effects.TruncateTo(max(core.high_watermark, min(diverging.offset, core.log.end.offset))))

    patch.setattr(leadership, "_parting", _parting)
    patch.setattr(following, "_truncate", _truncate)


def accept_older_begin_quorum_epoch(patch):
    def begin_quorum_epoch_requested(core, event):
        if event.leader_id != core.me.id:
            core.role = core._follower(event.epoch, event.leader_id, None)
        core.add(effects.Answer(event.token, 0, core.leader_id, core.epoch))

    table = raft_core._HANDLERS
    patch.setitem(
        table, next(key for key in table if key.__name__ == "BeginQuorumEpochRequested"), begin_quorum_epoch_requested
    )


def high_watermark_goes_back(patch):
    def move_high_watermark(self, offset):
        if offset != self.high_watermark:
            self.high_watermark = offset
            self.add(effects.MoveHighWatermark(offset))

    patch.setattr(RaftCore, "move_high_watermark", move_high_watermark)
    patch.setattr(
        following,
        "_take",
        lambda core, role, event: (
            setattr(role, "high_watermark", event.high_watermark - 1),
            event.records and (setattr(role, "is_changing_log", True), core.add(effects.AppendRecords(event.records))),
            following._follow_high_watermark(core, role),
        ),
    )


def deliver_what_is_not_committed(patch):
    read = MetadataLog.read
    patch.setattr(MetadataLog, "read", lambda self, *args, is_committed: read(self, *args, is_committed=False))


def install_snapshot_unsynced(patch):
    def install_job(disk, directory, part, snapshot_id):
        path = f"{directory}/{part}"
        data = disk.read(path)
        timestamp, facts, _ = snapshots._parsed(data)
        yield 0
        disk.rename(path, f"{directory}/{snapshots.file_name(snapshot_id)}")
        return snapshots.SnapshotFacts(snapshot_id, len(data), timestamp), facts

    patch.setattr(snapshots, "install_job", install_job)


def install_snapshot_after_truncating(patch):
    async def install_snapshot(self, part, snapshot_id):
        await self._quiet()
        self.log.truncate_fully_and_start_at(snapshot_id.offset, self._wall_ms)
        await self.flush()
        job = snapshots.install_job(self.loop.ports.disk, self.directory, part, snapshot_id)
        facts, quorum = await self.run(job)
        self.add_snapshot(facts)
        self._controls = [(snapshot_id.offset - 1, quorum)]

    patch.setattr(MetadataLog, "install_snapshot", install_snapshot)


def write_snapshot_unsynced(patch):
    fsync = SimFile.fsync
    patch.setattr(SimFile, "fsync", lambda self: None if self.path.endswith(".part") else fsync(self))


def clean_past_the_latest_snapshot(patch):
    """What is too large goes, and nothing is left to begin with."""

    async def clean(log, now_ms, limit_offset):
        doomed = []
        while log.snapshots and log.snapshots[0].id.offset <= limit_offset and cleaning._is_due(log, now_ms):
            doomed.append(log.snapshots.pop(0).id)
            log.log.increment_log_start_offset(doomed[-1].offset)
        if doomed:
            await cleaning._remove(log, doomed, now_ms)
        return len(doomed)

    patch.setattr(cleaning, "clean", clean)


def install_whatever_the_role(patch):
    """A snapshot that took its time to arrive takes the log's place, though its leader leads no more."""
    install = SnapshotFetching.install_in_turn

    def install_late(self, *args):
        self._replica.loop.after(400, lambda: install(self, *args))

    patch.setattr(SnapshotFetching, "install_in_turn", install_late)
    patch.setattr(SnapshotFetching, "is_wanted", lambda self, effect: True)


def lead_on_in_an_older_epoch(patch):
    learn = RaftCore.learn
    patch.setattr(RaftCore, "learn", lambda self, *args: False if isinstance(self.role, Leader) else learn(self, *args))
    become_unattached = RaftCore.become_unattached
    patch.setattr(
        RaftCore,
        "become_unattached",
        lambda self, epoch: (
            setattr(self.role, "epoch", epoch) if isinstance(self.role, Leader) else become_unattached(self, epoch)
        ),
    )


def lead_again_after_restart(patch):
    """The epoch that was ours before the restart is taken up again, with whatever is left of the log."""
    restored = RaftCore._restored

    def start(self, now_ms):
        self.now_ms = now_ms
        if isinstance(self.role, Leader):
            leadership.begin(self, self.role)
        following.maybe_fetch(self)
        return self._taken()

    def _restored(self, state):
        if state.leader_id == self.me.id and self.log.end.epoch <= state.epoch:
            return Leader(state.epoch, self.me.id, {self.me.id}, self.log.end.offset)
        return restored(self, state)

    patch.setattr(RaftCore, "_restored", _restored)
    patch.setattr(RaftCore, "start", start)


MUTANTS = [
    skip_fsync_of_vote,
    answer_before_persisting,
    go_on_while_persisting,
    forget_later_epoch,
    vote_twice_in_an_epoch,
    vote_for_a_shorter_log,
    commit_older_epoch_by_counting,
    count_own_unsynced_end,
    count_one_too_few,
    fetch_from_unsynced_end,
    no_truncation_on_divergence,
    truncate_to_own_end_of_epoch,
    append_without_comparing_epochs,
    accept_older_begin_quorum_epoch,
    high_watermark_goes_back,
    deliver_what_is_not_committed,
    install_snapshot_unsynced,
    install_snapshot_after_truncating,
    write_snapshot_unsynced,
    clean_past_the_latest_snapshot,
    install_whatever_the_role,
    lead_on_in_an_older_epoch,
    lead_again_after_restart,
]
