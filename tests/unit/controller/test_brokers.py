"""Brokers register, live, fall silent, stop and come back."""

import pytest

from controllers import Harness
from odradek.protocol import releases
from odradek.protocol.errors import (
    BrokerIdNotRegistered,
    DuplicateBrokerRegistration,
    InconsistentClusterId,
    InvalidRegistration,
    StaleBrokerEpoch,
    UnsupportedVersion,
)
from odradek.protocol.messages.k67_allocate_producer_ids import AllocateProducerIdsRequest


@pytest.fixture
def harness() -> Harness:
    return Harness()


def test_the_broker_epoch_is_the_offset_of_the_registration(harness: Harness) -> None:
    epoch = harness.register(1)
    offset = next(
        base + index
        for base, items, _ in harness.quorum.batches
        for index, _ in enumerate(items)
        if base + index == epoch
    )
    assert offset == epoch == harness.core.cluster.brokers[1].epoch
    assert harness.register(2) > epoch


def test_a_broker_is_fenced_until_it_has_read_its_own_registration(harness: Harness) -> None:
    epoch = harness.register(1)
    behind = harness.beat(1, current_metadata_offset=epoch - 1)
    assert (behind.is_fenced, behind.is_caught_up) == (True, False)
    there = harness.beat(1, current_metadata_offset=epoch)
    assert (there.is_fenced, there.is_caught_up) == (False, True)
    assert harness.core.cluster.is_active(1)


def test_another_process_with_the_id_of_a_living_broker_is_refused(harness: Harness) -> None:
    harness.brokers(1)
    with pytest.raises(DuplicateBrokerRegistration):
        harness.register(1, incarnation=1)
    harness.pass_ms(10_000)
    harness.register(1, incarnation=1)


def test_a_process_that_holds_the_lock_of_its_dirs_need_not_wait(harness: Harness) -> None:
    harness.brokers(1)
    harness.create("t")
    harness.is_own_lock_held = True
    harness.register(1, incarnation=1)
    assert harness.partition("t").leader == -1
    assert harness.partition("t").leader_epoch == 1
    harness.beat(1)
    assert (harness.partition("t").leader, harness.partition("t").leader_epoch) == (1, 2)
    harness.brokers(2)
    with pytest.raises(DuplicateBrokerRegistration):
        harness.register(2, incarnation=1)  # the lock is that of node 1 alone


def test_the_same_incarnation_may_register_again_and_keeps_its_epoch(harness: Harness) -> None:
    harness.brokers(1)
    harness.create("t")
    epoch = harness.core.cluster.brokers[1].epoch
    assert harness.register(1) == epoch
    assert not harness.core.cluster.brokers[1].fenced
    assert harness.partition("t").leader_epoch == 0


def test_what_is_checked_at_registration(harness: Harness) -> None:
    with pytest.raises(InconsistentClusterId):
        harness.register(1, cluster_id="another")
    with pytest.raises(UnsupportedVersion, match=r"finalized version 30 of feature metadata.version"):
        harness.register(1, features=[])
    with pytest.raises(InvalidRegistration):
        harness.register(1, log_dirs=[])
    with pytest.raises(InvalidRegistration):
        harness.register(1, log_dirs=[bytes(15) + b"\x01"])
    harness.register(1)
    with pytest.raises(InvalidRegistration):
        harness.register(2, log_dirs=[bytes([101]) * 16])
    assert list(harness.core.cluster.brokers) == [1]


def test_a_silent_broker_is_fenced_and_another_leads(harness: Harness) -> None:
    harness.brokers(1, 2)
    harness.create("t", partitions=4, replicas=2)
    harness.pass_ms(12_000, alive=[1])
    assert harness.core.cluster.brokers[2].fenced
    for partition in harness.core.topics.by_name["t"].partitions.values():
        assert (partition.isr, partition.leader) == ((1,), 1)
    harness.core.validate()


def test_heartbeats_of_an_earlier_incarnation_count_for_nothing(harness: Harness) -> None:
    harness.brokers(1)
    old = harness.core.cluster.brokers[1].epoch
    harness.pass_ms(10_000)
    harness.register(1, incarnation=1)
    with pytest.raises(StaleBrokerEpoch):
        harness.beat(1, broker_epoch=old)
    with pytest.raises(StaleBrokerEpoch):
        harness.run(lambda core: core.allocate_producer_ids(AllocateProducerIdsRequest(broker_id=1, broker_epoch=old)))


def test_controlled_shutdown_moves_leaders_away_before_it_lets_go(harness: Harness) -> None:
    harness.brokers(1, 2)
    harness.create("t", partitions=4, replicas=2)
    first = harness.beat(1, want_shut_down=True)
    assert not first.should_shut_down
    assert all(p.leader == 2 for p in harness.core.topics.by_name["t"].partitions.values())
    still = harness.beat(1, want_shut_down=True)
    assert not still.should_shut_down, "broker 2 has not read of it yet"
    harness.beat(2)
    last = harness.beat(1, want_shut_down=True)
    assert (last.should_shut_down, last.is_fenced) == (True, True)
    harness.core.validate()


def test_controlled_shutdown_waits_until_the_others_have_read_of_every_partition(harness: Harness) -> None:
    harness.brokers(1, 2)
    harness.create("t", partitions=4, replicas=2)
    first_record = harness.quorum.log_end_offset
    harness.beat(1, want_shut_down=True)
    last_record = harness.quorum.log_end_offset - 1
    assert last_record - first_record >= 4, "of the broker itself, and of each partition that it was in sync in"
    for read in range(first_record, last_record):
        harness.beat(2, current_metadata_offset=read)
        assert not harness.beat(1, want_shut_down=True).should_shut_down, "there is more to read"
    harness.beat(2, current_metadata_offset=last_record)
    assert harness.beat(1, want_shut_down=True).should_shut_down


def test_controlled_shutdown_of_the_only_broker(harness: Harness) -> None:
    harness.brokers(1)
    harness.create("t")
    assert not harness.beat(1, want_shut_down=True).should_shut_down
    partition = harness.partition("t")
    assert (partition.leader, partition.isr) == (-1, (1,)), "the last replica stays in sync"
    assert harness.beat(1, want_shut_down=True).should_shut_down
    harness.pass_ms(10_000)
    harness.register(1, incarnation=1)
    harness.beat(1)
    assert harness.partition("t").leader == 1


def test_a_fenced_broker_may_stop_at_once(harness: Harness) -> None:
    harness.register(1)
    assert harness.beat(1, want_shut_down=True).should_shut_down


def test_a_broker_asks_to_be_fenced(harness: Harness) -> None:
    harness.brokers(1, 2)
    harness.create("t", replicas=2)
    assert harness.beat(1, want_fence=True).is_fenced
    assert harness.partition("t").isr == (2,)
    assert not harness.beat(1).is_fenced


def test_unregistering(harness: Harness) -> None:
    harness.brokers(1, 2)
    harness.create("t", replicas=2)
    harness.run(lambda core: core.unregister_broker(2))
    assert 2 not in harness.core.cluster.brokers
    assert harness.partition("t").isr == (1,)
    with pytest.raises(BrokerIdNotRegistered):
        harness.run(lambda core: core.unregister_broker(2))
    harness.pass_ms(12_000, alive=[1])
    assert not harness.core.cluster.brokers[1].fenced
    harness.core.validate()


def test_a_failed_directory_costs_what_lies_in_it(harness: Harness) -> None:
    both = [b"A" * 16, b"B" * 16]
    harness.register(1, log_dirs=both)
    harness.beat(1)
    harness.brokers(2)
    harness.create("t", partitions=2, replicas=2)
    assign(harness, "t", 0, b"A" * 16)
    assign(harness, "t", 1, b"B" * 16)
    harness.beat(1, offline_log_dirs=[b"A" * 16])
    assert harness.core.cluster.brokers[1].directories == (b"B" * 16,)
    assert harness.partition("t", 0).isr == (2,)
    assert set(harness.partition("t", 1).isr) == {1, 2}
    harness.core.validate()


def test_a_replica_that_turns_up_in_a_failed_directory_is_not_in_sync(harness: Harness) -> None:
    harness.register(1, log_dirs=[b"A" * 16, b"B" * 16])
    harness.beat(1)
    harness.brokers(2)
    harness.create("t", replicas=2)
    harness.beat(1, offline_log_dirs=[b"A" * 16])
    assign(harness, "t", 0, b"A" * 16)
    partition = harness.partition("t")
    assert (partition.isr, partition.leader) == ((2,), 2)


def test_brokers_with_cordoned_directories_get_no_new_replicas(harness: Harness) -> None:
    harness.register(1)
    assert not harness.beat(1, cordoned_log_dirs=[bytes([101]) * 16]).is_fenced
    assert harness.create("t").error_code == 38
    harness.beat(1, cordoned_log_dirs=[])
    assert harness.create("t").error_code == 0


def assign(harness: Harness, name: str, index: int, directory: bytes) -> None:
    from odradek.protocol.messages import k73_assign_replicas_to_dirs as k73

    topic = harness.core.topics.by_name[name]
    request = k73.AssignReplicasToDirsRequest(
        broker_id=1,
        broker_epoch=harness.core.cluster.brokers[1].epoch,
        directories=[
            k73.DirectoryData(
                id=directory,
                topics=[k73.TopicData(topic_id=topic.id, partitions=[k73.PartitionData(partition_index=index)])],
            )
        ],
    )
    response = harness.run(lambda core: core.assign_replicas_to_dirs(request))
    assert response.directories[0].topics[0].partitions[0].error_code == 0
    assert harness.partition(name, index).directory_of(1) == directory


def test_producer_ids_come_in_blocks_that_are_never_issued_twice(harness: Harness) -> None:
    harness.brokers(1, 2)

    def allocate(broker_id: int) -> int:
        epoch = harness.core.cluster.brokers[broker_id].epoch
        request = AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=epoch)
        response = harness.run(lambda core: core.allocate_producer_ids(request))
        assert response.producer_id_len == 1000
        return int(response.producer_id_start)

    assert [allocate(1), allocate(2), allocate(1)] == [0, 1000, 2000]


def test_a_3_3_fences_and_unfences_in_its_own_records() -> None:
    harness = Harness(release=releases.RELEASE_3_3)
    harness.brokers(1)
    harness.create("t")
    harness.pass_ms(12_000)
    assert harness.partition("t").leader == -1
    harness.beat(1)
    assert harness.partition("t").leader == 1
