"""A controller on a real quorum of one, on a simulated disk that forgets what was not synced.

Acknowledged metadata survives every crash; producer ids are never issued twice; leader epochs grow with each
incarnation of the broker, so that clients can see a lost tail.
"""

from typing import Any

import pytest

from controllers import CLUSTER_ID, Harness, state_of
from odradek.config import broker as broker_configs
from odradek.controller.config import ControllerConfig, SnapshotConfig
from odradek.controller.quorum_controller import QuorumController
from odradek.controller.snapshots import SnapshotGenerator
from odradek.metadata.loader import MetadataLoader
from odradek.metadata.versions import METADATA_VERSION
from odradek.protocol import releases
from odradek.protocol.messages.k63_broker_heartbeat import BrokerHeartbeatRequest
from odradek.protocol.messages.k67_allocate_producer_ids import AllocateProducerIdsRequest
from odradek.protocol.messages.metadata_cluster import FeatureLevelRecord
from odradek.raft.client import RaftClient
from odradek.raft.config import RaftConfig
from odradek.raft.core.voters import Voter, VoterEndpoint, VoterSet
from odradek.raft.keys import ReplicaKey
from odradek.raft.settings import RaftSettings
from odradek.reactor.jobs import JobQueue
from odradek.replicated import runtime
from odradek.sim.world import World

DIRECTORY = "data/__cluster_metadata-0"


class Node:
    """One incarnation after the other of a process with a quorum and a controller."""

    def __init__(self, seed: int, release: Any = releases.RELEASE_4_3, **configs: str) -> None:
        self.world = World(seed)
        self.node = self.world.node("n1")
        self.release = release
        self.static = {**Harness.STATIC, **configs}
        self.incarnation = 0
        self.failures: list[BaseException] = []
        self.node.disk.mkdir("data")
        self.node.disk.fsync_dir("")

    def start(self) -> None:
        self.incarnation += 1
        self.loop = self.node.boot()
        parsed = broker_configs.TABLE.parse(self.static, self.release.name)
        voters = VoterSet([Voter(id=1, endpoints=(VoterEndpoint("CONTROLLER", "127.0.0.1", 9093),))])
        self.raft = RaftClient(
            self.loop,
            JobQueue(self.loop),
            RaftSettings(DIRECTORY, ReplicaKey(1), CLUSTER_ID, voters, RaftConfig.from_config(parsed)),
            on_fatal=self.failures.append,
        )
        self.loader = MetadataLoader(self.loop, high_watermark=lambda: self.raft.high_watermark)
        self.snapshots = SnapshotGenerator(self.loop, self.raft, self.release, SnapshotConfig.from_config(parsed))
        self.loader.add_publisher(self.snapshots)
        level = self.release.finalized_at_format[METADATA_VERSION]
        self.controller = QuorumController(
            self.loop,
            self.raft,
            node_id=1,
            cluster_id=CLUSTER_ID,
            release=self.release,
            static_configs=self.static,
            config=ControllerConfig.from_config(parsed),
            bootstrap=[(FeatureLevelRecord(name=METADATA_VERSION, feature_level=level), 0)],
            on_fault=self.failures.append,
            is_own_lock_held=lambda: True,
        )
        self.done(self.loop.spawn(self.raft.start()))
        self.raft.register(self.loader)
        self.controller.start()
        self.done(self.controller.until_active())

    def done(self, pending: Any, limit_ms: int = 60_000) -> Any:
        pending.is_observed = True
        self.node.attend()
        assert self.world.run_until(lambda: pending.is_done, limit_ms), "no answer in time"
        return pending.value()

    def run(self, event: Any) -> Any:
        return self.done(self.controller.run(event))

    def join(self) -> None:
        """The broker of this process registers and is unfenced."""
        request = Harness.request_to_register(self.release, 1, self.incarnation)
        self.epoch = self.done(self.controller.register_broker(request)).broker_epoch
        assert not self.beat().is_fenced

    def beat(self) -> Any:
        request = BrokerHeartbeatRequest(
            broker_id=1, broker_epoch=self.epoch, current_metadata_offset=self.raft.log_end_offset
        )
        return self.done(self.controller.heartbeat(request))

    def create(self, name: str, partitions: int = 1) -> Any:
        return self.run(lambda core: core.create_topics(Harness.request_to_create(name, partitions))).topics[0]

    def allocate(self) -> int:
        request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=self.epoch)
        return int(self.run(lambda core: core.allocate_producer_ids(request)).producer_id_start)


@pytest.mark.parametrize("release", releases.ALL, ids=lambda release: release.name)
def test_what_was_acknowledged_survives_the_power(release: Any) -> None:
    node = Node(5, release)
    node.start()
    node.join()
    topic = node.create("t", 3)
    assert topic.error_code == 0
    before = state_of(node.controller.core)["topics"]
    node.node.crash()
    node.start()
    assert state_of(node.controller.core)["topics"] == before
    assert node.failures == []


def test_leader_epochs_grow_with_every_incarnation() -> None:
    node = Node(6)
    node.start()
    node.join()
    node.create("t", 2)
    epochs = []
    for _ in range(3):
        epochs.append([p.leader_epoch for p in node.controller.core.topics.by_name["t"].partitions.values()])
        node.node.crash()
        node.start()
        node.join()  # at once: nobody waits for a session to run out
        assert [p.leader for p in node.controller.core.topics.by_name["t"].partitions.values()] == [1, 1]
        node.controller.core.validate()
    assert epochs == [[0, 0], [2, 2], [4, 4]], "down once, up once per incarnation"


def test_the_image_of_the_broker_is_the_state_of_the_controller() -> None:
    node = Node(7)
    node.start()
    node.join()
    for number in range(20):
        node.create(f"t{number}", 3)
    assert node.world.run_until(lambda: node.loader.image.offset + 1 >= node.raft.high_watermark, 60_000)
    core, image = node.controller.core, node.loader.image
    assert {topic.name for topic in image.topics.by_name.values()} == set(core.topics.by_name)
    for name, topic in core.topics.by_name.items():
        for index, partition in topic.partitions.items():
            seen = image.topics.by_name[name].partitions[index]
            assert (tuple(seen.replicas), tuple(seen.isr), seen.leader, seen.leader_epoch, seen.partition_epoch) == (
                partition.replicas,
                partition.isr,
                partition.leader,
                partition.leader_epoch,
                partition.partition_epoch,
            )


def test_no_op_records_keep_an_idle_log_moving() -> None:
    node = Node(8)
    node.start()
    end = node.raft.log_end_offset
    node.world.run_for(5_000)
    assert 8 <= node.raft.log_end_offset - end <= 11, "one per half a second"


def test_snapshots_are_taken_and_loaded() -> None:
    node = Node(9, **{"metadata.log.max.record.bytes.between.snapshots": "3000"})
    node.start()
    node.join()
    for number in range(40):
        node.create(f"t{number}", 2)
    assert node.world.run_until(lambda: node.snapshots.written >= 2, 60_000), "no snapshot was taken"
    node.create("last")
    before = state_of(node.controller.core)["topics"]
    node.node.crash()
    node.start()
    assert node.raft.latest_snapshot_id is not None
    assert state_of(node.controller.core)["topics"] == before
    node.join()
    node.controller.core.validate()


def test_the_time_until_the_next_snapshot_counts_from_the_last() -> None:
    node = Node(10, **{"metadata.log.max.snapshot.interval.ms": "60000"})
    node.start()
    written = []
    for _ in range(5):
        node.world.run_for(40_000)  # with a record every half a second
        written.append(node.snapshots.written)
    assert written == [0, 1, 1, 2, 3]


def test_what_is_cleaned_away_does_not_put_the_next_snapshot_off() -> None:
    """Ten thousand bytes are due for a snapshot, whether or not the log has become shorter in between."""
    node = Node(
        11,
        **{
            "metadata.log.max.record.bytes.between.snapshots": "10000",
            "internal.metadata.log.segment.bytes": "4000",
            "metadata.max.retention.ms": "30000",
            "metadata.max.idle.interval.ms": "0",
        },
    )
    node.start()
    node.join()

    def grow() -> None:
        """By about eleven thousand bytes."""
        for _ in range(67):
            assert node.create(f"t{node.raft.log_end_offset}").error_code == 0
        node.world.run_for(1000)

    for count in (1, 2):
        grow()
        assert node.snapshots.written == count
    long_ago = node.raft.log.log.size
    for _ in range(24):
        node.world.run_for(5_000)
        node.beat()
    assert node.raft.log.log.size < long_ago - 8_000, "the log below the oldest snapshot is gone"
    grow()
    assert node.snapshots.written == 3


@pytest.mark.parametrize("records_per_step", [runtime.RECORDS_PER_STEP, 1])
@pytest.mark.parametrize("seed", range(12))
def test_crashes_at_any_time(seed: int, records_per_step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Producer ids are issued once; an acknowledged topic stays; any other is there or not, never in half."""
    monkeypatch.setattr(runtime, "RECORDS_PER_STEP", records_per_step)
    node = Node(100 + seed, **{"metadata.log.max.record.bytes.between.snapshots": "4000"})
    draw = node.world.rng.stream("test")
    acknowledged: set[str] = set()
    issued: set[int] = set()
    for life in range(6):
        node.start()
        node.join()
        assert acknowledged <= set(node.controller.core.topics.by_name)
        pending = []
        for number in range(draw.below(12)):
            name = f"life{life}-{number}"
            request = Harness.request_to_create(name, 2)
            pending.append((name, node.controller.run(lambda core, request=request: core.create_topics(request))))
            if draw.below(3) == 0:
                start = node.allocate()
                assert start not in issued
                issued.add(start)
        node.node.attend()
        node.world.run_for(draw.below(4))
        acknowledged |= {name for name, answer in pending if answer.is_done and answer.error is None}
        node.node.crash()
    node.start()
    topics = node.controller.core.topics.by_name
    assert acknowledged <= set(topics)
    assert all(len(topic.partitions) == 2 for topic in topics.values())
    assert node.failures == []
