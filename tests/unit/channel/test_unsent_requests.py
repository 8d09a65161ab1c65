"""Requests that wait for their connection."""

import pytest

from channel_kit import CONFIG, ScriptedBroker
from odradek.channel.errors import ClientClosed, Disconnected
from odradek.channel.node import Node
from odradek.channel.unsent_requests import UnsentRequests
from odradek.protocol.errors import EncodeError
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse


def heartbeat(number=0):
    return HeartbeatRequest(group_id=str(number), member_id="m")


def answering(outside, **options):
    broker = ScriptedBroker(outside, **options)
    return broker.answers(HeartbeatRequest, lambda asked: HeartbeatResponse(error_code=int(asked.request.group_id)))


def test_requests_go_out_in_order_once_the_node_is_ready(outside):
    broker = answering(outside)
    unsent = UnsentRequests(outside.client(CONFIG._replace(max_in_flight_requests_per_connection=2)))
    waiting = [unsent.send(broker.node, heartbeat(number)) for number in range(10)]
    assert len(unsent) == 10
    assert [outside.outcome(each).error_code for each in waiting] == list(range(10))
    assert len(unsent) == 0


def test_a_failed_attempt_fails_those_that_wait_and_those_that_come_at_once_after_it(sim):
    node = Node(1, sim.world.node("dead").address, 9092)
    client = sim.client()
    unsent = UnsentRequests(client)
    waiting = [unsent.send(node, heartbeat()), unsent.send(node, heartbeat())]
    assert [type(sim.outcome(each)) for each in waiting] == [Disconnected, Disconnected]
    before = sim.now_ms()
    assert isinstance(sim.outcome(unsent.send(node, heartbeat())), Disconnected)
    assert sim.now_ms() == before
    sim.pass_ms(100)
    later = unsent.send(node, heartbeat())  # the pause is over: it is tried again
    assert not later.is_done
    assert isinstance(sim.outcome(later), Disconnected)


def test_the_wait_for_the_connection_is_a_part_of_a_requests_time(sim):
    sim.world.node("silent")
    sim.world.fabric.cut("10.0.0.1", "10.0.0.2")
    unsent = UnsentRequests(sim.client())
    before = sim.now_ms()
    late = unsent.send(Node(1, "10.0.0.2", 9092), heartbeat(), timeout_ms=300)
    other = unsent.send(Node(1, "10.0.0.2", 9092), heartbeat(), timeout_ms=900)
    assert isinstance(sim.outcome(late), Disconnected)
    assert sim.now_ms() - before == 300
    assert not other.is_done
    assert isinstance(sim.outcome(other), Disconnected)
    assert sim.now_ms() - before == 900


def test_a_request_that_is_late_tells_why_the_attempt_before_has_failed(sim):
    node = Node(1, sim.world.node("dead").address, 9092)
    unsent = UnsentRequests(sim.client())
    refused = sim.outcome(unsent.send(node, heartbeat()))
    sim.pass_ms(100)
    sim.world.fabric.cut("10.0.0.1", node.host)  # from now on nobody answers at all
    late = sim.outcome(unsent.send(node, heartbeat(), timeout_ms=300))
    assert "still being set up" in late.message
    assert late.message.endswith(f"the attempt before failed: {refused.message}")


@pytest.mark.contract("C15")
def test_a_throttled_node_gets_the_next_request_when_its_time_is_over(sim):
    broker = ScriptedBroker(sim).answers(HeartbeatRequest, HeartbeatResponse(throttle_time_ms=400))
    unsent = UnsentRequests(sim.client())
    sim.outcome(unsent.send(broker.node, heartbeat()))
    second = unsent.send(broker.node, heartbeat())
    sim.pass_ms(395)
    assert len(broker.asked) == 1
    sim.pass_ms(10)
    assert len(broker.asked) == 2
    sim.outcome(second)


def test_a_request_that_cannot_be_encoded_fails_and_holds_nobody_up(outside):
    broker = answering(outside)
    unsent = UnsentRequests(outside.client())
    bad = unsent.send(broker.node, HeartbeatRequest(group_id="g", member_id="m", group_instance_id="i"), version=0)
    good = unsent.send(broker.node, heartbeat(4))
    assert isinstance(outside.outcome(bad), EncodeError)
    assert outside.outcome(good).error_code == 4


def test_closing_fails_those_that_wait(outside):
    broker = answering(outside)
    client = outside.client()
    unsent = UnsentRequests(client)
    waiting = unsent.send(broker.node, heartbeat())
    client.close()
    unsent.close()
    assert isinstance(outside.outcome(waiting), Disconnected)
    with pytest.raises(ClientClosed):
        unsent.send(broker.node, heartbeat())
