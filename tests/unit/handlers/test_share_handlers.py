"""ShareFetch and DescribeShareGroupOffsets on a broker: sessions begin and end, and each partition is told of."""

import pytest

from broker_kit import SimBroker, SimClient
from odradek.protocol import errors
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.protocol.messages.k78_share_fetch import ShareFetchRequest
from odradek.protocol.messages.k90_describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from odradek.security import acl
from odradek.sim.world import World

PROPERTIES = {
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}


class AllBut:
    """An authorizer that allows everything but what is listed."""

    def __init__(self, *refused):
        self.refused = set(refused)

    def authorize(self, call, operation, resource_type, name):
        return (operation, resource_type, name) not in self.refused


@pytest.fixture
def broker():
    made = SimBroker(World(seed=7), properties=PROPERTIES).wait_until_ready()
    yield made
    assert made.errors == []


@pytest.fixture
def client(broker):
    return SimClient(broker.world, "client", broker.address)


def test_a_share_session_lasts_until_its_member_ends_it(client):
    def code(epoch):
        request = ShareFetchRequest(group_id="g", member_id="m", share_session_epoch=epoch, max_wait_ms=0)
        return client.ask(request, 2).error_code

    assert code(1) == errors.ShareSessionNotFound.code, "nobody has begun it"
    assert [code(0), code(1), code(2)] == [0, 0, 0]
    assert code(-1) == 0
    assert code(3) == errors.ShareSessionNotFound.code


def test_who_describes_a_share_group_is_told_of_each_partition_or_why_not(broker, client):
    names = ("seen", "hidden")
    asked = [MetadataRequestTopic(name=name) for name in names]
    client.ask(MetadataRequest(topics=asked, allow_auto_topic_creation=True), 9)
    finds = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
    client.ask_until(finds, 6, lambda response: not response.coordinators[0].error_code)
    broker.server.broker.services.authorizer = AllBut((acl.DESCRIBE, acl.TOPIC, "hidden"))
    wanted = [DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=[0]) for name in names]
    group = DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=wanted)
    request = DescribeShareGroupOffsetsRequest(groups=[group])
    (answer,) = client.ask_until(request, 1, lambda response: not response.groups[0].error_code).groups
    told = {topic.topic_name: topic.partitions[0] for topic in answer.topics}
    assert (told["seen"].error_code, told["seen"].error_message, told["seen"].start_offset) == (0, None, -1)
    assert told["hidden"].error_code == errors.TopicAuthorizationFailed.code and told["hidden"].error_message
