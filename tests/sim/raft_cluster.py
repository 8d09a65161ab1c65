"""Voters of a quorum on simulated nodes, a network that loses, delays and doubles messages, and the invariants.

A seed draws crashes that forget what was not synced, pauses, partitions (one-way, too), snapshots and cleaning. After
every event the invariants are looked at, as far as something has changed:

C1 one leader per epoch. C2 an epoch or a vote that was ever told is known after a restart: no epoch goes back, no voter
votes for two. C3 what is committed on two nodes is the same, byte for byte. C4 a leader commits only what a majority
holds. C5 a log that does not begin at 0 begins at or before a snapshot. C6 no leader installs a snapshot. C7 whoever
is elected holds everything that was committed in earlier epochs, and what was acknowledged is there in the end.
"""

import sys
import zlib

from log_kit import run as run_job
from odradek.config.broker import TABLE
from odradek.protocol.messages import (
    k01_fetch,
    k52_vote,
    k53_begin_quorum_epoch,
    k54_end_quorum_epoch,
    k59_fetch_snapshot,
)
from odradek.protocol.messages.metadata_cluster import FeatureLevelRecord
from odradek.raft import election_state
from odradek.raft.client import RaftClient
from odradek.raft.config import RaftConfig
from odradek.raft.core.roles import Follower, Leader
from odradek.raft.core.voters import Voter, VoterSet
from odradek.raft.keys import ReplicaKey
from odradek.raft.loading import load_job
from odradek.raft.settings import RaftSettings
from odradek.raft.snapshots import file_name
from odradek.reactor.jobs import JobQueue
from odradek.reactor.pending import Pending
from odradek.records.batch import batches
from odradek.sim.crash import LOSE_ALL, drawn_profile
from odradek.sim.world import World

DIRECTORY = "data/__cluster_metadata-0"
APIS = {
    k52_vote.VoteRequest: (k52_vote.VoteResponse, 2, "handle_vote"),
    k53_begin_quorum_epoch.BeginQuorumEpochRequest: (
        k53_begin_quorum_epoch.BeginQuorumEpochResponse,
        1,
        "handle_begin_quorum_epoch",
    ),
    k54_end_quorum_epoch.EndQuorumEpochRequest: (
        k54_end_quorum_epoch.EndQuorumEpochResponse,
        1,
        "handle_end_quorum_epoch",
    ),
    k01_fetch.FetchRequest: (k01_fetch.FetchResponse, 18, "handle_fetch"),
    k59_fetch_snapshot.FetchSnapshotRequest: (k59_fetch_snapshot.FetchSnapshotResponse, 1, "handle_fetch_snapshot"),
}


def raft_config(**changes):
    properties = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.listener.names": "C",
        "listeners": "PLAINTEXT://:1,C://:2",
        "controller.quorum.voters": "1@h:2",
    }
    return RaftConfig.from_config(TABLE.parse(properties)).replace(**changes)


SMALL = {
    "election_timeout_ms": 100,
    "fetch_timeout_ms": 200,
    "election_backoff_max_ms": 60,
    "request_timeout_ms": 120,
    "retry_backoff_ms": 10,
    "fetch_max_bytes": 400,
    "fetch_snapshot_max_bytes": 150,
    "internal_segment_bytes": 500,
    "retention_bytes": 1500,
    "internal_delete_delay_ms": 50,
}


class Violation(AssertionError):  # noqa: N818 - what is found
    pass


class Machine:
    """The state that the log is about: the values in order."""

    def __init__(self, client):
        self.client = client
        self.values = []
        self.offset = 0
        self.epoch = 0

    def handle_commit(self, batch):
        if batch.base_offset != self.offset:
            raise Violation(f"a listener at {self.offset} is handed a batch at {batch.base_offset}")
        if batch.last_offset >= self.client.high_watermark:
            raise Violation(f"a listener is handed offset {batch.last_offset}, which is not committed")
        self.values += [record.name for record in batch.records]
        self.offset, self.epoch = batch.last_offset + 1, batch.epoch

    def handle_load_snapshot(self, snapshot):
        if snapshot.offset < self.offset:
            raise Violation("a listener is taken back by a snapshot")
        self.values = [record.name for records in snapshot.batches for record in records]
        self.offset, self.epoch = snapshot.offset, snapshot.epoch

    def handle_leader_change(self, leader_id, epoch):
        pass


class Connections:
    """From one member to the others, over the cluster's bad network."""

    def __init__(self, member):
        self.member = member

    def send(self, voter, request, version):
        return self.member.cluster.send(self.member, voter.id, request)

    def close(self):
        pass


class Member:
    def __init__(self, cluster, node_id):
        self.cluster = cluster
        self.id = node_id
        self.node = cluster.world.node(f"n{node_id}")
        self.node.disk.mkdir("data")
        self.node.disk.fsync_dir("")
        self.client = None
        self.machine = None
        self.told_epoch = -1  # the highest in any message of ours
        self.seen = None
        self.checked_offset = 0
        self.starting = None

    @property
    def is_up(self):
        return self.client is not None

    @property
    def is_started(self):
        return self.client is not None and self.client.is_running

    def boot(self):
        loop = self.node.boot()
        cluster = self.cluster
        settings = RaftSettings(DIRECTORY, ReplicaKey(self.id), "cluster", cluster.voters, cluster.config)
        self.client = RaftClient(
            loop, JobQueue(loop), settings, connect=lambda: Connections(self), on_fatal=cluster.fatal
        )
        self.log = self.client.log
        self.machine = Machine(self.client)
        self.checked_offset = 0
        self.seen = None
        self.client.register(self.machine)
        self._guard_installs()
        self.starting = loop.spawn(self.client.start())
        self.node.attend()

    def _guard_installs(self):
        client = self.client
        install = client.log.install_snapshot

        async def guarded(part, snapshot_id):
            if not isinstance(client.core.role, Follower):
                raise Violation(f"C6: {client.core.role} installs a snapshot")
            await install(part, snapshot_id)
            self.cluster.installs += 1
            self._check_installed(snapshot_id)

        client.replica.log = _Guarded(client.log, guarded)

    def _check_installed(self, snapshot_id):
        """C5: the log has given way to it, so it must survive a power cut."""
        path = f"{DIRECTORY}/{file_name(snapshot_id)}"
        left = self.node.disk.clone().crash(LOSE_ALL)
        if not left.exists(path) or left.read(path) != self.node.disk.read(path):
            raise Violation(f"C5: the snapshot {snapshot_id} that {self.id} has installed is not durable")

    def crash(self):
        self.node.crash(drawn_profile(self.cluster.chance))
        self.client = None


class _Guarded:
    """The log with one method replaced: its class has slots."""

    def __init__(self, log, install_snapshot):
        self.__dict__["_log"] = log
        self.__dict__["install_snapshot"] = install_snapshot

    def __getattr__(self, name):
        return getattr(self._log, name)


class Cluster:
    def __init__(self, seed, count, **changes):
        self.world = World(seed)
        self.chance = self.world.rng.stream("faults")
        self.probes = self.world.rng.stream("probes")
        self.voters = VoterSet(Voter(node_id) for node_id in range(1, count + 1))
        self.config = raft_config(**{**SMALL, **changes})
        self.members = {node_id: Member(self, node_id) for node_id in self.voters.ids}
        self.cuts = set()
        self.duplicate_percent = 5
        self.lose_percent = 1
        self.number = 0
        self.appended = []  # (member id, incarnation, epoch, offset, value) that are not acknowledged yet
        self.acknowledged = []
        # What the invariants remember.
        self.leaders = {}  # epoch to node id
        self.votes = {}  # (voter, epoch) to candidate
        self.committed = {}  # base offset of a batch to its checksum
        self.commits = {}  # epoch of the leader to the highest offset it committed
        self.failure = None
        self.elections = self.snapshots = self.installs = 0

    def fatal(self, error):
        self.failure = error

    # The network.

    def send(self, source, to, request):
        response_class, version, _ = APIS[type(request)]
        pending = source.client.loop.pending()
        data = request.to_bytes(version)
        self._note_request(source, request)
        incarnation = source.node.incarnation

        def answered(reply):
            if source.node.incarnation == incarnation and source.is_up:
                pending.resolve(response_class.decode(memoryview(reply), version))
                source.node.attend()

        for _ in range(2 if self.chance.chance(self.duplicate_percent) else 1):
            self._carry(source, self.members[to], lambda: self._arrive(source, to, type(request), data, answered))
        return pending

    def _carry(self, source, target, arrive):
        if self.chance.chance(self.lose_percent):
            return
        # A few are late by an epoch or two.
        longest_us = 3000 if self.chance.chance(93) else 150_000 if self.chance.chance(70) else 900_000
        self.world.after(self.chance.between(100, longest_us), lambda: self._pass(source, target, arrive))

    def _pass(self, source, target, arrive):
        if (source.id, target.id) not in self.cuts and target.is_up:
            target.node.after(0, arrive)

    def _arrive(self, source, to, request_class, data, answered):
        target = self.members[to]
        if not target.is_started:
            return
        _, version, handler = APIS[request_class]
        request = request_class.decode(memoryview(data), version)
        result = getattr(target.client, handler)(request, version)
        incarnation = target.node.incarnation

        def done(finished):
            if target.node.incarnation != incarnation:
                return
            response = finished.value() if isinstance(finished, Pending) else finished
            self._note_response(target, request, response)
            reply = response.to_bytes(version)
            self._carry(target, source, lambda: answered(reply))

        result.when_done(done) if isinstance(result, Pending) else done(result)
        target.node.attend()

    # What messages promise (C2).

    def _note_request(self, member, request):
        if isinstance(request, k52_vote.VoteRequest):
            asked = request.topics[0].partitions[0]
            self._told(member, asked.replica_epoch)
            if not asked.pre_vote:
                self._voted(member, asked.replica_epoch, member.id)
        elif isinstance(request, k01_fetch.FetchRequest):
            self._claimed(member, request.topics[0].partitions[0].fetch_offset)
        elif not isinstance(request, k59_fetch_snapshot.FetchSnapshotRequest):
            self._told(member, request.topics[0].partitions[0].leader_epoch)

    def _note_response(self, member, request, response):
        if isinstance(response, k52_vote.VoteResponse) and response.topics:
            told = response.topics[0].partitions[0]
            asked = request.topics[0].partitions[0]
            self._told(member, told.leader_epoch)
            if told.vote_granted and not asked.pre_vote:
                self._voted(member, asked.replica_epoch, asked.replica_id)

    def _told(self, member, epoch):
        member.told_epoch = max(member.told_epoch, epoch)

    def _voted(self, member, epoch, candidate):
        known = self.votes.setdefault((member.id, epoch), candidate)
        if known != candidate:
            raise Violation(f"C2: {member.id} votes for {known} and {candidate} in epoch {epoch}")
        state = election_state.read(self._after_power_cut(member), DIRECTORY)
        if state is None or state.epoch < epoch or (state.epoch == epoch and state.voted is None):
            raise Violation(f"C2: {member.id} votes in epoch {epoch}, on its disk is {state}")

    def _claimed(self, member, offset):
        """C4: what a Fetch says to have, a power cut must leave. Looked at now and then: it takes a whole recovery."""
        if not self.probes.chance(0.3):
            return
        loaded = run_job(load_job(self._after_power_cut(member), DIRECTORY, self.config.log_config(), 0))
        ends = [loaded.log.log_end_offset, *(facts.id.offset for facts in loaded.snapshots)]
        if max(ends) < offset:
            raise Violation(f"C4: {member.id} claims to have {offset}, on its disk is {max(ends)}")

    def _after_power_cut(self, member):
        return member.node.disk.clone().crash(LOSE_ALL)

    # The load.

    def append_somewhere(self):
        leaders = [member for member in self.members.values() if member.is_started and member.client.is_leader]
        for member in leaders:
            if not member.node.is_paused:
                member.node.after(0, lambda member=member: self._append(member))

    def _append(self, member):
        if not (member.is_started and member.client.is_leader):
            return
        value = f"v{self.number}"
        self.number += 1
        records = [(FeatureLevelRecord(name=value, feature_level=1), 0)] * (1 + self.number % 2)
        offset = member.client.append(member.client.epoch, records)
        self.appended.append((member.id, member.node.incarnation, member.client.epoch, offset, value))
        member.node.attend()

    def snapshot_somewhere(self):
        member = self.members[self.chance.between(1, len(self.members))]
        machine = member.machine
        if not member.is_started or member.node.is_paused or machine.offset <= member.client.log.log_start_offset:
            return
        records = [(FeatureLevelRecord(name=value, feature_level=1), 0) for value in machine.values]
        self.snapshots += 1
        offset, epoch = machine.offset, machine.epoch

        def create():
            member.node.loop.spawn(_ignoring_end(member.client.create_snapshot(offset, epoch, records)))
            member.node.attend()

        member.node.after(0, create)

    # The faults.

    def misfortune(self):
        kind = self.chance.below(8)
        member = self._victim()
        if kind <= 1 and member.is_up:
            if self.chance.chance(50):
                member.crash()
            else:
                member.node.disk.crash_at(self.chance.between(1, 40))
        elif kind == 2 and member.is_up and not member.node.is_paused:
            member.node.pause()
            node, incarnation = member.node, member.node.incarnation
            self.world.after(
                self.chance.between(20_000, 500_000),
                lambda: node.resume() if node.is_paused and node.incarnation == incarnation else None,
            )
        elif kind == 3:
            others = [other for other in self.members if other != member.id]
            self.cuts |= {(member.id, other) for other in others} | {(other, member.id) for other in others}
        elif kind == 4:
            other = self.chance.between(1, len(self.members))
            self.cuts.add((member.id, other))
        elif kind == 5:
            self.cuts.clear()
        else:
            self.snapshot_somewhere()
        if not member.is_up and self.chance.chance(70):
            member.boot()

    def _victim(self):
        """Every other time the leader: that is where something can be lost."""
        leaders = [member for member in self.members.values() if member.is_started and member.client.is_leader]
        if leaders and self.chance.chance(50):
            return leaders[self.chance.below(len(leaders))]
        return self.members[self.chance.between(1, len(self.members))]

    def repair(self):
        self.cuts.clear()
        self.duplicate_percent = self.lose_percent = 0
        for member in self.members.values():
            if member.node.is_paused:
                member.node.resume()
            member.node.disk.crash_at(1 << 60)
            if not member.is_up:
                member.boot()

    # The run.

    def boot_all(self):
        for member in self.members.values():
            member.boot()

    def run_for(self, milliseconds):
        limit_us = self.world.now_us + milliseconds * 1000
        while self.world.step(limit_us):
            self.check()
        self.world.now_us = limit_us

    def run_until(self, condition, limit_ms):
        limit_us = self.world.now_us + limit_ms * 1000
        while not condition():
            if not self.world.step(limit_us):
                return False
            self.check()
        return True

    def wreck(self, milliseconds):
        """The safety phase: load and faults."""
        end_us = self.world.now_us + milliseconds * 1000
        next_fault_us = self.world.now_us + 300_000
        while self.world.now_us < end_us:
            self.run_for(self.chance.between(5, 40))
            self.append_somewhere()
            if self.world.now_us >= next_fault_us:
                self.misfortune()
                next_fault_us = self.world.now_us + self.chance.between(30_000, 250_000)

    def settle(self):
        """The liveness phase: everything is healed; a leader is elected and commits, all of them learn it."""
        self.repair()
        if not self.run_until(self._agree, 20_000):
            raise Violation(f"no progress after the repair: {self.describe()}")
        known = len(self.acknowledged)
        self.append_somewhere()
        if not self.run_until(lambda: len(self.acknowledged) > known, 5000):
            raise Violation(f"nothing is committed after the repair: {self.describe()}")
        if not self.run_until(self._all_have_everything, 5000):
            self._raise_lost()

    def _has_leader(self):
        return any(member.is_started and member.client.is_leader for member in self.members.values())

    def _agree(self):
        clients = [member.client for member in self.members.values() if member.is_started]
        if len(clients) < len(self.members):
            return False
        ends = {(client.leader_and_epoch, client.high_watermark, client.log_end_offset) for client in clients}
        return len(ends) == 1 and clients[0].high_watermark == clients[0].log_end_offset > 0 and self._has_leader()

    def _all_have_everything(self):
        acknowledged = set(self.acknowledged)
        return all(member.is_started and acknowledged <= set(member.machine.values) for member in self.members.values())

    def describe(self):
        return {
            member.id: (
                member.client.core.role,
                member.client.high_watermark,
                member.client.log.end,
                str(member.client.log.snapshots),
            )
            if member.is_started
            else "down"
            for member in self.members.values()
        }

    # The invariants.

    def check(self):
        if self.failure is not None:
            raise Violation(f"a node stopped: {self.failure!r}") from self.failure
        for member in self.members.values():
            client = member.client
            if client is None:
                continue
            if not member.node.is_up:
                member.client = None  # its disk went down in the middle of an operation
            elif client.is_running:
                core, log = client.core, member.log.log
                if member.seen != (core.role, core.high_watermark, log.log_end_offset, log.log_start_offset):
                    self._check_member(member)

    def _check_member(self, member):
        core, log = member.client.core, member.log.log
        before = member.seen
        member.seen = (core.role, core.high_watermark, log.log_end_offset, log.log_start_offset)
        core.validate()
        self._check_role(member, before)
        self._check_high_watermark(member, before)
        self._check_start(member)

    def _check_role(self, member, before):
        core = member.client.core
        if core.epoch < member.told_epoch:
            raise Violation(f"C2: {member.id} has told of epoch {member.told_epoch} and is in {core.epoch}")
        if isinstance(core.role, Leader) and (before is None or core.role is not before[0]):
            self.elections += 1
            known = self.leaders.setdefault(core.epoch, member.id)
            if known != member.id:
                raise Violation(f"C1: {known} and {member.id} lead epoch {core.epoch}")
            needed = max((offset for epoch, offset in self.commits.items() if epoch < core.epoch), default=0)
            if member.client.log.end.offset < needed:
                raise Violation(f"C7: leader {member.id} of {core.epoch} ends at {member.client.log.end}, not {needed}")

    def _check_high_watermark(self, member, before):
        client = member.client
        if before is not None and client.high_watermark < before[1]:
            raise Violation(f"the high watermark of {member.id} goes back from {before[1]} to {client.high_watermark}")
        if client.log.log.high_watermark < client.high_watermark:
            return  # the effect is still to be done
        self._compare_committed(member)
        if isinstance(client.core.role, Leader) and client.core.role.high_watermark is not None:
            self._check_majority(member, client.core.role.high_watermark)
            self.commits[client.epoch] = max(self.commits.get(client.epoch, 0), client.core.role.high_watermark)
        self._acknowledge(member)

    def _check_majority(self, leader, offset):
        """C4, by the nodes that are up: one that is down counts as holding what it may hold."""
        holding = 0
        for member in self.members.values():
            if not member.is_started or member.client.log.flushed_offset >= offset:
                holding += 1
        if holding < self.voters.majority:
            raise Violation(f"C4: {leader.id} commits {offset}, {self.describe()}")
        if leader.client.log.epoch_before(offset) != leader.client.epoch:
            raise Violation(f"C4: {leader.id} commits a record of an older epoch by counting: {offset}")

    def _compare_committed(self, member):
        """C3: each batch below the high watermark is the same everywhere."""
        log = member.client.log.log
        offset = max(member.checked_offset, log.log_start_offset)
        disk = member.node.disk
        for segment in log.segments:
            following = log.segments.higher(segment.base_offset)
            if following is not None and following.base_offset <= offset:
                continue
            if offset >= log.high_watermark:
                break
            data = disk.read(segment.path(".log"))
            for batch in batches(data):
                if batch.base_offset < offset or batch.last_offset >= log.high_watermark:
                    continue
                checksum = zlib.crc32(batch.buffer)
                if self.committed.setdefault(batch.base_offset, checksum) != checksum:
                    raise Violation(f"C3: {member.id} has another batch at {batch.base_offset}")
                offset = batch.last_offset + 1
        member.checked_offset = max(member.checked_offset, offset)

    def _check_start(self, member):
        log = member.client.log
        start = log.log_start_offset
        names = member.node.disk.list(DIRECTORY)
        if start > 0 and not any(name.endswith(".checkpoint") and int(name[:20]) >= start for name in names):
            raise Violation(f"C5: the log of {member.id} begins at {start}: {names}")

    def _acknowledge(self, member):
        if not isinstance(member.client.core.role, Leader):
            return
        mine = (member.id, member.node.incarnation, member.client.epoch)
        done = [each for each in self.appended if each[:3] == mine and each[3] < member.client.high_watermark]
        for each in done:
            self.appended.remove(each)
            self.acknowledged.append(each[4])

    def _raise_lost(self):
        for member in self.members.values():
            lost = set(self.acknowledged) - set(member.machine.values)
            if lost:
                raise Violation(f"C7: {member.id} has lost {sorted(lost)}: {self.describe()}")
        raise Violation(f"a node does not come up: {self.describe()}")


async def _ignoring_end(work):
    """The machine may have moved on before the snapshot was asked for, and the log been cleaned past it."""
    try:
        await work
    except ValueError:
        return


def run(seed, milliseconds=2500):
    cluster = Cluster(seed, 5 if seed % 4 == 3 else 3)
    cluster.boot_all()
    cluster.run_for(400)
    cluster.wreck(milliseconds)
    cluster.settle()
    return cluster


if __name__ == "__main__":
    sys.stdout.write(run(int(sys.argv[1])).world.trace.digest())
