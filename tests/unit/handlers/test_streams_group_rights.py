"""Who may take part in a streams group, who may have its topics made, and who may look at it."""

import pytest

from broker_kit import SimBroker, SimClient
from handler_kit import Rights
from odradek.protocol import errors
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.protocol.messages.k88_streams_group_heartbeat import StreamsGroupHeartbeatRequest
from odradek.protocol.messages.k89_streams_group_describe import StreamsGroupDescribeRequest
from odradek.security import acl
from odradek.sim.world import World
from streams_kit import internal, subtopology, topology

READ = (acl.READ, acl.GROUP, "g")
DESCRIBE_T, DESCRIBE_C = (acl.DESCRIBE, acl.TOPIC, "t"), (acl.DESCRIBE, acl.TOPIC, "c")
JOINS = StreamsGroupHeartbeatRequest(
    group_id="g",
    member_id="m",
    rebalance_timeout_ms=1000,
    topology=topology(subtopology("0", "t", changelogs=[internal("c")])),
    active_tasks=[],
    standby_tasks=[],
    warmup_tasks=[],
    process_id="p",
)


class Guarded:
    def __init__(self):
        properties = {"offsets.topic.num.partitions": "1", "group.streams.initial.rebalance.delay.ms": "0"}
        self.broker = SimBroker(World(seed=5), properties=properties).wait_until_ready()
        self.client = SimClient(self.broker.world, "client", self.broker.address)
        self.client.ask(MetadataRequest(topics=[MetadataRequestTopic(name="t")], allow_auto_topic_creation=True), 9)
        self.client.ask(FindCoordinatorRequest(key="g", key_type=0), 2)
        self.broker.world.run_for(2000)

    def with_rights(self, *allowed):
        server = self.broker.server
        server.broker.services.authorizer = server.controller.services.authorizer = Rights(*allowed)
        return self.client

    def has_topic(self, name):
        self.broker.world.run_for(2000)
        return self.broker.server.broker.services.groups.topics.by_name(name) is not None


@pytest.fixture
def guarded():
    return Guarded()


def test_who_may_not_read_the_group(guarded):
    answer = guarded.with_rights(DESCRIBE_T, DESCRIBE_C).ask(JOINS, 0)
    assert answer.error_code == errors.GroupAuthorizationFailed.code


def test_who_may_not_describe_a_topic_of_the_topology(guarded):
    answer = guarded.with_rights(READ, DESCRIBE_T).ask(JOINS, 0)
    assert answer.error_code == errors.TopicAuthorizationFailed.code


def test_who_may_not_create_the_internal_topics_is_told(guarded):
    answer = guarded.with_rights(READ, DESCRIBE_T, DESCRIBE_C).ask(JOINS, 0)
    assert answer.error_code == 0
    detail = "Internal topics are missing: c; Unauthorized to CREATE on topics c."
    assert [status.status_detail for status in answer.status] == [detail]
    assert not guarded.has_topic("c")


@pytest.mark.parametrize(
    "right", [(acl.CREATE, acl.TOPIC, "c"), (acl.CREATE, acl.CLUSTER, acl.CLUSTER_NAME)], ids=["topic", "cluster"]
)
def test_who_may_create_them_has_them_made(guarded, right):
    answer = guarded.with_rights(READ, DESCRIBE_T, DESCRIBE_C, right).ask(JOINS, 0)
    assert [status.status_detail for status in answer.status] == ["Internal topics are missing: c"]
    assert guarded.has_topic("c")


def test_who_may_look(guarded):
    def described(*rights):
        asked = StreamsGroupDescribeRequest(group_ids=["g"], include_authorized_operations=True)
        return guarded.with_rights(*rights).ask(asked, 0).groups[0]

    guarded.with_rights(READ, DESCRIBE_T, DESCRIBE_C).ask(JOINS, 0)
    look = (acl.DESCRIBE, acl.GROUP, "g")
    assert described().error_code == errors.GroupAuthorizationFailed.code
    hidden = described(look, DESCRIBE_T)
    assert (hidden.error_code, hidden.members) == (errors.TopicAuthorizationFailed.code, [])
    assert described(look, DESCRIBE_T, DESCRIBE_C).authorized_operations == 1 << acl.DESCRIBE
