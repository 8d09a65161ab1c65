"""What tests of the quorum need: a core on a log that is only numbers, and a sole voter on a simulated node."""

from odradek.config.broker import TABLE
from odradek.protocol.messages.metadata_cluster import FeatureLevelRecord
from odradek.raft.client import RaftClient
from odradek.raft.config import RaftConfig
from odradek.raft.core.raft_core import RaftCore
from odradek.raft.core.voters import Voter, VoterSet
from odradek.raft.keys import NO_DIRECTORY, OffsetAndEpoch, ReplicaKey
from odradek.raft.settings import RaftSettings
from odradek.reactor.jobs import JobQueue
from odradek.sim.rng import SimRng
from odradek.sim.world import World

DIRECTORY = "data/__cluster_metadata-0"
NOW = 1_000_000


def raft_config(**changes):
    properties = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.listener.names": "C",
        "listeners": "PLAINTEXT://:1,C://:2",
        "controller.quorum.voters": "1@h:2",
    }
    return RaftConfig.from_config(TABLE.parse(properties)).replace(**changes)


def voter_set(count):
    return VoterSet(Voter(node_id) for node_id in range(1, count + 1))


class FakeLog:
    """Epochs by offset; `flushed_offset` moves when a test says so. The facts of a log, without its bytes."""

    def __init__(self, epochs=()):
        self.epochs = list(epochs)  # of each record
        self.log_start_offset = 0
        self.flushed_offset = len(self.epochs)
        self.snapshots = []

    @property
    def end(self):
        if self.epochs:
            return OffsetAndEpoch(self.log_start_offset + len(self.epochs), self.epochs[-1])
        return self.snapshots[-1] if self.snapshots else OffsetAndEpoch(0, 0)

    @property
    def earliest_snapshot_id(self):
        return self.snapshots[0] if self.snapshots else None

    @property
    def latest_snapshot_id(self):
        return self.snapshots[-1] if self.snapshots else None

    def end_offset_for_epoch(self, epoch):
        known = [at for at, found in enumerate(self.epochs) if found <= epoch]
        if not known:
            earliest = self.earliest_snapshot_id
            return earliest if earliest == OffsetAndEpoch(self.log_start_offset, epoch) else self.end
        return OffsetAndEpoch(self.log_start_offset + known[-1] + 1, self.epochs[known[-1]])

    def append(self, epoch, count=1, *, is_flushed=True):
        self.epochs += [epoch] * count
        if is_flushed:
            self.flush()

    def flush(self):
        self.flushed_offset = self.end.offset

    def truncate(self, offset):
        del self.epochs[offset - self.log_start_offset :]
        self.flushed_offset = min(self.flushed_offset, offset)

    def start_at(self, snapshot_id):
        self.snapshots, self.epochs = [snapshot_id], []
        self.log_start_offset = self.flushed_offset = snapshot_id.offset


def new_core(me=1, voters=3, epochs=(), state=None, **options):
    log = FakeLog(epochs)
    config = raft_config(
        election_timeout_ms=1000, fetch_timeout_ms=2000, election_backoff_max_ms=1000, retry_backoff_ms=20
    )
    draws = SimRng(1).stream("raft")
    return RaftCore(ReplicaKey(me), voter_set(voters), log, config, draws, state, NOW, **options)


def record(name):
    return FeatureLevelRecord(name=name, feature_level=1), 0


class Recorder:
    """A listener that keeps what it is told."""

    def __init__(self):
        self.values = []
        self.told = []
        self.offset = 0
        self.epoch = 0

    def handle_commit(self, batch):
        assert batch.base_offset == self.offset
        self.values += [each.name for each in batch.records]
        self.offset, self.epoch = batch.last_offset + 1, batch.epoch
        self.told.append(("commit", batch.base_offset, batch.last_offset))

    def handle_load_snapshot(self, snapshot):
        self.values = [each.name for records in snapshot.batches for each in records]
        self.offset, self.epoch = snapshot.offset, snapshot.epoch
        self.told.append(("snapshot", snapshot.offset, snapshot.epoch))

    def handle_leader_change(self, leader_id, epoch):
        self.told.append(("leader", leader_id, epoch))


class Deaf:
    """The way to other voters, none of which ever answers."""

    def __init__(self, node):
        self.node = node

    def send(self, voter, request, version):
        return self.node.client.loop.pending()

    def close(self):
        pass


class Node:
    """A sole voter on a simulated node."""

    def __init__(self, seed=1, disk_dir="data", voters=None, connect=None, **changes):
        self.world = World(seed)
        self.node = self.world.node("n1")
        self.node.disk.mkdir(disk_dir)
        self.node.disk.fsync_dir("")
        self.voters = voters or voter_set(1)
        self.connect = connect or (lambda: Deaf(self))
        self.config = raft_config(**changes)
        self.failures = []

    def boot(self, directory_id=NO_DIRECTORY, **options):
        loop = self.node.boot()
        settings = RaftSettings(DIRECTORY, ReplicaKey(1, directory_id), "cluster", self.voters, self.config)
        self.client = RaftClient(
            loop, JobQueue(loop), settings, connect=self.connect, on_fatal=self.failures.append, **options
        )
        self.listener = Recorder()
        self.client.register(self.listener)
        return self.client

    def start(self, **options):
        self.boot(**options)
        self.run(self.client.start())
        return self.client

    def run(self, work):
        """The result of a coroutine, run on the node."""
        return self.wait(self.node.loop.spawn(work))

    def wait(self, pending):
        pending.is_observed = True
        self.node.attend()
        assert self.world.run_until(lambda: pending.is_done, 60_000), "it does not end"
        return pending.value()

    def call(self, function):
        """Runs it in an event of the node, so that the loop is turned behind it."""
        found = []
        self.node.after(0, lambda: found.append(function()))
        assert self.world.run_until(lambda: found)
        self.node.attend()
        return found[0]

    def append(self, *names):
        client = self.client
        offset = self.call(lambda: client.append(client.epoch, [record(name) for name in names]))
        assert self.world.run_until(lambda: self.listener.offset > offset)
        return offset

    def snapshot(self):
        listener = self.listener
        records = [record(name) for name in listener.values]
        return self.run(self.client.create_snapshot(listener.offset, listener.epoch, records))

    def files(self):
        return self.node.disk.list(DIRECTORY)

    def crash(self, profile):
        self.node.crash(profile)
