"""Metadata and DescribeCluster: brokers, topics and partitions as one listener's clients see them."""

import pytest

from handler_kit import CLUSTER_ID, Handlers, Peer, broker, topic, topic_id_of
from odradek.handlers.auto_creation import creatable
from odradek.metadata.directory_ids import LOST
from odradek.protocol import releases
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.k60_describe_cluster import DescribeClusterRequest
from odradek.security import acl

DIRECTORY = b"directory-1-----"


def named(*names, **more):
    return MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names], **more)


def by_name(response):
    return {topic.name: topic for topic in response.topics}


def codes(response):
    return {topic.name: topic.error_code for topic in response.topics}


def partition_of(handlers, version=9):
    return handlers.ask(named("t"), version).topics[0].partitions[0]


def test_version_0_asks_for_all_with_an_empty_list_and_1_for_none():
    handlers = Handlers(broker(), *topic("t"), *topic("u"))
    assert [topic.name for topic in handlers.ask(MetadataRequest(topics=[]), 0).topics] == ["t", "u"]
    assert handlers.ask(MetadataRequest(topics=[]), 1).topics == []
    assert len(handlers.ask(MetadataRequest(topics=None), 1).topics) == 2


@pytest.mark.parametrize("version", range(14))
def test_every_version_tells_the_leader(version):
    handlers = Handlers(broker(rack="r1"), *topic("t"))
    response = handlers.ask(named("t"), version)
    (found,) = response.topics
    assert (found.error_code, found.name) == (0, "t")
    assert (found.partitions[0].leader_id, found.partitions[0].replica_nodes) == (1, [1])
    assert found.partitions[0].leader_epoch == (3 if version >= 7 else -1)
    assert found.topic_id == (topic_id_of("t") if version >= 10 else bytes(16))
    (node,) = response.brokers
    assert (node.node_id, node.host, node.port) == (1, "host1", 9001)
    assert node.rack == ("r1" if version >= 1 else None)
    assert response.cluster_id == (CLUSTER_ID if version >= 2 else None)
    assert response.controller_id == (1 if version >= 1 else -1)
    assert response.topics[0].topic_authorized_operations == acl.NOT_ASKED


def test_the_listener_of_the_connection_decides_the_addresses():
    handlers = Handlers(broker(listeners=("PLAINTEXT", "EXTERNAL")), broker(2), *topic("t", ([1, 2], 2)))
    (node,) = handlers.ask(named("t"), 9, Peer("EXTERNAL")).brokers
    assert node.port == 9101
    partition = handlers.ask(named("t"), 9, Peer("EXTERNAL")).topics[0].partitions[0]
    assert (partition.error_code, partition.leader_id, partition.offline_replicas) == (72, -1, [2])
    partition = handlers.ask(named("t"), 5, Peer("EXTERNAL")).topics[0].partitions[0]
    assert (partition.error_code, partition.leader_id) == (5, -1)
    partition = handlers.ask(named("t"), 0, Peer("EXTERNAL")).topics[0].partitions[0]
    assert (partition.error_code, partition.replica_nodes, partition.isr_nodes) == (5, [1], [1])


def test_fenced_brokers_are_not_told_and_their_replicas_offline():
    handlers = Handlers(broker(), broker(2, fenced=True), *topic("t", ([1, 2], 1, [1])))
    assert [node.node_id for node in handlers.ask(named("t"), 9).brokers] == [1]
    partition = partition_of(handlers)
    assert (partition.error_code, partition.replica_nodes, partition.offline_replicas) == (0, [1, 2], [2])


def test_a_partition_without_a_leader():
    partition = partition_of(Handlers(broker(), *topic("t", ([1], -1))))
    assert (partition.error_code, partition.leader_id, partition.leader_epoch) == (5, -1, 3)


@pytest.mark.parametrize(
    ("registered", "assigned", "offline"),
    [
        ((DIRECTORY,), DIRECTORY, []),
        ((DIRECTORY,), b"directory-2-----", [1]),
        ((DIRECTORY,), LOST, [1]),
        ((DIRECTORY,), bytes(16), []),
        ((), b"directory-2-----", []),
    ],
)
def test_a_replica_in_a_failed_directory_is_offline(registered, assigned, offline):
    handlers = Handlers(broker(directories=registered), *topic("t", ([1], 1, [1], [assigned])))
    assert partition_of(handlers).offline_replicas == offline


def test_names_that_are_wrong_missing_or_twice():
    response = Handlers(broker(), *topic("t")).ask(named("bad name", "", "nope", "t", "t", "__consumer_offsets"), 9)
    assert codes(response) == {"bad name": 17, "": 17, "nope": 3, "t": 0, "__consumer_offsets": 3}
    assert len(response.topics) == 5
    assert by_name(response)["__consumer_offsets"].is_internal
    assert not by_name(response)["nope"].is_internal


def test_topics_by_id():
    handlers = Handlers(broker(), *topic("t"))
    asked = [MetadataRequestTopic(topic_id=topic_id_of("t"), name=None), MetadataRequestTopic(topic_id=b"5" * 16)]
    response = handlers.ask(MetadataRequest(topics=asked), 12)
    assert [(topic.error_code, topic.name, topic.topic_id) for topic in response.topics] == [
        (0, "t", topic_id_of("t")),
        (100, None, b"5" * 16),
    ]
    refused = handlers.ask(MetadataRequest(topics=asked[:1]), 11)
    assert [(topic.error_code, topic.name) for topic in refused.topics] == [(42, "")]
    assert refused.brokers == []


def test_neither_name_nor_id_fails_the_whole_request():
    handlers = Handlers(broker())
    assert handlers.ask(named(None), 13).error_code == -1
    response = handlers.ask(named(None), 12)
    assert [(topic.error_code, topic.name) for topic in response.topics] == [(-1, "")]
    assert (response.brokers, response.cluster_id, response.controller_id) == ([], None, -1)


def test_authorized_operations_without_an_authorizer_are_all():
    asked = named("t", include_cluster_authorized_operations=True, include_topic_authorized_operations=True)
    response = Handlers(broker(), *topic("t")).ask(asked, 10)
    assert response.topics[0].topic_authorized_operations == 3576
    assert response.cluster_authorized_operations == 8096


class Only:
    """Allows what is listed: (operation, resource type, name)."""

    def __init__(self, *allowed):
        self.allowed = allowed

    def authorize(self, call, operation, resource_type, name):
        return (operation, resource_type, name) in self.allowed


def test_what_the_caller_may_not_see():
    handlers = Handlers(broker(), *topic("t"), *topic("u"))
    handlers.services.authorizer = Only((acl.DESCRIBE, acl.TOPIC, "t"))
    assert codes(handlers.ask(MetadataRequest(topics=None), 9)) == {"t": 0}
    assert codes(handlers.ask(named("t", "u"), 9)) == {"t": 0, "u": 29}
    by_id = [MetadataRequestTopic(topic_id=topic_id_of("u"), name=None)]
    (denied,) = handlers.ask(MetadataRequest(topics=by_id), 12).topics
    assert (denied.error_code, denied.name, denied.topic_id) == (29, None, topic_id_of("u"))
    asked = named("t", include_cluster_authorized_operations=True, include_topic_authorized_operations=True)
    response = handlers.ask(asked, 9)
    assert (response.cluster_authorized_operations, response.topics[0].topic_authorized_operations) == (0, 1 << 8)


# Topics that come into being because somebody asks


def test_internal_topics_are_created_as_their_coordinators_want():
    config = Handlers(static={"offsets.topic.num.partitions": "7"}).configs.config
    offsets = creatable("__consumer_offsets", config)
    assert (offsets.num_partitions, offsets.replication_factor) == (7, 3)
    assert {c.name: c.value for c in offsets.configs} == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "104857600",
    }
    state = creatable("__transaction_state", config)
    assert {c.name: c.value for c in state.configs}["min.insync.replicas"] == "2"
    plain = creatable("t", config)
    assert (plain.num_partitions, plain.replication_factor, plain.configs) == (1, 1, [])


# DescribeCluster


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_cluster_in_every_version(version):
    handlers = Handlers(broker(rack="a"), broker(2, fenced=True))
    response = handlers.ask(DescribeClusterRequest(include_cluster_authorized_operations=True), version)
    assert (response.error_code, response.cluster_id, response.controller_id) == (0, CLUSTER_ID, 1)
    assert [(node.broker_id, node.host, node.rack) for node in response.brokers] == [(1, "host1", "a")]
    assert response.cluster_authorized_operations == 8096


def test_fenced_brokers_on_demand():
    handlers = Handlers(broker(), broker(2, fenced=True))
    response = handlers.ask(DescribeClusterRequest(include_fenced_brokers=True), 2)
    assert [(node.broker_id, node.is_fenced) for node in response.brokers] == [(1, False), (2, True)]
    assert response.cluster_authorized_operations == acl.NOT_ASKED


@pytest.mark.parametrize(("wanted", "code"), [(2, 114), (0, 115), (9, 115)])
def test_a_broker_tells_of_brokers_only(wanted, code):
    assert Handlers(broker()).ask(DescribeClusterRequest(endpoint_type=wanted), 1).error_code == code


def test_a_controller_does_not_tell_of_brokers():
    handlers = Handlers(broker(), kind=releases.CONTROLLER)
    assert handlers.ask(DescribeClusterRequest(), 0).error_code == 42
    assert handlers.ask(DescribeClusterRequest(endpoint_type=1), 1).error_code == 114
