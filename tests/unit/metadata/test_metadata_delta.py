"""What each record does to an image. The odd cases are as a Kafka 4.3.0's own MetadataDelta does them."""

import pytest

from metadata_kit import broker, change, config, image_of, level, partition, topic, topic_id
from odradek.metadata.delta import MetadataDelta
from odradek.metadata.directory_ids import MIGRATING
from odradek.metadata.image import EMPTY
from odradek.metadata.replay import REPLAYS
from odradek.metadata.replay_error import ReplayError
from odradek.protocol import registry, releases
from odradek.protocol.frames import METADATA
from odradek.protocol.messages import metadata_brokers as brokers
from odradek.protocol.messages import metadata_cluster as cluster
from odradek.protocol.messages import metadata_topics as topics

FOO = topic(1, name="foo", replicas=(1, 2))


def partition_after(*records):
    return image_of([*FOO, *records]).topics.by_name["foo"].partitions[0]


# Topics


def test_a_topic_is_found_by_name_and_by_id():
    image = image_of(topic(1, partitions=3, name="foo"))
    assert image.topics.by_name["foo"] is image.topics.by_id[topic_id(1)]
    assert list(image.topics.by_id[topic_id(1)].partitions) == [0, 1, 2]


def test_a_change_without_a_leader_raises_the_partition_epoch_alone():
    after = partition_after(change(1, isr=[1]))
    assert (after.isr, after.leader, after.leader_epoch, after.partition_epoch) == ((1,), 1, 0, 1)


def test_a_change_that_names_the_same_leader_raises_both_epochs():
    after = partition_after(change(1, leader=1), change(1, leader=-1))
    assert (after.leader, after.leader_epoch, after.partition_epoch) == (-1, 2, 2)


def test_a_change_of_replicas_without_directories():
    after = partition_after(change(1, replicas=[3, 2, 1], adding_replicas=[3]))
    assert after.replicas == (3, 2, 1)
    assert after.adding == (3,)
    assert after.directories == (MIGRATING,) * 3


def placed(*directories):
    replicas = list(range(1, len(directories) + 1))
    return partition(1, replicas=replicas, directories=[topic_id(each) for each in directories])


def test_directories_that_a_change_does_not_name_stay_in_their_places():
    after = partition_after(placed(501, 502), change(1, replicas=[1, 3]))
    assert after.directories == (topic_id(501), topic_id(502)), "3 lies in a directory of the same id, says the record"


@pytest.mark.parametrize("fields", [{"replicas": [1, 2, 3]}, {"directories": [topic_id(501)]}])
def test_directories_that_do_not_fit_the_replicas_are_refused_once_some_were_assigned(fields):
    with pytest.raises(ReplayError, match="directories are named for"):
        partition_after(placed(501, 502), change(1, **fields))


def test_an_empty_list_of_directories_is_that_of_a_partition_that_has_none():
    assert partition_after(placed(501, 502), change(1, directories=[])).directories == (MIGRATING,) * 2


def test_directories_go_with_the_replicas():
    first, second = topic_id(71), topic_id(72)
    after = partition_after(change(1, directories=[first, second]), change(1, isr=[2]))
    assert after.directory_of(2) == second
    with pytest.raises(ReplayError, match="1 directories are named for 2 replicas"):
        partition_after(change(1, directories=[first]))


def test_recovery_state_and_eligible_leaders():
    after = partition_after(change(1, leader_recovery_state=1, eligible_leader_replicas=[2], last_known_elr=[7]))
    assert (after.leader_recovery_state, after.elr, after.last_known_elr) == (1, (2,), (7,))


@pytest.mark.parametrize("name", ["foo", ""])
def test_clearing_eligible_leaders_counts_as_a_change(name):
    before = [*FOO, *topic(2, name="bar"), change(1, eligible_leader_replicas=[2], last_known_elr=[2])]
    delta = MetadataDelta(image_of(before))
    delta.replay(topics.ClearElrRecord(topic_name=name))
    image = delta.apply(1, 1)
    after = image.topics.by_name["foo"].partitions[0]
    assert (after.elr, after.last_known_elr, after.partition_epoch) == ((), (), 2)
    assert set(delta.topics.changed) == {topic_id(1)}


def test_a_deleted_topic_takes_its_configs_along():
    image = image_of([*FOO, config(2, "foo", "retention.ms", "1"), config(2, "bar", "retention.ms", "2")])
    delta = MetadataDelta(image)
    delta.replay(topics.RemoveTopicRecord(topic_id=topic_id(1)))
    after = delta.apply(1, 1)
    assert not after.topics.by_id
    assert not after.topics.by_name
    assert after.configs.of(2, "foo") == {}
    assert after.configs.of(2, "bar") == {"retention.ms": "2"}
    assert delta.topics.deleted == {topic_id(1): image.topics.by_name["foo"]}
    assert delta.configs.changed == {(2, "foo"): {}}


def test_a_name_may_be_used_again():
    delta = MetadataDelta(image_of(FOO))
    for record in (topics.RemoveTopicRecord(topic_id=topic_id(1)), *topic(9, name="foo")):
        delta.replay(record)
    image = delta.apply(1, 1)
    assert image.topics.by_name["foo"].id == topic_id(9)
    assert list(image.topics.by_id) == [topic_id(9)]
    assert (set(delta.topics.deleted), delta.topics.created) == ({topic_id(1)}, {topic_id(9)})


def test_made_and_deleted_in_one_delta_is_nothing():
    delta = MetadataDelta(EMPTY)
    for record in (*FOO, topics.RemoveTopicRecord(topic_id=topic_id(1))):
        delta.replay(record)
    assert (delta.topics.changed, delta.topics.created, delta.topics.deleted) == ({}, set(), {})
    assert delta.apply(1, 1).topics is EMPTY.topics


def test_a_deleted_topic_takes_no_more_records():
    delta = MetadataDelta(image_of(FOO))
    delta.replay(topics.RemoveTopicRecord(topic_id=topic_id(1)))
    with pytest.raises(ReplayError, match="no topic with the id"):
        delta.replay(partition(1, 1))


def test_only_the_changed_partitions_are_in_the_delta():
    delta = MetadataDelta(image_of([*topic(1, partitions=5), *topic(2)]))
    delta.replay(change(1, 3, leader=4))
    assert {key: set(value.changed) for key, value in delta.topics.changed.items()} == {topic_id(1): {3}}


# The rest


def test_a_broker_registers_is_unfenced_and_shuts_down():
    records = [
        broker(1, epoch=7, rack="r", log_dirs=[topic_id(5)]),
        brokers.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=7, fenced=-1),
        brokers.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=7, in_controlled_shutdown=1),
    ]
    found = image_of(records).cluster.brokers[1]
    assert (found.epoch, found.rack, found.fenced, found.in_controlled_shutdown) == (7, "r", False, True)
    assert found.directories == (topic_id(5),)
    assert found.endpoint("PLAINTEXT").host == "host-1"
    assert found.endpoint("SSL") is None
    fenced = image_of([*records, brokers.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=7, fenced=1)])
    assert fenced.cluster.brokers[1].fenced
    gone = image_of([*records, brokers.UnregisterBrokerRecord(broker_id=1, broker_epoch=7)])
    assert not gone.cluster.brokers


def test_fencing_as_it_was_before_3_3():
    records = [broker(1), brokers.UnfenceBrokerRecord(id=1, epoch=1)]
    assert not image_of(records).cluster.brokers[1].fenced
    assert image_of([*records, brokers.FenceBrokerRecord(id=1, epoch=1)]).cluster.brokers[1].fenced


def test_a_registration_replaces_the_former_life():
    image = image_of([broker(1, epoch=7, rack="old", fenced=False), broker(1, epoch=9)])
    assert image.cluster.brokers[1].epoch == 9
    assert image.cluster.brokers[1].fenced


def test_features_and_their_removal():
    image = image_of([level("metadata.version", 30), level("group.version", 1), level("kraft.version", 1)])
    assert image.features.metadata_version == 30
    after = image_of([level("group.version", 0)], image)
    assert after.features.finalized == {"metadata.version": 30, "kraft.version": 1}
    assert EMPTY.features.metadata_version == 1


def test_configs_are_set_and_removed():
    image = image_of([config(4, "", "a", "1"), config(4, "", "b", "2"), config(4, "", "a", None)])
    assert image.configs.of(4, "") == {"b": "2"}
    assert not image_of([config(4, "", "b", None)], image).configs.by_resource


def test_client_quotas():
    def quota(key, value=0.0, remove=False, **entity):
        parts = [cluster.EntityData(entity_type=kind.replace("_", "-"), entity_name=n) for kind, n in entity.items()]
        return cluster.ClientQuotaRecord(entity=parts, key=key, value=value, remove=remove)

    image = image_of(
        [quota("k", 1.5, user="bob", client_id=None), quota("j", 2.0, user=None), quota("k", 3.0, user="a")]
    )
    assert list(image.client_quotas.by_entity) == [
        (("client-id", None), ("user", "bob")),
        (("user", None),),
        (("user", "a"),),
    ]
    assert image.client_quotas.of((("client-id", None), ("user", "bob"))) == {"k": 1.5}
    removed = image_of([quota("k", user="a", remove=True)], image)
    assert (("user", "a"),) not in removed.client_quotas.by_entity


def test_acls_scram_tokens_producer_ids():
    image = image_of(
        [
            cluster.AccessControlEntryRecord(id=topic_id(1), resource_type=2, resource_name="t", principal="User:a"),
            cluster.UserScramCredentialRecord(name="u", mechanism=1, salt=b"s", iterations=4096),
            cluster.DelegationTokenRecord(token_id="t", owner="User:o", renewers=["User:r"]),
            cluster.ProducerIdsRecord(broker_id=1, broker_epoch=2, next_producer_id=3000),
        ]
    )
    assert image.acls.by_id[topic_id(1)].principal == "User:a"
    assert image.scram.of(1, "u").salt == b"s"
    assert "s" not in repr(image.scram.of(1, "u")).replace("iterations", "").replace("Scram", "")
    assert image.delegation_tokens.by_id["t"].renewers == ("User:r",)
    assert image.producer_ids.next_producer_id == 3000
    removals = [
        cluster.RemoveAccessControlEntryRecord(id=topic_id(1)),
        cluster.RemoveUserScramCredentialRecord(name="u", mechanism=1),
        cluster.RemoveDelegationTokenRecord(token_id="t"),
    ]
    after = image_of(removals, image)
    assert not (after.acls.by_id or after.scram.by_mechanism_and_user or after.delegation_tokens.by_id)


def test_parts_without_a_change_are_the_same_objects():
    image = image_of([*FOO, broker(1)])
    after = image_of([config(4, "1", "a", "b")], image)
    assert after.topics is image.topics
    assert after.cluster is image.cluster
    assert after.configs is not image.configs


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (partition(5), "no topic with the id AAAAAAAAAAAAAAAAAAAABQ"),
        (change(5), "no topic with the id"),
        (change(1, 9), "topic 'foo' has no partition 9"),
        (topics.TopicRecord(name="foo", topic_id=topic_id(5)), "a topic named 'foo' already"),
        (topics.RemoveTopicRecord(topic_id=topic_id(5)), "no topic with the id"),
        (topics.ClearElrRecord(topic_name="nosuch"), "no topic named 'nosuch'"),
        (brokers.FenceBrokerRecord(id=4, epoch=1), "broker 4 is not registered"),
        (brokers.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=8, fenced=1), "with epoch 1, not 8"),
        (cluster.RemoveAccessControlEntryRecord(id=topic_id(3)), "no access control entry"),
        (cluster.BeginTransactionRecord(), "BeginTransactionRecord is no record that changes an image"),
        (cluster.AccessControlRecord(), "AccessControlRecord is no record"),
    ],
)
def test_a_record_that_does_not_fit(record, reason):
    delta = MetadataDelta(image_of([*FOO, broker(1)]))
    with pytest.raises(ReplayError, match=reason):
        delta.replay(record)


def test_every_declared_record_type_has_its_place():
    """All but 6, which nobody writes, and the three of the transactions, which say when the others count."""
    METADATA._load()
    declared = {cls.api_key for module in registry.METADATA_RECORDS for cls in registry.messages_of(module).values()}
    assert declared - {kind.api_key for kind in REPLAYS} == {6, 23, 24, 25}


# Snapshots at older levels


def test_a_snapshot_leaves_out_what_its_level_cannot_say():
    image = image_of(
        [
            level("metadata.version", 7),
            broker(1, log_dirs=[topic_id(5)], in_controlled_shutdown=True),
            brokers.RegisterControllerRecord(controller_id=1),
            *topic(1, directories=[topic_id(5)], eligible_leader_replicas=[2]),
            cluster.UserScramCredentialRecord(name="u", mechanism=1),
            cluster.DelegationTokenRecord(token_id="t"),
        ]
    )
    records = list(image.records(releases.RELEASE_3_3))
    kinds = [(type(record).__name__, version) for record, version in records]
    assert kinds == [
        ("FeatureLevelRecord", 0),
        ("RegisterBrokerRecord", 1),
        ("TopicRecord", 0),
        ("PartitionRecord", 0),
    ]
    for record, version in records:
        assert record.to_bytes(version)


def test_eligible_leaders_are_written_only_while_the_feature_is_on():
    records = [level("metadata.version", 30), *topic(1, eligible_leader_replicas=[2], directories=[topic_id(5)])]
    off = [r for r, _ in image_of(records).records() if isinstance(r, topics.PartitionRecord)]
    on = image_of([*records, level("eligible.leader.replicas.version", 1)])
    assert off[0].eligible_leader_replicas is None
    assert next(r for r, _ in on.records() if r.api_key == 3).eligible_leader_replicas == [2]
