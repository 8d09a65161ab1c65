"""Leaders and replicas of partitions, in a cluster of one broker: there is nobody else to lead."""

import pytest
from admin_kit import kinds

from odradek import TopicPartition, errors
from odradek.protocol.vocabulary import ElectionType

NODE = 1
HERE, MISSING, NO_TOPIC = TopicPartition("led", 0), TopicPartition("led", 9), TopicPartition("nothing", 0)


@pytest.fixture(scope="module", autouse=True)
def topic(admin):
    admin.create_topic("led", partitions=2)


@pytest.mark.parametrize("kind", ElectionType)
def test_a_leader_that_is_right_needs_no_election(admin, kind):
    elected = admin.elect_leaders(kind, [HERE, MISSING, NO_TOPIC])
    assert kinds(elected) == {
        HERE: errors.ElectionNotNeeded,
        MISSING: errors.UnknownTopicOrPartition,
        NO_TOPIC: errors.UnknownTopicOrPartition,
    }


def test_an_election_of_a_type_that_is_none(admin):
    elected = admin.elect_leaders(7, [HERE])
    assert kinds(elected) == {HERE: errors.InvalidRequest}


def test_of_all_partitions_none_needs_one(admin):
    assert dict(admin.elect_leaders(ElectionType.PREFERRED)) == {}


def test_a_refusal_of_the_whole_is_that_of_each_or_raised(admin, broker):
    with broker.faults.on("ElectLeaders").error("CLUSTER_AUTHORIZATION_FAILED"):
        assert kinds(admin.elect_leaders(ElectionType.PREFERRED, [HERE])) == {HERE: errors.ClusterAuthorizationFailed}
        with pytest.raises(errors.ClusterAuthorizationFailed):
            admin.elect_leaders(ElectionType.PREFERRED)


def test_each_move_has_an_outcome_of_its_own(admin):
    far, idle = TopicPartition("led", 1), HERE
    moved = admin.alter_partition_reassignments({far: [NODE + 1], idle: None, MISSING: [NODE]})
    assert kinds(moved) == {
        far: errors.InvalidReplicaAssignment,
        idle: errors.NoReassignmentInProgress,
        MISSING: errors.UnknownTopicOrPartition,
    }


def test_a_move_to_where_it_is_is_done_at_once(admin):
    moved = admin.alter_partition_reassignments({HERE: [NODE]}, allow_replication_factor_change=False)
    assert moved[HERE] is None
    assert admin.list_partition_reassignments() == {}
    assert admin.list_partition_reassignments([HERE, MISSING]) == {}
    assert admin.describe_topics(["led"])["led"].partitions[0].replicas == (NODE,)


def test_who_may_not_list_moves_is_told(admin, broker):
    refused = broker.faults.on("ListPartitionReassignments").error("CLUSTER_AUTHORIZATION_FAILED")
    with refused, pytest.raises(errors.ClusterAuthorizationFailed):
        admin.list_partition_reassignments()
