"""Who leads: elections by failure, by request, unclean ones, and AlterPartition."""

from typing import Any

import pytest

from controllers import Harness
from odradek.controller.change import PREFERRED, UNCLEAN, Change
from odradek.metadata.directory_ids import MIGRATING
from odradek.metadata.partition import RECOVERED, RECOVERING, PartitionRegistration
from odradek.protocol.errors import InvalidRequest, StaleBrokerEpoch
from odradek.protocol.messages import k43_elect_leaders as k43
from odradek.protocol.messages import k56_alter_partition as k56

TOPIC = b"t" * 16


def registered(replicas: tuple[int, ...], isr: tuple[int, ...], leader: int, **fields: Any) -> PartitionRegistration:
    directories = (MIGRATING,) * len(replicas)
    return PartitionRegistration(replicas, isr, (), (), leader, 0, 0, RECOVERED, directories)._replace(**fields)


def change(partition: PartitionRegistration, alive: set[int], metadata_version: int = 30) -> Change:
    return Change(partition, alive.__contains__, metadata_version)


def after(partition: PartitionRegistration, made: Change) -> PartitionRegistration:
    record = made.record(TOPIC, 0)
    return partition if record is None else partition.changed(record)


def test_a_leader_that_may_stay_stays() -> None:
    partition = registered((1, 2, 3), (1, 2, 3), 2)
    assert change(partition, {1, 2, 3}).record(TOPIC, 0) is None


def test_the_first_replica_in_sync_that_is_up_leads() -> None:
    partition = registered((1, 2, 3), (1, 3), 1)
    new = after(partition, change(partition, {2, 3}).without(1))
    assert (new.leader, new.isr, new.leader_epoch, new.partition_epoch) == (3, (3,), 1, 1)


def test_the_last_one_in_sync_is_never_taken_out() -> None:
    partition = registered((1, 2), (1,), 1)
    new = after(partition, change(partition, {2}).without(1))
    assert (new.leader, new.isr) == (-1, (1,)), "2 has lost records: it must not lead"
    back = after(new, change(new, {1, 2}))
    assert (back.leader, back.leader_epoch) == (1, 2)


def test_an_unclean_election_takes_anybody_and_says_so() -> None:
    partition = registered((1, 2), (1,), -1)
    made = change(partition, {2})
    made.election = UNCLEAN
    new = after(partition, made)
    assert (new.leader, new.isr, new.leader_recovery_state) == (2, (2,), RECOVERING)


def test_preferred_election() -> None:
    partition = registered((1, 2), (2, 1), 2)
    made = change(partition, {1, 2})
    made.election = PREFERRED
    assert after(partition, made).leader == 1
    made = change(partition, {2})
    made.election = PREFERRED
    assert made.record(TOPIC, 0) is None


def test_a_replica_that_is_eligible_is_elected_and_forgotten_as_such() -> None:
    """What a 4.3 of Apache's leaves behind when its only broker stops."""
    partition = registered((1,), (), -1, elr=(1,), last_known_elr=(1,))
    new = after(partition, change(partition, {1}))
    assert (new.leader, new.isr, new.elr, new.last_known_elr) == (1, (1,), (), ())
    assert new.leader_recovery_state == RECOVERED


def test_the_last_known_leader_is_elected_uncleanly() -> None:
    """What a 4.3 leaves behind when its only broker was killed."""
    partition = registered((1,), (), -1, last_known_elr=(1,))
    new = after(partition, change(partition, {1}))
    assert (new.leader, new.isr, new.leader_recovery_state) == (1, (1,), RECOVERING)


@pytest.mark.parametrize(("metadata_version", "epoch"), [(11, 1), (12, 0)])
def test_a_shrinking_set_raises_the_epoch_in_old_clusters_only(metadata_version: int, epoch: int) -> None:
    partition = registered((1, 2), (1, 2), 1)
    made = change(partition, {1}, metadata_version)
    made.isr = (1,)
    assert after(partition, made).leader_epoch == epoch


def test_a_broker_that_comes_back_leads_only_what_it_is_in_sync_with() -> None:
    harness = Harness()
    harness.brokers(1, 2, 3)
    harness.create("t", partitions=6, replicas=2)
    harness.pass_ms(12_000, alive=[1, 2])
    harness.core.validate()
    harness.beat(3)
    for partition in harness.core.topics.by_name["t"].partitions.values():
        assert partition.leader in (1, 2), "3 is in sync with nothing any more"
    harness.core.validate()


def test_unclean_elections_need_the_topic_s_consent() -> None:
    harness = Harness()
    harness.brokers(1, 2)
    for name, enabled in (("careful", "false"), ("reckless", "true")):
        harness.create(name, replicas=2, unclean_leader_election_enable=enabled)
    harness.pass_ms(12_000, alive=[2])
    harness.pass_ms(12_000)
    assert harness.partition("careful").isr == harness.partition("reckless").isr == (2,)
    harness.beat(1)
    assert harness.partition("careful").leader == -1
    assert (harness.partition("reckless").leader, harness.partition("reckless").leader_recovery_state) == (1, 1)
    harness.core.validate()


def elect(harness: Harness, kind: int, *wanted: tuple[str, int]) -> list[tuple[str, int, int]]:
    named = [k43.TopicPartitions(topic=name, partitions=[index]) for name, index in wanted]
    request = k43.ElectLeadersRequest(election_type=kind, topic_partitions=named if wanted else None)
    response = harness.run(lambda core: core.elect_leaders(request))
    return [
        (topic.topic, result.partition_id, result.error_code)
        for topic in response.replica_election_results
        for result in topic.partition_result
    ]


def test_elections_that_an_admin_asks_for() -> None:
    harness = Harness()
    harness.brokers(1, 2)
    harness.create("t", replicas=2)
    first, second = harness.partition("t").replicas
    assert elect(harness, 0, ("t", 0), ("t", 9), ("no", 0)) == [("t", 0, 84), ("t", 9, 3), ("no", 0, 3)]
    harness.beat(first, want_fence=True)
    assert harness.partition("t").leader == second
    assert elect(harness, 0, ("t", 0)) == [("t", 0, 80)]
    harness.beat(first)
    alter(harness, "t", [second, first])
    assert elect(harness, 0) == [("t", 0, 0)]
    assert harness.partition("t").leader == first
    assert elect(harness, 0) == [], "asked for all, nothing is told of those that need no election"
    assert elect(harness, 1, ("t", 0)) == [("t", 0, 84)]
    harness.beat(first, want_fence=True)
    harness.beat(second, want_fence=True)
    assert elect(harness, 1, ("t", 0)) == [("t", 0, 83)]
    with pytest.raises(InvalidRequest):
        elect(harness, 7)


def test_leaders_are_balanced_by_and_by() -> None:
    harness = Harness(**{"leader.imbalance.check.interval.seconds": "20"})
    harness.brokers(1, 2)
    harness.create("t", replicas=2)
    first, second = harness.partition("t").replicas
    harness.beat(first, want_fence=True)
    harness.beat(first)
    alter(harness, "t", [second, first])
    assert harness.partition("t").leader == second
    harness.pass_ms(25_000, alive=[1, 2])
    assert harness.partition("t").leader == first


# AlterPartition


def alter(harness: Harness, name: str, isr: list[int], version: int = 3, **fields: Any) -> Any:
    partition = harness.partition(name)
    sender = fields.pop("sender", partition.leader)
    brokers = harness.core.cluster.brokers
    data = k56.PartitionData(
        **{
            "partition_index": 0,
            "leader_epoch": partition.leader_epoch,
            "partition_epoch": partition.partition_epoch,
            "new_isr": isr,
            "new_isr_with_epochs": [
                k56.BrokerState(broker_id=i, broker_epoch=brokers[i].epoch if i in brokers else 0) for i in isr
            ],
            **fields,
        }
    )
    topic = k56.TopicData(topic_id=harness.core.topics.by_name[name].id, topic_name=name, partitions=[data])
    request = k56.AlterPartitionRequest(broker_id=sender, broker_epoch=brokers[sender].epoch, topics=[topic])
    return harness.run(lambda core: core.alter_partition(request, version)).topics[0].partitions[0]


@pytest.fixture
def three() -> Harness:
    harness = Harness()
    harness.brokers(1, 2, 3)
    harness.create("t", replicas=3)
    return harness


def test_the_leader_shrinks_and_grows_the_in_sync_set(three: Harness) -> None:
    leader, second, third = three.partition("t").replicas
    answered = alter(three, "t", [leader, second])
    assert (answered.error_code, answered.isr, answered.partition_epoch) == (0, [leader, second], 1)
    assert answered.leader_epoch == 0
    answered = alter(three, "t", [leader, second, third], version=2)
    assert (answered.error_code, three.partition("t").isr) == (0, (leader, second, third))
    three.core.validate()


def test_the_in_sync_set_is_read_from_where_the_version_has_it(three: Harness) -> None:
    leader, second, third = three.partition("t").replicas
    assert alter(three, "t", [leader, second], new_isr=[]).isr == [leader, second]
    answered = alter(three, "t", [leader, second, third], version=2, new_isr_with_epochs=[])
    assert (answered.error_code, answered.isr) == (0, [leader, second, third])


def test_what_alter_partition_refuses(three: Harness) -> None:
    leader, second, third = three.partition("t").replicas
    alter(three, "t", [leader, second])
    assert alter(three, "t", [leader], partition_epoch=0).error_code == 95
    assert alter(three, "t", [leader], partition_epoch=7).error_code == 41
    assert alter(three, "t", [leader], leader_epoch=7).error_code == 41
    assert alter(three, "t", [leader], sender=second).error_code == 42
    assert alter(three, "t", [second]).error_code == 42, "without the leader"
    assert alter(three, "t", []).error_code == 42
    assert alter(three, "t", [leader, 9]).error_code == 42
    stale = [k56.BrokerState(broker_id=leader), k56.BrokerState(broker_id=third, broker_epoch=1)]
    assert alter(three, "t", [leader, third], new_isr_with_epochs=stale).error_code == 107, "R6"
    three.beat(third, want_fence=True)
    assert alter(three, "t", [leader, third]).error_code == 107
    assert alter(three, "t", [leader, third], version=1).error_code == 55
    with pytest.raises(StaleBrokerEpoch):
        request = k56.AlterPartitionRequest(broker_id=leader, broker_epoch=1)
        three.run(lambda core: core.alter_partition(request, 3))
    assert three.partition("t").isr == (leader, second)


def test_a_fenced_leader_epoch_is_refused(three: Harness) -> None:
    old = three.partition("t")
    three.beat(old.leader, want_fence=True)
    new = three.partition("t")
    assert new.leader != old.leader
    assert alter(three, "t", list(new.isr), leader_epoch=old.leader_epoch).error_code == 74
