"""Topics that cannot be made keep clients waiting: the start says so, and the log whenever somebody asks."""

import pytest

from broker_kit import SimBroker, SimClient
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.sim.world import World

COORDINATOR_NOT_AVAILABLE = 15


def started(properties, release="4.3"):
    broker = SimBroker(World(1), release=release, properties=properties).wait_until_ready()
    return broker, SimClient(broker.world, "client", broker.address)


def warned(broker, words):
    return [line for line in broker.lines if words in line and line.startswith("WARN")]


def find(client):
    answer = client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4)
    return answer.coordinators[0].error_code


@pytest.mark.parametrize("release", ["3.3", "4.3"])
def test_internal_topics_that_one_broker_cannot_make_are_told_of_at_the_start(release):
    of_groups = {"offsets.topic.replication.factor": "3"}
    of_transactions = {"transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "2"}
    broker, _ = started({**of_groups, **of_transactions}, release)
    told = broker.server.config_warnings
    assert any(
        line.startswith("groups will wait: offsets.topic.replication.factor=3 needs as many brokers to create ")
        and line.endswith("there is 1; set offsets.topic.replication.factor=1")
        for line in told
    ), told
    assert any("transactions will wait" in line and "set transaction.state.log.min.isr=1" in line for line in told)
    assert any("share.coordinator.state.topic.min.isr=1" in line for line in told) is (release == "4.3")


def test_topics_that_are_there_already_need_no_word():
    broker, client = started({"offsets.topic.replication.factor": "1"})
    find(client)
    assert broker.world.run_until(lambda: find(client) == 0, 5000)
    broker.properties["offsets.topic.replication.factor"] = "3"
    broker.stop()
    broker.restart()
    assert not [line for line in broker.server.config_warnings if line.startswith("groups will wait")]


def test_whoever_waits_for_a_coordinator_leaves_a_line_now_and_then():
    broker, client = started({"offsets.topic.replication.factor": "3"})
    before = len(warned(broker, "WARN groups will wait"))
    for _ in range(20):
        assert find(client) == COORDINATOR_NOT_AVAILABLE
        broker.world.run_for(500)
    assert len(warned(broker, "WARN groups will wait")) == before + 1
    broker.world.run_for(30_000)
    assert find(client) == COORDINATOR_NOT_AVAILABLE
    broker.world.run_for(500)
    assert len(warned(broker, "WARN groups will wait")) == before + 2


WITHOUT_BROKERS = "default.replication.factor=3 needs as many brokers, and there is 1; set default.replication.factor=1"


def ask_for(client, topic):
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=True)
    return client.ask(request, 12).topics[0].error_code


def test_topics_of_clients_that_one_broker_cannot_make_are_told_of_at_the_start_and_when_asked_for():
    broker, client = started({"default.replication.factor": "3"})
    assert f"topics that clients ask for will not be created: {WITHOUT_BROKERS}" in broker.server.config_warnings
    for number in range(10):
        assert ask_for(client, f"wanted-{number}") != 0
        broker.world.run_for(500)
    (told,) = warned(broker, "which a client asks for")
    assert told.endswith(f"the topic wanted-0, which a client asks for, is not created: {WITHOUT_BROKERS}")
    broker.world.run_for(30_000)
    ask_for(client, "later")
    broker.world.run_for(500)
    assert len(warned(broker, "which a client asks for")) == 2


@pytest.mark.parametrize("properties", [{"default.replication.factor": "3", "auto.create.topics.enable": "false"}, {}])
def test_where_no_topic_is_missing_nothing_is_told(properties):
    broker, client = started(properties)
    assert not [line for line in broker.server.config_warnings if "topics that clients ask for" in line]
    ask_for(client, "wanted")
    broker.world.run_for(1000)
    assert warned(broker, "which a client asks for") == []


def test_a_topic_that_is_refused_for_another_reason_is_told_with_it():
    broker, client = started({})
    assert broker.world.run_until(lambda: ask_for(client, "a.b") == 0, 5000)
    ask_for(client, "a_b")  # the names of metrics would be the same
    assert broker.world.run_until(lambda: warned(broker, "the topic a_b, which a client asks for"), 5000)
    assert "INVALID_TOPIC_EXCEPTION" in warned(broker, "the topic a_b")[0]
