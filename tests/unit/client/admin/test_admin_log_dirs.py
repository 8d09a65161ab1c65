"""What lies in the log dirs of a broker that has two, and replicas moved between them."""

import pytest
from admin_kit import kinds, until

from odradek import TopicPartition, errors
from odradek.client.admin.log_dirs import ReplicaInfo, ReplicaLogDirInfo, TopicPartitionReplica
from odradek.testing import Broker

NODE = 1
NOWHERE = ReplicaLogDirInfo(None, -1, None, -1)


@pytest.fixture(scope="module")
def dirs(tmp_path_factory):
    return {str(tmp_path_factory.mktemp(name)) for name in ("first", "second")}


@pytest.fixture(scope="module")
def broker(dirs):
    with Broker(thread=True, config={"log.dirs": ",".join(sorted(dirs))}) as running:
        yield running


def test_the_dirs_of_a_broker_with_the_replicas_in_them(admin, dirs):
    admin.create_topic("described", partitions=2)
    found = admin.describe_log_dirs([NODE])[NODE]
    assert set(found) == dirs
    replicas = {place: info for each in found.values() for place, info in each.replicas.items()}
    assert replicas[TopicPartition("described", 0)] == ReplicaInfo(size_bytes=0, offset_lag=0, is_future=False)
    assert replicas[TopicPartition("described", 1)] == ReplicaInfo(size_bytes=0, offset_lag=0, is_future=False)
    for each in found.values():
        assert each.error is None and not each.is_cordoned
        assert 0 < each.usable_bytes <= each.total_bytes


def test_a_broker_that_is_not_there_has_an_error_of_its_own(admin, dirs):
    found = admin.describe_log_dirs([NODE, 99], timeout=1)
    assert set(found[NODE]) == dirs
    assert kinds(found) == {99: errors.RequestTimedOut}
    assert "node 99 is not known" in found.errors[99].message


def test_where_a_replica_lies(admin, dirs):
    admin.create_topic("placed", partitions=1)
    there, missing = TopicPartitionReplica("placed", 0, NODE), TopicPartitionReplica("nothing", 0, NODE)
    found = admin.describe_replica_log_dirs([there, missing])
    assert found[there].current_log_dir in dirs
    assert found[there]._replace(current_log_dir=None) == NOWHERE._replace(current_offset_lag=0)
    assert found[missing] == NOWHERE


def test_a_replica_moves_to_the_dir_that_it_is_given(admin, dirs):
    admin.create_topic("moved", partitions=1)
    replica = TopicPartitionReplica("moved", 0, NODE)

    def place():
        return admin.describe_replica_log_dirs([replica])[replica].current_log_dir

    (other,) = dirs - {place()}
    assert admin.alter_replica_log_dirs({replica: other})[replica] is None
    until(lambda: place() == other)


def test_moves_that_cannot_be_made(admin, dirs):
    admin.create_topic("stays", partitions=1)
    stays, missing = TopicPartitionReplica("stays", 0, NODE), TopicPartitionReplica("nothing", 0, NODE)
    altered = admin.alter_replica_log_dirs({stays: "/not/a/dir/of/it", missing: min(dirs)})
    assert kinds(altered) == {stays: errors.LogDirNotFound, missing: errors.UnknownTopicOrPartition}


def test_a_refusal_is_that_of_the_broker(admin, broker):
    with broker.faults.on("DescribeLogDirs").error("POLICY_VIOLATION"):
        assert kinds(admin.describe_log_dirs([NODE])) == {NODE: errors.PolicyViolation}
        replica = TopicPartitionReplica("stays", 0, NODE)
        assert kinds(admin.describe_replica_log_dirs([replica])) == {replica: errors.PolicyViolation}
