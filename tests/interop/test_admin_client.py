"""The admin client against whole brokers: ours at both releases, and Apache Kafka of the same two. What it is told is
the same from each.
"""

import asyncio
import contextlib
import time

import clusters
import pytest

from odradek import TopicPartition, errors
from odradek.client.admin.admin_client import AdminClient
from odradek.client.admin.asyncio_admin_client import AdminClient as AsyncioAdminClient
from odradek.client.admin.configs import APPEND, DELETE, ConfigChange, ConfigResource
from odradek.client.admin.groups import MemberToRemove
from odradek.client.admin.routing import COORDINATOR_PASSING, coordinator_of
from odradek.client.admin.topics import EARLIEST, LATEST, MAX_TIMESTAMP, NewTopic
from odradek.client.core import GROUP
from odradek.client.offsets import OffsetAndMetadata
from odradek.protocol.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

kafka_python = pytest.importorskip("kafka", reason="pip install kafka-python")

SECONDS_MAX = 30


@pytest.fixture(scope="module", params=clusters.KINDS)
def cluster(request, tmp_path_factory):
    with clusters.cluster_of(request.param, tmp_path_factory.mktemp("admin") / "dir") as bootstrap:
        yield bootstrap


@pytest.fixture(scope="module")
def admin(cluster):
    with AdminClient(bootstrap_servers=cluster, default_api_timeout_ms=20_000) as client:
        yield client


@pytest.fixture
def topic(admin, request):
    """A topic of three partitions for one test."""
    name = f"topic-{abs(hash(request.node.nodeid))}"
    admin.create_topic(name, partitions=3, replication=1)
    # a broker of Kafka may answer before it has heard of the topic itself
    until(lambda: name in admin.describe_topics([name]).values_ok)
    return name


def until(question, is_good=bool):
    deadline = time.monotonic() + SECONDS_MAX
    while not is_good(answer := question()):
        assert time.monotonic() < deadline, f"still {answer}"
        time.sleep(0.05)
    return answer


def write(cluster, topic, partition, values):
    producer = kafka_python.KafkaProducer(bootstrap_servers=cluster)
    for number, value in enumerate(values):
        producer.send(topic, value, partition=partition, timestamp_ms=1_700_000_000_000 + number).get(SECONDS_MAX)
    producer.close()


@contextlib.contextmanager
def member(cluster, group, topic, **configs):
    """A consumer that has its assignment."""
    consumer = kafka_python.KafkaConsumer(
        topic,
        bootstrap_servers=cluster,
        group_id=group,
        client_id="reader",
        heartbeat_interval_ms=200,
        metadata_max_age_ms=1000,  # it may have asked for its first ones before it knew what to ask for
        **configs,
    )
    try:
        until(lambda: consumer.poll(100) or consumer.assignment())
        yield consumer
    finally:
        consumer.close()


async def heartbeat(asker, group, topic, epoch):
    """A member of the newer protocol tells that it is there; the epoch that it has then."""

    async def attempt(timeout_ms):
        where = await coordinator_of(asker, GROUP, group, timeout_ms)
        request = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id="a-member-of-its-own",
            member_epoch=epoch,
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=[topic],
            topic_partitions=[],
        )
        response = await asker.send(where, request, ConsumerGroupHeartbeatResponse, timeout_ms)
        errors.raise_for(response.error_code, response.error_message)
        return response.member_epoch

    return await asker.one(attempt, passing=COORDINATOR_PASSING)


class TestTopics:
    def test_a_created_topic_is_told_back(self, admin):
        made = admin.create_topic("made", partitions=2, replication=1, cleanup_policy="compact", segment_ms=3_600_000)
        assert (made.name, made.partitions, made.replication) == ("made", 2, 1)
        assert made.configs["cleanup.policy"] == "compact"
        assert made.configs["segment.ms"] == "3600000"
        listed = until(lambda: admin.list_topics().get("made"))
        assert listed.topic_id == made.topic_id
        assert not listed.is_internal

    def test_each_topic_of_several_has_its_own_outcome(self, admin):
        made = admin.create_topics([NewTopic("several", 1, 1), NewTopic("no good", 1, 1), NewTopic("many", 1, 9)])
        assert made["several"].partitions == 1
        assert isinstance(made.errors["no good"], errors.InvalidTopicException)
        assert isinstance(made.errors["many"], errors.InvalidReplicationFactor)
        with pytest.raises(errors.InvalidTopicException):
            made["no good"]
        with pytest.raises(errors.KafkaError):
            made.raise_any()
        assert set(made) == {"several", "no good", "many"}
        assert set(made.values_ok) == {"several"}

    def test_a_topic_that_exists(self, admin, topic):
        with pytest.raises(errors.TopicAlreadyExists, match="already exists"):
            admin.create_topic(topic, 1, 1)

    def test_a_topic_with_named_replicas(self, admin):
        made = admin.create_topics([NewTopic("placed", assignments={0: [1], 1: [1]})])
        assert made["placed"].partitions == 2

    def test_to_validate_makes_nothing(self, admin):
        assert admin.create_topics([NewTopic("only-checked", 1, 1)], validate_only=True).errors == {}
        assert "only-checked" not in admin.list_topics()

    def test_a_config_that_does_not_exist(self, admin):
        with pytest.raises(errors.InvalidConfig):
            admin.create_topic("bad-config", 1, 1, no_such_config=1)

    def test_description(self, admin, topic):
        found = admin.describe_topics([topic, "nobody-knows-it"])
        assert [each.partition for each in found[topic].partitions] == [0, 1, 2]
        assert {each.leader.id for each in found[topic].partitions} == {1}
        assert found[topic].partitions[0].replicas == found[topic].partitions[0].isr == (1,)
        assert isinstance(found.errors["nobody-knows-it"], errors.UnknownTopicOrPartition)

    def test_more_partitions(self, admin, topic):
        grown = admin.create_partitions({topic: 5, "nobody-knows-it": 2})
        assert grown[topic] is None
        assert isinstance(grown.errors["nobody-knows-it"], errors.UnknownTopicOrPartition)
        until(lambda: len(admin.describe_topics([topic])[topic].partitions) == 5)
        assert isinstance(admin.create_partitions({topic: 2}).errors[topic], errors.InvalidPartitions)

    def test_deletion(self, admin, topic):
        gone = admin.delete_topics([topic, "nobody-knows-it"])
        assert gone[topic] is None
        assert isinstance(gone.errors["nobody-knows-it"], errors.UnknownTopicOrPartition)
        until(lambda: topic not in admin.list_topics())

    def test_internal_topics_are_listed_on_demand(self, admin, cluster, topic):
        admin.alter_group_offsets("makes-the-topic", {TopicPartition(topic, 0): 0}).raise_any()
        assert "__consumer_offsets" not in admin.list_topics()
        assert admin.list_topics(internal=True)["__consumer_offsets"].is_internal


class TestRecords:
    def test_offsets_by_time(self, admin, cluster, topic):
        write(cluster, topic, 1, [b"a", b"b", b"c"])
        place = TopicPartition(topic, 1)
        assert admin.list_offsets({place: EARLIEST})[place].offset == 0
        assert admin.list_offsets({place: LATEST})[place].offset == 3
        assert admin.list_offsets({place: 1_700_000_000_001})[place][:2] == (1, 1_700_000_000_001)
        assert admin.list_offsets({place: MAX_TIMESTAMP})[place][:2] == (2, 1_700_000_000_002)
        assert admin.list_offsets({place: 1_800_000_000_000})[place].offset == -1

    def test_several_partitions_and_one_that_is_not_there(self, admin, topic):
        wanted = {TopicPartition(topic, number): LATEST for number in (0, 2, 7)}
        found = admin.list_offsets(wanted, timeout=15)
        assert found[TopicPartition(topic, 0)].offset == found[TopicPartition(topic, 2)].offset == 0
        assert isinstance(found.errors[TopicPartition(topic, 7)], errors.UnknownTopicOrPartition)

    def test_deleted_records(self, admin, cluster, topic):
        write(cluster, topic, 0, [b"a", b"b", b"c"])
        place, beyond = TopicPartition(topic, 0), TopicPartition(topic, 1)
        gone = admin.delete_records({place: 2, beyond: 100})
        assert gone[place] == 2
        assert isinstance(gone.errors[beyond], errors.OffsetOutOfRange)
        assert admin.list_offsets({place: EARLIEST})[place].offset == 2
        assert admin.delete_records({place: -1})[place] == 3


class TestConfigs:
    def test_a_topics_configs_are_changed_and_told(self, admin, topic):
        resource = ConfigResource.topic(topic)
        before = admin.describe_configs([resource])[resource]
        assert before["max.message.bytes"].is_default
        changes = [ConfigChange("max.message.bytes", 1000), ConfigChange("cleanup.policy", "compact", APPEND)]
        admin.incremental_alter_configs({resource: changes}).raise_any()
        after = until(
            lambda: admin.describe_configs([resource], synonyms=True)[resource],
            lambda told: told["max.message.bytes"].value == "1000",
        )
        assert after["max.message.bytes"].source == "DYNAMIC_TOPIC_CONFIG"
        assert after["max.message.bytes"].synonyms[0][1:] == ("1000", "DYNAMIC_TOPIC_CONFIG")
        assert set(after["cleanup.policy"].value.split(",")) == {"delete", "compact"}
        admin.incremental_alter_configs({resource: [ConfigChange("max.message.bytes", operation=DELETE)]}).raise_any()
        until(lambda: admin.describe_configs([resource])[resource]["max.message.bytes"].is_default)

    def test_some_configs_by_name(self, admin, topic):
        resource = ConfigResource.topic(topic)
        found = admin.describe_configs([resource], names=["segment.bytes", "cleanup.policy"], documentation=True)
        assert set(found[resource]) == {"segment.bytes", "cleanup.policy"}
        assert found[resource]["segment.bytes"].documentation

    def test_each_resource_has_its_own_outcome(self, admin, topic):
        good, missing = ConfigResource.topic(topic), ConfigResource.topic("nobody-knows-it")
        found = admin.describe_configs([good, missing])
        assert found[good]
        assert isinstance(found.errors[missing], errors.UnknownTopicOrPartition)
        wrong = admin.incremental_alter_configs({good: [ConfigChange("max.message.bytes", "soon")]})
        assert isinstance(wrong.errors[good], errors.InvalidConfig)

    def test_a_broker_and_all_brokers(self, admin):
        one, everyone = ConfigResource.broker(1), ConfigResource.broker()
        admin.incremental_alter_configs({everyone: [ConfigChange("log.cleaner.threads", 2)]}).raise_any()
        told = until(
            lambda: admin.describe_configs([one])[one]["log.cleaner.threads"],
            lambda entry: entry.value == "2",
        )
        assert told.source == "DYNAMIC_DEFAULT_BROKER_CONFIG"
        assert not told.is_sensitive
        assert admin.describe_configs([one])[one]["node.id"].is_read_only
        assert admin.describe_configs([everyone])[everyone]["log.cleaner.threads"].value == "2"
        admin.incremental_alter_configs({everyone: [ConfigChange("log.cleaner.threads", operation=DELETE)]}).raise_any()

    def test_a_validation_changes_nothing(self, admin, topic):
        resource = ConfigResource.topic(topic)
        admin.incremental_alter_configs(
            {resource: [ConfigChange("max.message.bytes", 500)]}, validate_only=True
        ).raise_any()
        assert admin.describe_configs([resource])[resource]["max.message.bytes"].is_default


class TestGroups:
    def test_offsets_are_set_told_and_deleted(self, admin, topic):
        first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
        wanted = {first: OffsetAndMetadata(0, "a note", -1), second: 0}
        admin.alter_group_offsets("offsets", wanted).raise_any()
        assert admin.list_group_offsets("offsets")["offsets"] == {
            first: OffsetAndMetadata(0, "a note"),
            second: OffsetAndMetadata(0),
        }
        assert admin.list_group_offsets({"offsets": [second]})["offsets"] == {second: OffsetAndMetadata(0)}
        admin.delete_group_offsets("offsets", [first]).raise_any()
        assert set(admin.list_group_offsets("offsets")["offsets"]) == {second}

    def test_several_groups_at_once(self, admin, topic):
        place = TopicPartition(topic, 2)
        for group in ("several-1", "several-2"):
            admin.alter_group_offsets(group, {place: 0}).raise_any()
        found = admin.list_group_offsets(["several-1", "several-2", "nobody"], require_stable=True)
        assert found["several-1"] == found["several-2"] == {place: OffsetAndMetadata(0)}
        assert found["nobody"] == {}

    def test_a_group_with_a_member(self, admin, cluster, topic):
        with member(cluster, "with-a-member", topic):
            listed = until(
                lambda: admin.list_groups().get("with-a-member"),
                lambda told: told is not None and told.state == "Stable",
            )
            assert listed.protocol_type == "consumer"
            found = admin.describe_groups(["with-a-member"])["with-a-member"]
            assert (found.kind, found.state, found.assignor, found.coordinator) == ("classic", "Stable", "range", 1)
            (one,) = found.members
            assert one.client_id == "reader"
            assert one.assignment == {TopicPartition(topic, number) for number in range(3)}
            assert isinstance(admin.delete_groups(["with-a-member"]).errors["with-a-member"], errors.NonEmptyGroup)
        until(lambda: admin.describe_groups(["with-a-member"])["with-a-member"].state == "Empty")
        assert admin.delete_groups(["with-a-member"])["with-a-member"] is None
        assert "with-a-member" not in admin.list_groups()

    def test_a_group_of_the_newer_protocol(self, admin, cluster, topic, request):
        if "3.3" in request.node.callspec.params["cluster"]:
            return  # it has the classic one alone
        everything = {TopicPartition(topic, number) for number in range(3)}
        epoch = 0

        def described():
            nonlocal epoch
            epoch = admin._host.run(lambda asker: heartbeat(asker, "newer", topic, epoch))
            return admin.describe_groups(["newer"])["newer"]

        found = until(described, lambda told: told.members[0].target == everything)
        assert (found.kind, found.protocol_type) == ("consumer", "consumer")
        (one,) = found.members
        assert (one.member_id, one.epoch) == ("a-member-of-its-own", epoch)
        assert admin.list_groups(kinds=["consumer"]).keys() == {"newer"}

    def test_a_group_that_is_not_there(self, admin):
        assert isinstance(admin.describe_groups(["nobody"]).errors["nobody"], errors.GroupIdNotFound)
        assert isinstance(admin.delete_groups(["nobody"]).errors["nobody"], errors.GroupIdNotFound)

    def test_groups_by_state(self, admin, topic):
        admin.alter_group_offsets("by-state", {TopicPartition(topic, 0): 0}).raise_any()
        assert "by-state" in admin.list_groups(states=["Empty"])
        assert "by-state" not in admin.list_groups(states=["Stable"])

    def test_members_are_removed(self, admin, cluster, topic):
        with member(cluster, "static", topic, group_instance_id="one"):
            until(lambda: admin.describe_groups(["static"])["static"].state == "Stable")
            nobody = MemberToRemove(instance_id="nobody")
            gone = admin.remove_members_from_group("static", [MemberToRemove("one"), nobody])
            assert gone[MemberToRemove("one")] is None
            assert isinstance(gone.errors[nobody], errors.UnknownMemberId)
            assert admin.describe_groups(["static"])["static"].members == ()


class TestCluster:
    def test_description(self, admin, cluster):
        found = admin.describe_cluster(include_authorized_operations=True)
        assert [node.id for node in found.nodes] == [1]
        assert found.controller in found.nodes
        assert f"{found.nodes[0].host}:{found.nodes[0].port}" == cluster
        assert found.authorized_operations
        assert admin.describe_cluster().authorized_operations is None


class TestAsyncio:
    def test_the_same_operations_to_await(self, cluster):
        async def story():
            async with AsyncioAdminClient(bootstrap_servers=cluster) as admin:
                made = await asyncio.gather(*(admin.create_topic(f"async-{number}", 1, 1) for number in range(5)))
                assert {topic.name for topic in made} == {f"async-{number}" for number in range(5)}
                with pytest.raises(errors.TopicAlreadyExists):
                    await admin.create_topic("async-0", 1, 1)
                gone = await admin.delete_topics([topic.name for topic in made])
                assert gone.errors == {}

        asyncio.run(story())
