"""DescribeLogDirs and AlterReplicaLogDirs: what lies where, and how it moves."""

from errno import EIO

import pytest

from manager_kit import values
from odradek.log.failure import LogDamaged, LogDirFailure
from odradek.log.manager.log_dir import LookedAt
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.k34_alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from odradek.protocol.messages.k35_describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from odradek.protocol.messages.metadata_topics import PartitionRecord, TopicRecord
from odradek.replica.log_dirs import UNKNOWN_LAG
from odradek.replica.roles import Offline
from replica_kit import RealPlane, SimPlane

A, B = "data/a", "data/b"


@pytest.fixture
def plane():
    made = SimPlane(dirs=(A, B))
    made.create_topic("t", 2)
    for _ in range(3):
        made.produce("x" * 1000)
    return made


def is_offline(plane, index=0):
    return isinstance(plane.partition(index=index).role, Offline)


def describe(plane, topics=None, version=4):
    response = plane.ask(DescribeLogDirsRequest(topics=topics), version)
    assert response.error_code == 0
    return {result.log_dir: result for result in response.results}


def alter(plane, path, topic="t", index=0, version=2):
    request = AlterReplicaLogDirsRequest(
        dirs=[AlterReplicaLogDir(path=path, topics=[AlterReplicaLogDirTopic(name=topic, partitions=[index])])]
    )
    return plane.ask(request, version).results[0].partitions[0].error_code


def is_moving(plane):
    """Whether there is a copy that has not become the log."""
    return plane.logs.get_future("t", 0) is not None


def dir_of(plane, index=0):
    return plane.log(index=index).directory.rpartition("/")[0]


@pytest.mark.parametrize("version", range(1, 6))
def test_dirs_are_described(plane, version):
    found = describe(plane, version=version)
    assert list(found) == [A, B]
    here = found[dir_of(plane)]
    partition = here.topics[0].partitions[0]
    assert (here.topics[0].name, partition.partition_index) == ("t", 0)
    assert (partition.partition_size, partition.offset_lag, partition.is_future_key) == (plane.log().size, 0, False)
    if version >= 4:
        assert here.total_bytes >= here.usable_bytes > 0


def test_only_what_was_asked_for(plane):
    wanted = [DescribableLogDirTopic(topic="t", partitions=[1, 9]), DescribableLogDirTopic(topic="no", partitions=[0])]
    found = describe(plane, wanted)
    named = [
        (topic.name, each.partition_index)
        for dir_ in found.values()
        for topic in dir_.topics
        for each in topic.partitions
    ]
    assert named == [("t", 1)]


def test_a_failed_dir_is_told(plane):
    failed = dir_of(plane)
    plane.logs.handle_failure(LogDirFailure("it smells of smoke", failed))
    found = describe(plane)
    assert (found[failed].error_code, found[failed].topics) == (errors.KafkaStorageError.code, [])
    assert plane.fetch_one().error_code == errors.KafkaStorageError.code
    assert plane.produce("x").error_code == errors.KafkaStorageError.code
    assert is_offline(plane) and not is_offline(plane, 1)
    assert plane.produce("x", index=1).error_code == 0, "the other dir goes on"
    assert plane.metrics.find("kafka.server", "ReplicaManager", "OfflineReplicaCount").read() == 1


@pytest.fixture
def damaged():
    """Two partitions in one dir, and who waits for the one that is about to be set aside."""
    made = SimPlane(dirs=(A,))
    made.create_topic("t", 2)
    for index in range(2):
        made.produce("x" * 1000, index=index)
    return made


def set_aside(plane):
    plane.logs.handle_failure(LogDamaged("it has holes", plane.log().segments.first.path(".log"), 7))


def test_a_damaged_partition_is_told_and_the_other_of_its_dir_goes_on(damaged):
    size = damaged.log().size
    set_aside(damaged)
    (found,) = describe(damaged).values()
    told = [(each.partition_index, each.partition_size, each.offset_lag) for each in found.topics[0].partitions]
    assert found.error_code == 0 and told == [(0, size, UNKNOWN_LAG), (1, size, 0)]
    storage_error = errors.KafkaStorageError.code
    assert damaged.fetch_one().error_code == storage_error
    produced = damaged.produce("x")
    assert produced.error_code == storage_error and A not in (produced.error_message or "")
    assert alter(damaged, A) == storage_error
    assert damaged.produce("x", index=1).error_code == damaged.fetch_one(index=1).error_code == 0
    assert damaged.metrics.find("kafka.server", "ReplicaManager", "OfflineReplicaCount").read() == 1


def test_who_waits_for_a_damaged_partition_is_woken_and_told(damaged):
    request = damaged.fetch_request(("t", 0, 1), max_wait_ms=600_000)
    waiting = damaged.on_reactor(lambda: damaged.send(request, 12))
    assert not waiting.is_done
    set_aside(damaged)
    answer = damaged.decode(damaged.wait(waiting), request, 12)
    assert answer.responses[0].partitions[0].error_code == errors.KafkaStorageError.code


def test_a_damaged_partition_stays_so_when_its_metadata_changes(damaged):
    set_aside(damaged)
    record = PartitionRecord(partition_id=0, topic_id=damaged.topic_ids["t"], replicas=[1], isr=[1], leader=1)
    record.leader_epoch = record.partition_epoch = 4
    damaged.apply([record])
    assert damaged.produce("x").error_code == errors.KafkaStorageError.code


def test_a_topic_with_a_damaged_partition_can_be_deleted_and_made_again(damaged):
    set_aside(damaged)
    damaged.delete_topic("t")
    damaged.create_topic("t", 2)
    assert damaged.produce("anew").base_offset == 0
    assert not damaged.logs.dirs.by_path[A].set_aside_logs


def test_an_append_that_fails_takes_its_dir_offline(plane):
    plane.disk.fail("write", EIO, path=plane.log().directory)
    assert plane.produce("x").error_code == errors.KafkaStorageError.code
    assert is_offline(plane)


@pytest.mark.parametrize("assigned", [A, B])
def test_a_new_replica_goes_where_the_controller_has_assigned_it(assigned):
    plane = SimPlane(dirs=(A, B))
    ids = {A: Uuid(b"a" * 16), B: Uuid(b"b" * 16)}
    plane.restart(looked_at={path: LookedAt(directory_id) for path, directory_id in ids.items()})
    plane.logs = plane.manager
    plane.put_together()
    topic_id = Uuid(b"t" * 16)
    records = [
        PartitionRecord(partition_id=index, topic_id=topic_id, replicas=[1], isr=[1], leader=1) for index in range(4)
    ]
    for record in records:
        record.directories = [ids[assigned]]
    plane.apply([TopicRecord(name="t", topic_id=topic_id), *records])
    assert {dir_of(plane, index) for index in range(4)} == {assigned}


def test_a_replica_moves(plane):
    source = dir_of(plane)
    target = B if source == A else A
    before = values(plane.log())
    assert alter(plane, target) == 0
    assert is_moving(plane)
    plane.world.run_until(lambda: not is_moving(plane))
    assert dir_of(plane) == target
    assert values(plane.log()) == before
    assert plane.produce("after").base_offset == 3
    assert plane.fetch_one(offset=3).error_code == 0
    assert (plane.log().high_watermark, plane.log().log_end_offset) == (4, 4)


def test_a_replica_moves_while_it_is_written_to(plane):
    target = B if dir_of(plane) == A else A
    assert alter(plane, target) == 0
    number = 3
    while is_moving(plane):
        answer = plane.produce("y")
        assert (answer.error_code, answer.base_offset) == (0, number)
        number += 1
        plane.sleep(1)
        assert number < 1000
    assert dir_of(plane) == target and plane.log().log_end_offset == number


def test_a_long_poll_outlives_the_move(plane):
    target = B if dir_of(plane) == A else A
    request = plane.fetch_request(("t", 0, 3), max_wait_ms=60_000)
    waiting = plane.on_reactor(lambda: plane.send(request, 12))
    alter(plane, target)
    plane.world.run_until(lambda: not is_moving(plane))
    plane.produce("news")
    response = plane.decode(plane.wait(waiting), request, 12)
    assert len(response.responses[0].partitions[0].records)


def test_a_copy_under_way_is_described_and_given_up(plane):
    source = dir_of(plane)
    target = B if source == A else A
    plane.replicas.mover.update_throttle(10)
    assert alter(plane, target) == 0
    future = [each for topic in describe(plane)[target].topics for each in topic.partitions if each.is_future_key]
    assert [each.offset_lag for each in future] == [3]
    assert alter(plane, source) == 0, "back to where it is"
    plane.sleep(60_000)
    assert dir_of(plane) == source and plane.logs.get_future("t", 0) is None


def test_a_move_goes_on_after_a_restart(plane):
    source = dir_of(plane)
    target = B if source == A else A
    plane.replicas.mover.update_throttle(10)
    assert alter(plane, target) == 0
    image, ids = plane.image, plane.topic_ids
    began_ms = plane.loop.ports.clock.mono_ms()
    plane.run(plane.replicas.stop())
    assert plane.loop.ports.clock.mono_ms() - began_ms < 1000, "a stop does not wait for the throttle"
    plane.restart()
    plane.logs = plane.manager
    plane.put_together()
    plane.topic_ids = ids
    plane.apply([record for topic in image.topics.by_id.values() for record in topic.records(30, has_elr=False)])
    plane.world.run_until(lambda: not is_moving(plane))
    assert dir_of(plane) == target and plane.log().log_end_offset == 3


def test_what_cannot_be_moved(plane):
    assert alter(plane, "/nope") == errors.LogDirNotFound.code
    assert alter(plane, B, topic="nope") == errors.UnknownTopicOrPartition.code
    failed = dir_of(plane, 1)
    other = B if failed == A else A
    plane.logs.handle_failure(LogDirFailure("it smells of smoke", failed))
    assert alter(plane, failed) == errors.KafkaStorageError.code
    assert alter(plane, other, index=1) == errors.KafkaStorageError.code


def test_a_replica_that_comes_later_goes_where_it_was_asked_to(plane):
    assert alter(plane, B, topic="later") == errors.UnknownTopicOrPartition.code
    assert alter(plane, B, topic="later", index=1) == errors.UnknownTopicOrPartition.code
    plane.create_topic("later", 2)
    assert {plane.log("later", index).directory.rpartition("/")[0] for index in range(2)} == {B}


def test_on_real_disks(tmp_path):
    plane = RealPlane(tmp_path / "a", tmp_path / "b")
    plane.create_topic("t")
    for _ in range(30):
        plane.produce("x" * 100_000)
    source = plane.log().directory
    target = str(tmp_path / ("b" if "/a/" in source else "a"))
    assert alter(plane, target) == 0
    while is_moving(plane):
        plane.loop.turn(1000)
    assert plane.log().directory.startswith(target) and plane.log().log_end_offset == 30
    found = describe(plane)[target]
    assert found.total_bytes > found.usable_bytes > 0
    plane.close()


def test_who_may(plane):
    class Deny:
        def authorize(self, call, operation, resource_type, name):
            return False

    plane.services.authorizer = Deny()
    response = plane.ask(DescribeLogDirsRequest(topics=None), 4)
    assert (response.error_code, response.results) == (errors.ClusterAuthorizationFailed.code, [])
    assert alter(plane, B) == errors.ClusterAuthorizationFailed.code
