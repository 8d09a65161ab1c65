"""Which version of each record is written at each level: the table that a Kafka 4.3.0 has, and a 3.3.2 at level 7."""

import pytest

from odradek.metadata import record_versions, versions
from odradek.protocol import releases
from odradek.protocol.messages import metadata_brokers as brokers
from odradek.protocol.messages import metadata_cluster as cluster
from odradek.protocol.messages import metadata_topics as topics

# level: RegisterBroker, Partition, PartitionChange, SCRAM, delegation tokens, controllers, ELR, transactions
LEVELS = {
    7: (1, 0, 0, False, False, False, False, False),
    8: (2, 0, 0, False, False, False, False, False),
    10: (2, 0, 0, False, False, False, False, False),
    11: (2, 0, 0, True, False, False, False, False),
    12: (2, 0, 0, True, False, False, False, False),
    13: (2, 0, 0, True, False, False, False, True),
    14: (2, 0, 0, True, True, False, False, True),
    15: (2, 0, 0, True, True, True, False, True),
    16: (2, 0, 0, True, True, True, False, True),
    17: (3, 1, 1, True, True, True, False, True),
    22: (3, 1, 1, True, True, True, False, True),
    23: (3, 2, 2, True, True, True, True, True),
    29: (3, 2, 2, True, True, True, True, True),
    30: (4, 2, 2, True, True, True, True, True),
}


@pytest.mark.parametrize("level", LEVELS)
def test_each_level_as_kafka_has_it(level):
    of, known = record_versions.version_of, record_versions.is_known_at
    assert LEVELS[level] == (
        of(brokers.RegisterBrokerRecord(), level),
        of(topics.PartitionRecord(), level),
        of(topics.PartitionChangeRecord(), level),
        known(cluster.UserScramCredentialRecord, level),
        known(cluster.DelegationTokenRecord, level),
        known(brokers.RegisterControllerRecord, level),
        known(topics.ClearElrRecord, level),
        known(cluster.BeginTransactionRecord, level),
    )


def test_other_records_have_version_0():
    assert record_versions.version_of(topics.TopicRecord(), 30) == 0


@pytest.mark.parametrize(
    ("fields", "version"),
    [
        ({"fenced": -1}, 0),
        ({"in_controlled_shutdown": 1}, 1),
        ({"log_dirs": [bytes(16)]}, 2),
        ({"cordoned_log_dirs": []}, 3),
    ],
)
def test_a_registration_change_is_as_old_as_what_it_says(fields, version):
    record = brokers.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=2, **fields)
    assert record_versions.version_of(record, 30) == version


def test_names_of_levels():
    assert (versions.name_of(7), versions.name_of(30)) == ("3.3-IV3", "4.3-IV0")
    named = {name: versions.level_of(name) for name in ("3.3", "3.5", "3.7", "3.9", "3.9.1", "4.0", "4.3", "4.1-IV0")}
    assert named == {"3.3": 7, "3.5": 11, "3.7": 19, "3.9": 21, "3.9.1": 21, "4.0": 25, "4.3": 30, "4.1-IV0": 26}


@pytest.mark.parametrize("name", ["9.9", "", "3.2", "3.3-IV0", "4.3-IV9x", "metadata"])
def test_a_level_that_cannot_be_formatted(name):
    with pytest.raises(versions.UnknownVersion, match=r"Supported metadata.version are: 3.3-IV3, .*, 4.3-IV0"):
        versions.level_of(name)


def test_features_follow_the_metadata_version():
    assert versions.levels_at_format(releases.RELEASE_3_3, 7) == {"metadata.version": 7}
    at_3_9 = versions.levels_at_format(releases.RELEASE_4_3, 21)
    assert {name: level for name, level in at_3_9.items() if level} == {"metadata.version": 21, "kraft.version": 1}
    at_4_3 = versions.levels_at_format(releases.RELEASE_4_3, 30)
    assert at_4_3 == releases.RELEASE_4_3.finalized_at_format


@pytest.mark.parametrize(
    ("levels", "reason"),
    [
        ({"nonsense": 1}, "Unsupported feature: nonsense"),
        ({"transaction.version": 9}, "No feature:transaction.version with feature level 9"),
        ({"eligible.leader.replicas.version": 1, "metadata.version": 22}, "depends on metadata.version level 23"),
    ],
)
def test_levels_that_a_release_does_not_have(levels, reason):
    with pytest.raises(versions.UnknownVersion, match=reason):
        versions.check_levels(releases.RELEASE_4_3, levels)
