"""The roles of a partition: each event leads to the role that it should, and what a request hears follows from it."""

from errno import EIO

import pytest

from log_kit import batch
from odradek.broken_rule import BrokenRuleError
from odradek.log.failure import LogDamaged
from odradek.protocol import errors
from odradek.protocol.messages.metadata_topics import PartitionChangeRecord
from odradek.replica.isr import Isr
from odradek.replica.leader import Leader
from odradek.replica.partition import Partition
from odradek.replica.roles import DAMAGED, DIR_FAILED, OPENING, REMOVED, Follower
from replica_kit import SimPlane


@pytest.fixture
def plane():
    made = SimPlane(dirs=("data/a", "data/b"))
    made.create_topic(leader_epoch=3)
    return made


def change(plane, **fields):
    plane.apply([PartitionChangeRecord(topic_id=plane.topic_ids["t"], partition_id=0, **fields)])


def refusal(partition, epoch=-1):
    with pytest.raises(errors.KafkaError) as caught:
        partition.leading(epoch)
    return type(caught.value)


def test_a_partition_begins_without_a_log(plane):
    made = Partition(plane.replicas.topics["t"], 1)
    assert (made.role, made.leader, made.log) == (OPENING, None, None)
    assert refusal(made) is errors.NotLeaderOrFollower
    with pytest.raises(errors.NotLeaderOrFollower):
        made.local_log()


def test_a_leader_knows_its_epoch(plane):
    partition = plane.partition()
    assert type(partition.role) is Leader and partition.leader is partition.role
    assert partition.leading() is partition.leading(3) is partition.leader
    assert refusal(partition, 2) is errors.FencedLeaderEpoch
    assert refusal(partition, 4) is errors.UnknownLeaderEpoch


def test_a_follower_keeps_its_log_and_a_leader_comes_back_as_another(plane):
    partition = plane.partition()
    first, log = partition.leader, partition.log
    change(plane, leader=2, replicas=[1, 2], isr=[1, 2])
    assert type(partition.role) is Follower and partition.leader is None
    assert partition.log is partition.local_log() is log
    assert refusal(partition) is errors.NotLeaderOrFollower
    change(plane, leader=1)
    assert partition.leader is not first and partition.leader.epoch == partition.leader_epoch == 5
    assert partition.log is log


def test_one_leader_lives_for_one_epoch_whatever_becomes_of_its_replicas(plane):
    partition = plane.partition()
    leader = partition.leader
    isr = Isr(1, (1, 2), (1,), leader_epoch=3, partition_epoch=1, epoch_start_offset=0, min_in_sync=0)
    partition.make_leader(isr, partition.log)
    assert partition.leader is leader and leader.isr is isr
    assert (partition.replicas, partition.isr, partition.partition_epoch) == ((1, 2), (1,), 1)


def test_a_failed_dir_and_a_damaged_log_are_told_apart(plane):
    plane.create_topic("u")
    damage = LogDamaged("for a test", plane.log("u").directory)
    plane.on_reactor(lambda: plane.logs.handle_failure(damage))
    assert plane.partition("u").role is DAMAGED
    plane.disk.fail("write", EIO, path=plane.log().directory, times=None)
    plane.produce("a")
    assert plane.partition().role is DIR_FAILED
    for name in ("t", "u"):
        assert plane.partition(name).log is None and plane.partition(name).leader is None
        assert refusal(plane.partition(name), 99) is errors.KafkaStorageError


def test_a_log_that_cannot_be_opened_leaves_its_partition_offline():
    plane = SimPlane()
    plane.disk.fail("mkdir", EIO, path="data/a/t-0", times=None)
    plane.create_topic()
    assert plane.partition().role is DIR_FAILED


@pytest.mark.parametrize("role", [OPENING, DIR_FAILED, DAMAGED])
def test_without_a_log_no_copy_takes_its_place(plane, role):
    partition, log = plane.partition(), plane.log()
    partition.role, partition.leader = role, None
    partition.replace_log(log)
    assert partition.role is role


def test_nothing_comes_after_the_end(plane):
    partition, log, isr = plane.partition(), plane.log(), plane.partition().leader.isr
    plane.delete_topic("t")
    assert (partition.role, partition.leader, partition.log) == (REMOVED, None, None)
    assert refusal(partition) is errors.NotLeaderOrFollower
    partition.go_offline(DIR_FAILED)
    partition.replace_log(log)
    partition.remove()
    assert partition.role is REMOVED
    for forbidden in (lambda: partition.make_leader(isr, log), lambda: partition.make_follower(2, 4, 1, log)):
        with pytest.raises(BrokenRuleError, match="removed"):
            forbidden()


class Counting:
    """A waiter that wants to hear of everything."""

    def __init__(self):
        self.calls = 0

    def check(self):
        self.calls += 1
        return False


def test_whoever_waits_hears_of_every_change_of_the_role(plane):
    partition, waiter = plane.partition(), Counting()
    partition.add_waiter(waiter)
    isr, log = partition.leader.isr, partition.log
    for number, change_role in enumerate(
        (
            lambda: partition.make_follower(2, 4, 1, log),
            lambda: partition.make_leader(isr, log),
            lambda: partition.go_offline(DIR_FAILED),
            partition.remove,
        ),
        1,
    ):
        change_role()
        assert waiter.calls == number


def test_a_producer_that_waits_hears_that_another_epoch_has_begun():
    plane = SimPlane()
    plane.create_topic(replicas=(1, 2))
    waiting = plane.on_reactor(lambda: plane.send(plane.produce_request(batch(b"a"), acks=-1, timeout_ms=60_000), 9))
    change(plane, leader=1, replicas=[1, 2], isr=[1, 2])
    request = plane.produce_request(batch(b"a"))
    answer = plane.decode(plane.wait(waiting), request, 9).responses[0].partition_responses[0]
    assert answer.error_code == errors.NotLeaderOrFollower.code
