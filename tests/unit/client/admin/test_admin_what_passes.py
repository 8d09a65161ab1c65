"""Errors that pass are waited out, one by one; an older broker is not asked for what it does not know."""

import pytest
from admin_kit import kinds

from odradek import TopicPartition, errors
from odradek.client.admin.admin_client import AdminClient
from odradek.client.admin.credentials import UserScramCredentialUpsertion
from odradek.client.admin.features import FeatureUpdate
from odradek.client.admin.quotas import USER, ClientQuotaEntity
from odradek.client.admin.transactions import AbortTransactionSpec
from odradek.protocol.vocabulary import ElectionType, ScramMechanism
from odradek.testing import Broker

PLACE = TopicPartition("passing", 0)
NEW_PASSWORD = UserScramCredentialUpsertion("alice", ScramMechanism.SCRAM_SHA_256, "secret")
ALICE = ClientQuotaEntity({USER: "alice"})

WHAT_PASSES = [
    ("AlterClientQuotas", "NOT_CONTROLLER", lambda admin: admin.alter_client_quotas({ALICE: {}}).raise_any()),
    ("AlterUserScramCredentials", "NOT_CONTROLLER",
        lambda admin: admin.alter_user_scram_credentials([NEW_PASSWORD]).raise_any()),
    ("DescribeUserScramCredentials", "NOT_CONTROLLER", lambda admin: admin.describe_user_scram_credentials()),
    ("ElectLeaders", "NOT_CONTROLLER", lambda admin: admin.elect_leaders(ElectionType.PREFERRED)),
    ("AlterPartitionReassignments", "NOT_CONTROLLER",
        lambda admin: admin.alter_partition_reassignments({PLACE: [1]}).raise_any()),
    ("ListPartitionReassignments", "NOT_CONTROLLER", lambda admin: admin.list_partition_reassignments()),
    ("DescribeQuorum", "NOT_CONTROLLER", lambda admin: admin.describe_metadata_quorum()),
    ("UpdateFeatures", "NOT_CONTROLLER",
        lambda admin: admin.update_features({"group.version": FeatureUpdate(1)}).raise_any()),
    ("ListTransactions", "COORDINATOR_LOAD_IN_PROGRESS", lambda admin: admin.list_transactions()),
    ("DescribeTransactions", "NOT_COORDINATOR", lambda admin: admin.describe_transactions(["one"]).raise_any()),
    ("InitProducerId", "CONCURRENT_TRANSACTIONS", lambda admin: admin.fence_producers(["one"]).raise_any()),
    ("InitProducerId", "COORDINATOR_NOT_AVAILABLE", lambda admin: admin.force_terminate_transaction("one")),
    ("DescribeProducers", "NOT_LEADER_OR_FOLLOWER", lambda admin: admin.describe_producers([PLACE]).raise_any()),
    ("WriteTxnMarkers", "NOT_LEADER_OR_FOLLOWER",
        lambda admin: admin.abort_transaction(AbortTransactionSpec(PLACE, 1000, 0, 0))),
    ("DescribeShareGroupOffsets", "NOT_COORDINATOR",
        lambda admin: admin.list_share_group_offsets({"shares": None}).raise_any()),
    ("AlterShareGroupOffsets", "COORDINATOR_LOAD_IN_PROGRESS",
        lambda admin: admin.alter_share_group_offsets("shares", {PLACE: 0}).raise_any()),
    ("DeleteShareGroupOffsets", "NOT_COORDINATOR",
        lambda admin: admin.delete_share_group_offsets("shares", ["passing"]).raise_any()),
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def scene(admin):
    admin.create_topic("passing")
    admin.fence_producers(["one"]).raise_any()
    admin.alter_share_group_offsets("shares", {PLACE: 0}).raise_any()


@pytest.mark.parametrize(("api", "error", "call"), WHAT_PASSES)
def test_it_is_asked_again_until_the_error_has_passed(admin, broker, api, error, call):
    with broker.faults.on(api).error(error, times=2) as fault:
        call(admin)
        assert fault.hits == 2


def test_an_unregistering_that_was_not_answered_in_time_is_asked_again(admin, broker):
    with broker.faults.on("UnregisterBroker").error("REQUEST_TIMED_OUT", times=2) as fault:
        with pytest.raises(errors.BrokerIdNotRegistered):
            admin.unregister_broker(77)
        assert fault.hits == 2


def test_a_replica_that_is_asked_by_its_broker_is_not_looked_for_elsewhere(admin, broker):
    with broker.faults.on("DescribeProducers").error("NOT_LEADER_OR_FOLLOWER") as fault:
        assert kinds(admin.describe_producers([PLACE], broker_id=1)) == {PLACE: errors.NotLeaderOrFollower}
        assert fault.hits == 1


@pytest.fixture(scope="module")
def older():
    with Broker("3.3", thread=True) as running, AdminClient(bootstrap_servers=running.bootstrap) as client:
        client.create_topic("passing")
        yield client


class TestAnOlderBroker:
    def test_it_has_no_word_for_a_duration_or_a_pattern(self, older):
        assert older.list_transactions() == {}
        for filters in ({"duration_ms": 5}, {"transactional_id_pattern": ".*"}):
            with pytest.raises(errors.UnsupportedVersion, match="by their duration or a pattern"):
                older.list_transactions(**filters)

    def test_it_cannot_forbid_another_number_of_replicas(self, older):
        assert older.alter_partition_reassignments({PLACE: [1]})[PLACE] is None
        refused = older.alter_partition_reassignments({PLACE: [1]}, allow_replication_factor_change=False)
        assert kinds(refused) == {PLACE: errors.UnsupportedVersion}

    def test_it_answers_for_each_feature_by_itself(self, older):
        updated = older.update_features({"metadata.version": FeatureUpdate(7), "no.such": FeatureUpdate(1)})
        assert updated["metadata.version"] is None
        assert kinds(updated) == {"no.such": errors.InvalidUpdateVersion}

    def test_it_has_no_share_groups(self, older):
        assert kinds(older.describe_share_groups(["shares"])) == {"shares": errors.UnsupportedVersion}
