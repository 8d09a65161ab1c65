"""The quorum of one controller, whose voters cannot be changed."""

import time

import pytest

from odradek import errors
from odradek.client.admin.quorum import RaftVoterEndpoint

NODE, STRANGER = 1, 77
ENDPOINTS = [RaftVoterEndpoint("CONTROLLER", "127.0.0.1", 9093)]


@pytest.fixture(scope="module")
def voter(admin):
    return admin.describe_metadata_quorum().voters[0]


def test_the_quorum_is_described(admin):
    before_ms = time.time() * 1000
    found = admin.describe_metadata_quorum()
    assert found.leader_id == NODE and found.leader_epoch >= 1
    (voter,) = found.voters
    assert voter.replica_id == NODE and voter.log_end_offset >= found.high_watermark > 0
    assert len(voter.directory_id) == 22
    assert voter.last_fetch_timestamp_ms >= before_ms - 1000
    assert voter.last_caught_up_timestamp_ms >= before_ms - 1000
    assert [endpoint.name for endpoint in found.nodes[NODE]] == ["CONTROLLER"]


def test_who_may_not_describe_it_is_told(admin, broker):
    refused = broker.faults.on("DescribeQuorum").error("CLUSTER_AUTHORIZATION_FAILED")
    with refused, pytest.raises(errors.ClusterAuthorizationFailed):
        admin.describe_metadata_quorum()


def test_the_high_watermark_moves_with_the_metadata(admin):
    before = admin.describe_metadata_quorum().high_watermark
    admin.create_topic("moves-it")
    assert admin.describe_metadata_quorum().high_watermark > before


def test_a_voter_is_one_already(admin, voter):
    with pytest.raises(errors.DuplicateVoter):
        admin.add_raft_voter(NODE, voter.directory_id, ENDPOINTS)


def test_another_cluster_is_meant(admin, voter):
    for change in (
        lambda: admin.add_raft_voter(STRANGER, voter.directory_id, ENDPOINTS, cluster_id="another"),
        lambda: admin.remove_raft_voter(NODE, voter.directory_id, cluster_id="another"),
    ):
        with pytest.raises(errors.InconsistentClusterId):
            change()


def test_a_voter_who_does_not_answer_is_not_asked_for_again(admin, voter, broker):
    """Whether it was added nobody knows: it is for the caller to look."""
    with pytest.raises(errors.RequestTimedOut, match="Node 77 did not answer"):
        admin.add_raft_voter(STRANGER, voter.directory_id, ENDPOINTS, cluster_id=broker.cluster_id)


def test_a_vote_that_cannot_be_taken_away(admin, voter, broker):
    with pytest.raises(errors.VoterNotFound):
        admin.remove_raft_voter(STRANGER, voter.directory_id)
    with pytest.raises(errors.VoterNotFound, match="Cannot remove voter"):
        admin.remove_raft_voter(NODE, voter.directory_id, cluster_id=broker.cluster_id)


def test_a_directory_id_is_written_as_kafka_writes_it(admin):
    with pytest.raises(ValueError, match="is not an id"):
        admin.add_raft_voter(STRANGER, "no id", ENDPOINTS)
    with pytest.raises(ValueError, match="is not an id"):
        admin.remove_raft_voter(STRANGER, "no id")


def test_a_broker_that_the_cluster_does_not_know_is_not_forgotten(admin):
    with pytest.raises(errors.BrokerIdNotRegistered):
        admin.unregister_broker(STRANGER)
