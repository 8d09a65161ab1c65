"""Metadata becomes replicas: topics come, change their leaders, and go."""

from errno import EIO

import pytest

from manager_kit import values
from odradek.protocol import errors
from odradek.protocol.messages.metadata_topics import PartitionChangeRecord
from odradek.replica.roles import Offline
from replica_kit import NODE, SimPlane


@pytest.fixture
def plane():
    return SimPlane(dirs=("data/a", "data/b"))


def change(plane, name="t", index=0, **fields):
    plane.apply([PartitionChangeRecord(topic_id=plane.topic_ids[name], partition_id=index, **fields)])


def test_a_new_topic_is_led_and_writable(plane):
    plane.create_topic("t", 3)
    assert [partition.leader is not None for partition in plane.replicas.partitions()] == [True] * 3
    assert plane.replicas.resolve(plane.topic_ids["t"], 2) is plane.partition(index=2)
    assert plane.produce("a").error_code == 0


def test_a_partition_is_not_served_before_its_log_is_open(plane):
    from odradek.metadata.delta import MetadataDelta
    from odradek.protocol.declare import Uuid
    from odradek.protocol.messages.metadata_topics import PartitionRecord, TopicRecord

    topic_id = Uuid(b"0123456789abcdef")
    plane.topic_ids["t"] = topic_id
    delta = MetadataDelta(plane.image)
    delta.replay(TopicRecord(name="t", topic_id=topic_id))
    delta.replay(PartitionRecord(partition_id=0, topic_id=topic_id, replicas=[NODE], isr=[NODE], leader=NODE))
    task = plane.spawn(plane.replicas.apply(delta, delta.apply(1, 1)))
    assert not task.is_done
    assert plane.produce("a").error_code == errors.NotLeaderOrFollower.code
    assert plane.fetch_one().error_code == errors.NotLeaderOrFollower.code
    plane.world.run_until(lambda: task.is_done)
    assert plane.produce("a").error_code == 0


@pytest.mark.contract("F13")
def test_a_topic_without_a_replica_here_is_only_known(plane):
    plane.create_topic("t", replicas=(2, 3), leader=2)
    assert plane.partition() is None
    assert plane.produce("a").error_code == errors.NotLeaderOrFollower.code
    assert plane.fetch_one(version=13).error_code == errors.NotLeaderOrFollower.code
    assert plane.produce("a", topic="nope").error_code == errors.UnknownTopicOrPartition.code


def test_a_new_leader_epoch_begins_at_the_end_of_the_log(plane):
    plane.create_topic("t")
    plane.produce("a", "b")
    change(plane, leader=NODE)
    assert plane.partition().leader_epoch == 1
    assert plane.log().epochs.entries == [(0, 0), (1, 2)]
    assert plane.fetch_one(offset=2, current_leader_epoch=0).error_code == errors.FencedLeaderEpoch.code


def test_a_change_of_the_isr_keeps_the_epoch(plane):
    plane.create_topic("t", replicas=(1, 2))
    plane.produce("a", acks=1)
    assert plane.log().high_watermark == 0
    change(plane, isr=[1])
    assert (plane.partition().isr, plane.partition().leader_epoch) == ((1,), 0)
    assert plane.log().high_watermark == 0, "2 may still be about to join"
    plane.sleep(60_000)
    change(plane, isr=[1])
    assert plane.log().high_watermark == 1, "it had its time"


def test_leadership_goes_and_comes_back(plane):
    plane.create_topic("t", replicas=(1, 2))
    change(plane, leader=2)
    assert plane.partition().leader is None
    assert plane.produce("a").error_code == errors.NotLeaderOrFollower.code
    change(plane, leader=1)
    assert plane.produce("a", acks=1).error_code == 0


def test_a_replica_that_moves_away_is_deleted(plane):
    plane.create_topic("t")
    directory = plane.log().directory
    change(plane, replicas=[2], isr=[2], leader=2)
    assert plane.partition() is None and plane.logs.get("t", 0) is None
    assert directory.rpartition("/")[2] not in plane.names(directory.rpartition("/")[0])


def test_a_deleted_topic_frees_the_disk(plane):
    plane.create_topic("t", 2, file_delete_delay_ms=1000)
    plane.produce("x" * 1000)
    before = len(plane.files("data"))
    plane.delete_topic("t")
    assert plane.produce("a").error_code == errors.UnknownTopicOrPartition.code
    assert plane.replicas.topics == {} and plane.replicas.by_id == {}
    plane.sleep(60_000)
    assert not [name for name in plane.files("data") if "/t-" in name]
    assert len(plane.files("data")) < before
    assert plane.metrics.find("kafka.server", "BrokerTopicMetrics", "BytesInPerSec", {"topic": "t"}) is None


def test_a_topic_made_again_in_the_same_delta_has_a_new_log(plane):
    from odradek.protocol.declare import Uuid
    from odradek.protocol.messages.metadata_topics import PartitionRecord, RemoveTopicRecord, TopicRecord

    plane.create_topic("t")
    plane.produce("old")
    new_id = Uuid(b"0123456789abcdef")
    plane.apply(
        [
            RemoveTopicRecord(topic_id=plane.topic_ids["t"]),
            TopicRecord(name="t", topic_id=new_id),
            PartitionRecord(partition_id=0, topic_id=new_id, replicas=[NODE], isr=[NODE], leader=NODE),
        ]
    )
    plane.topic_ids["t"] = new_id
    assert plane.log().log_end_offset == 0
    plane.produce("new")
    assert values(plane.log()) == ["new"]


def test_one_that_is_deleted_while_it_is_made_leaves_nothing(plane):
    from odradek.metadata.delta import MetadataDelta
    from odradek.protocol.declare import Uuid
    from odradek.protocol.messages.metadata_topics import PartitionRecord, RemoveTopicRecord, TopicRecord

    topic_id = Uuid(b"0123456789abcdef")
    made = MetadataDelta(plane.image)
    made.replay(TopicRecord(name="t", topic_id=topic_id))
    for index in range(200):
        made.replay(PartitionRecord(partition_id=index, topic_id=topic_id, replicas=[NODE], isr=[NODE], leader=NODE))
    image = made.apply(1, 1)
    creating = plane.spawn(plane.replicas.apply(made, image))
    gone = MetadataDelta(image)
    gone.replay(RemoveTopicRecord(topic_id=topic_id))
    deleting = plane.spawn(plane.replicas.apply(gone, gone.apply(2, 1)))
    plane.world.run_until(lambda: creating.is_done and deleting.is_done)
    assert plane.logs.current == {} and plane.replicas.topics == {}


def test_a_dir_that_fails_while_a_log_is_made(plane):
    plane.disk.fail("mkdir", EIO, path="data/a", times=None)
    plane.create_topic("t", 4)
    online = [partition.index for partition in plane.replicas.partitions() if not isinstance(partition.role, Offline)]
    assert 0 < len(online) < 4
    assert plane.produce("a", index=online[0]).error_code == 0
    offline = next(partition.index for partition in plane.replicas.partitions() if isinstance(partition.role, Offline))
    assert plane.produce("a", index=offline).error_code == errors.KafkaStorageError.code


def test_high_watermarks_are_written_down_and_read_again(plane):
    plane.create_topic("t")
    plane.produce("a", "b")
    plane.run(plane.replicas.stop())
    plane.stop()
    path = plane.logs.dirs.by_path["data/a"].path
    checkpoints = [plane.disk.read(f"{each}/replication-offset-checkpoint") for each in ("data/a", "data/b")]
    assert b"t 0 2" in b"".join(checkpoints), path


def test_after_a_restart_everything_is_led_again(plane):
    plane.create_topic("t", 3)
    plane.produce("a", index=1)
    ids, image = plane.topic_ids, plane.image
    plane.run(plane.replicas.stop())
    plane.restart()
    plane.logs = plane.manager
    plane.put_together()
    plane.topic_ids = ids
    from odradek.metadata.delta import MetadataDelta
    from odradek.metadata.image import EMPTY

    delta = MetadataDelta(EMPTY)
    for topic in image.topics.by_id.values():
        for record in topic.records(30, has_elr=False):
            delta.replay(record)
    plane.image = delta.apply(1, 1)
    plane.run(plane.replicas.apply(delta, plane.image))
    assert values(plane.log(index=1)) == ["a"]
    assert plane.log(index=1).high_watermark == 1
    assert plane.produce("b", index=1).base_offset == 1


def test_topic_configs_take_effect_at_once(plane):
    plane.create_topic("t", min_insync_replicas=1)
    plane.logs.update_topic_config("t", {"min.insync.replicas": "3"})
    plane.replicas.update_topic_config("t")
    assert plane.replicas.topics["t"].config.min_insync_replicas == 3


def test_proposals_go_to_the_controller():
    proposals = []
    plane = SimPlane(options={"propose": lambda partition, proposal: proposals.append((partition.name, proposal.isr))})
    plane.create_topic("t", replicas=(1, 2))
    plane.sleep(plane.replicas.config.lag_time_max_ms + 1)
    plane.produce("a", acks=1)
    plane.replicas.shrink_isrs()
    assert proposals == [("t-0", (1,))]
    plane.partition().leader.isr.committed((1,), 1)
    plane.fetch_one(offset=1, replica_id=2)
    assert proposals[1:] == [("t-0", (1, 2))]


def test_gauges(plane):
    plane.create_topic("t", 3)
    plane.create_topic("r", replicas=(1, 2), isr=(1,))

    def gauge(name):
        return plane.metrics.find("kafka.server", "ReplicaManager", name).read()

    assert (gauge("PartitionCount"), gauge("LeaderCount")) == (4, 4)
    assert (gauge("UnderReplicatedPartitions"), gauge("OfflineReplicaCount")) == (1, 0)
    assert (gauge("UnderMinIsrPartitionCount"), gauge("AtMinIsrPartitionCount")) == (0, 4)


def test_every_metric_of_a_partition_is_collected(plane):
    plane.create_topic("t", retention_bytes=1000)
    plane.produce("x" * 400)
    tags = (("topic", "t"), ("partition", "0"))
    found = {name.name: metric.read() for name, metric in plane.metrics if name.tags == tags}
    assert found == {
        "UnderReplicated": 0,
        "InSyncReplicasCount": 1,
        "UnderMinIsr": 0,
        "AtMinIsr": 1,
        "ReplicasCount": 1,
        "LastStableOffsetLag": 0,
        "RetentionSizeInPercent": plane.log().size // 10,
    }


@pytest.mark.contract("F27")
def test_a_disk_that_fails_under_a_fetch_takes_its_dir_offline(plane):
    plane.create_topic("t")
    plane.produce("a")
    plane.disk.fail("read", EIO, times=None)
    assert plane.fetch_one(offset=0).error_code == errors.KafkaStorageError.code
    assert isinstance(plane.partition().role, Offline)
