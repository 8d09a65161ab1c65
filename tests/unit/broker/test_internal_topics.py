"""Internal topics that cannot be made keep clients waiting: the start says so, and the log whenever somebody asks."""

import pytest

from broker_kit import SimBroker, SimClient
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
