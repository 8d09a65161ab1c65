"""Replicas move to other brokers, and back."""

from typing import Any

import pytest
from test_elections import alter as alter_isr
from test_elections import change, registered

from controllers import Harness
from metadata_kit import TRANSACTION_TYPES, image_of
from odradek.metadata.directory_ids import UNASSIGNED
from odradek.protocol.messages import k45_alter_partition_reassignments as k45
from odradek.protocol.messages import k46_list_partition_reassignments as k46


@pytest.fixture
def harness() -> Harness:
    made = Harness()
    made.brokers(1, 2, 3, 4)
    topic = made.create("t", replicas=2)
    assert topic.error_code == 0
    move(made, [1, 2])
    for isr in ([*made.partition("t").isr, 1, 2],):
        wanted = list(dict.fromkeys(isr))
        if set(wanted) != set(made.partition("t").isr):
            alter_isr(made, "t", wanted)
    assert set(made.partition("t").replicas) == {1, 2}
    return made


def move(harness: Harness, replicas: list[int] | None, **fields: Any) -> int:
    item = k45.ReassignablePartition(partition_index=0, replicas=replicas)
    request = k45.AlterPartitionReassignmentsRequest(
        topics=[k45.ReassignableTopic(name="t", partitions=[item])], **fields
    )
    response = harness.run(lambda core: core.alter_reassignments(request))
    return int(response.responses[0].partitions[0].error_code)


def ongoing(harness: Harness) -> list[Any]:
    response = harness.run(lambda core: core.list_reassignments(k46.ListPartitionReassignmentsRequest(topics=None)))
    return [partition for topic in response.topics for partition in topic.partitions]


def test_a_move_is_complete_when_the_new_replicas_are_in_sync(harness: Harness) -> None:
    assert move(harness, [3, 4]) == 0
    moving = harness.partition("t")
    assert (moving.replicas, moving.adding, set(moving.removing)) == ((3, 4, *moving.removing), (3, 4), {1, 2})
    assert moving.leader in (1, 2)
    assert [(p.adding_replicas, set(p.removing_replicas)) for p in ongoing(harness)] == [([3, 4], {1, 2})]
    alter_isr(harness, "t", [*moving.isr, 3])
    assert harness.partition("t").is_reassigning
    answered = alter_isr(harness, "t", [*harness.partition("t").isr, 4])
    assert answered.error_code == 108, "the old leader is told that it no longer is"
    done = harness.partition("t")
    assert (done.replicas, set(done.isr), done.adding, done.removing) == ((3, 4), {3, 4}, (), ())
    assert done.leader in (3, 4)
    assert ongoing(harness) == []
    harness.core.validate()


def test_the_record_that_completes_a_move_names_the_directories_of_who_stays(harness: Harness) -> None:
    """Without them a Kafka, and our own image, would refuse the record: four directories for two replicas."""
    move(harness, [3, 4])
    for joining in (3, 4):
        alter_isr(harness, "t", [*harness.partition("t").isr, joining])
    completing = harness.quorum.messages()[-1]
    assert completing.replicas == [3, 4]
    assert completing.directories == [bytes([103]) * 16, bytes([104]) * 16]
    assert harness.partition("t").directories == tuple(completing.directories)
    history = [record for record in harness.quorum.messages() if record.api_key not in TRANSACTION_TYPES]
    assert image_of(history).topics.by_name["t"].partitions[0] == harness.partition("t")


def test_a_list_of_directories_that_stays_as_it_is_is_not_written() -> None:
    """As a 4.3 does it: a change that leaves the list out leaves it as it is, whoever has its places now."""
    partition = registered((1, 2), (1, 2), 1, directories=(UNASSIGNED, UNASSIGNED))
    made = change(partition, {1, 2})
    made.replicas = (2, 1)
    record = made.record(b"t" * 16, 0)
    assert record is not None
    assert (record.replicas, record.directories) == ([2, 1], None)
    assert partition.changed(record).directories == (UNASSIGNED, UNASSIGNED)


def test_new_replicas_get_the_directory_of_their_broker(harness: Harness) -> None:
    move(harness, [3, 1])
    assert harness.partition("t").directory_of(3) == bytes([103]) * 16


def test_the_same_replicas_in_another_order_need_no_copying(harness: Harness) -> None:
    assert move(harness, [2, 1]) == 0
    partition = harness.partition("t")
    assert (partition.replicas, partition.is_reassigning) == ((2, 1), False)


def test_cancelling_goes_back(harness: Harness) -> None:
    assert move(harness, None) == 85
    before = harness.partition("t")
    move(harness, [3, 4])
    alter_isr(harness, "t", [*harness.partition("t").isr, 3])
    assert move(harness, None) == 0
    back = harness.partition("t")
    assert (set(back.replicas), set(back.isr), back.is_reassigning) == (set(before.replicas), set(before.isr), False)
    assert back.leader in back.isr
    harness.core.validate()


def test_a_move_may_be_replaced_by_another(harness: Harness) -> None:
    move(harness, [3, 4])
    assert move(harness, [1, 4]) == 0
    partition = harness.partition("t")
    assert (partition.replicas, partition.adding, partition.removing) == ((1, 4, 2), (4,), (2,))
    harness.core.validate()


def test_the_leader_epoch_grows_when_a_replica_leaves(harness: Harness) -> None:
    before = harness.partition("t")
    keep = before.leader
    assert move(harness, [keep]) == 0
    after = harness.partition("t")
    assert (after.replicas, after.leader) == ((keep,), keep)
    assert after.leader_epoch == before.leader_epoch + 1, "what the other one still fetches is fenced"


def test_the_number_of_replicas_can_be_held(harness: Harness) -> None:
    assert move(harness, [1, 2, 3], allow_replication_factor_change=False) == 38
    assert move(harness, [1, 3], allow_replication_factor_change=False) == 0


def test_a_partition_named_twice_is_moved_once(harness: Harness) -> None:
    item = k45.ReassignablePartition(partition_index=0, replicas=[3, 4])
    request = k45.AlterPartitionReassignmentsRequest(topics=[k45.ReassignableTopic(name="t", partitions=[item, item])])
    response = harness.run(lambda core: core.alter_reassignments(request))
    assert [result.error_code for result in response.responses[0].partitions] == [0, 39]
    harness.core.validate()
