"""A client by what it wants to reach, while brokers come, go and move; and the driver of cores on it."""

import pytest

from channel_kit import CLOSE, CONFIG, SILENT, ScriptedBroker, cluster_of, topic
from odradek.channel.channel import Channel
from odradek.channel.client_connection import ChannelSecurity
from odradek.channel.core import ANY_BROKER, THE_CONTROLLER, ByVersion, Send, coordinator, leader
from odradek.channel.core import broker as numbered
from odradek.channel.driver import Driver
from odradek.channel.errors import Disconnected
from odradek.channel.sasl_client import PlainSaslClient
from odradek.protocol.errors import (
    RequestTimedOut,
    SaslAuthenticationFailed,
    TopicAuthorizationFailed,
    UnsupportedVersion,
)
from odradek.protocol.messages.k00_produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataResponse
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from odradek.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse


def heartbeat():
    return HeartbeatRequest(group_id="g", member_id="m")


class Brokers:
    """A cluster of scripted brokers that agree on who leads what."""

    def __init__(self, outside, count=2):
        self.topics = [("t", [1, 2])]
        self.controller_id = -1
        self.all = [ScriptedBroker(outside, number, name=f"b{number}") for number in range(1, count + 1)]
        self.members = list(self.all)  # those that metadata tell of
        for broker in self.all:
            broker.answers(MetadataRequest, lambda _: self.metadata())
            broker.answers(HeartbeatRequest, HeartbeatResponse(error_code=broker.node_id))
            broker.answers(ProduceRequest, lambda asked, broker=broker: self.produced(broker, asked))

    def metadata(self):
        return cluster_of(
            *(broker.node for broker in self.members), topics=self.topics, controller_id=self.controller_id
        )

    def produced(self, broker, asked):
        (sent,) = asked.request.topic_data
        index = sent.partition_data[0].index
        leader_id = self.topics[0][1][index]
        leader_id = leader_id[0] if isinstance(leader_id, tuple) else leader_id
        answer = PartitionProduceResponse(index=index, error_code=0 if leader_id == broker.node_id else 6)
        return ProduceResponse(responses=[TopicProduceResponse(name=sent.name, partition_responses=[answer])])

    def asked_for_metadata(self):
        return [asked for broker in self.all for asked in broker.asked_for(MetadataRequest)]


def produce(index=0):
    data = PartitionProduceData(index=index, records=b"")
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=[data])])


# Metadata


@pytest.mark.contract("A46", "C9", "C11", "C16")
def test_metadata_is_asked_for_by_itself_and_once_at_a_time(outside):
    brokers = Brokers(outside)
    channel = outside.channel(*brokers.all)
    outside.until(lambda: not channel.metadata.cluster.is_bootstrap)
    assert [node.id for node in channel.metadata.cluster.nodes] == [1, 2]
    channel.metadata.request_update()
    channel.metadata.request_update()
    version = channel.metadata.update_version
    outside.until(lambda: channel.metadata.update_version > version)
    assert len(brokers.asked_for_metadata()) == 2


@pytest.mark.contract("C9")
def test_while_metadata_is_under_way_no_second_request_is_sent(sim):
    brokers = Brokers(sim, count=1)
    brokers.all[0].answers(MetadataRequest, lambda _: SILENT)
    channel = sim.channel(*brokers.all)
    sim.until(brokers.asked_for_metadata)
    channel.metadata.request_update()
    channel.metadata.add_topic("t", sim.now_ms())
    sim.pass_ms(5000)
    assert len(brokers.asked_for_metadata()) == 1


@pytest.mark.contract("A25")
def test_metadata_is_refreshed_when_it_is_old(sim):
    brokers = Brokers(sim, count=1)
    channel = sim.channel(*brokers.all, config=CONFIG._replace(metadata_max_age_ms=10_000))
    sim.until(lambda: not channel.metadata.cluster.is_bootstrap)
    sim.pass_ms(9_000)
    assert len(brokers.asked_for_metadata()) == 1
    sim.pass_ms(2_000)
    assert len(brokers.asked_for_metadata()) == 2


@pytest.mark.contract("A45")
def test_an_answer_without_brokers_is_asked_again(sim):
    brokers = Brokers(sim, count=1)
    answers = [MetadataResponse(), MetadataResponse()]
    brokers.all[0].answers(MetadataRequest, lambda _: answers.pop() if answers else brokers.metadata())
    channel = sim.channel(*brokers.all)
    sim.until(lambda: not channel.metadata.cluster.is_bootstrap)
    assert len(brokers.asked_for_metadata()) == 3


@pytest.mark.contract("A46")
def test_without_a_usable_node_it_is_tried_again_until_there_is_one(sim):
    brokers = Brokers(sim, count=1)
    (broker,) = brokers.all
    address = broker.node[1:3]
    broker.stop()
    channel = sim.channel(addresses=[address])
    sim.pass_ms(3000)
    assert channel.metadata.cluster.is_bootstrap
    again = ScriptedBroker(sim, 1, name="b1").answers(MetadataRequest, lambda _: brokers.metadata())
    brokers.members = [again]
    sim.until(lambda: not channel.metadata.cluster.is_bootstrap)


def test_a_bootstrap_server_that_is_dead_is_passed_over(sim):
    brokers = Brokers(sim, count=1)
    dead = (sim.world.node("dead").address, 9092)
    channel = sim.channel(addresses=[dead, dead, brokers.all[0].node[1:3]])
    sim.until(lambda: not channel.metadata.cluster.is_bootstrap)


def test_when_all_brokers_have_moved_the_bootstrap_servers_are_asked_again(sim):
    brokers = Brokers(sim, count=3)
    first, old, new = brokers.all
    brokers.members = [old]
    channel = sim.channel(first)
    sim.until(lambda: not channel.metadata.cluster.is_bootstrap)
    old.stop()
    first.hang_up()
    brokers.members = [new]
    sim.until(lambda: channel.metadata.cluster.node(3) is not None)


def test_a_client_that_may_not_start_over_stays_with_what_it_knows(sim):
    brokers = Brokers(sim, count=3)
    first, old, new = brokers.all
    brokers.members = [old]
    channel = sim.channel(first, config=CONFIG._replace(metadata_recovery_strategy="none"))
    sim.until(lambda: not channel.metadata.cluster.is_bootstrap)
    old.stop()
    first.hang_up()
    brokers.members = [new]
    sim.pass_ms(20_000)
    assert [node.id for node in channel.metadata.cluster.nodes] == [2]


def test_who_waits_for_metadata_is_told_what_makes_waiting_useless(outside):
    broker = ScriptedBroker(outside)
    broker.answers(SaslHandshakeRequest, SaslHandshakeResponse(mechanisms=["PLAIN"]))
    broker.answers(SaslAuthenticateRequest, SaslAuthenticateResponse(error_code=58, error_message="no"))
    security = ChannelSecurity(sasl=lambda: PlainSaslClient("alice", "wrong"))
    channel = outside.channel(broker, security=security)
    waiting = channel.updater.wait_for_update(channel.metadata.update_version, 10_000)
    assert isinstance(outside.outcome(waiting), SaslAuthenticationFailed)


def test_who_waits_for_metadata_in_vain_is_told_that(sim):
    channel = sim.channel(addresses=[(sim.world.node("dead").address, 9092)])
    before = sim.now_ms()
    waiting = channel.updater.wait_for_update(channel.metadata.update_version, 2000)
    assert isinstance(sim.outcome(waiting), RequestTimedOut)
    assert sim.now_ms() - before == 2000


def test_an_idle_client_sleeps(sim):
    brokers = Brokers(sim)
    channel = sim.channel(*brokers.all)
    sim.outcome(channel.send(leader("t", 0), produce()))
    sim.pass_ms(1000)
    before = sim.loop.turns
    sim.pass_ms(60_000)
    assert sim.loop.turns - before < 5


def test_a_client_without_a_cluster_does_not_spin(sim):
    sim.channel(addresses=[(sim.world.node("dead").address, 9092)])
    sim.pass_ms(10_000)  # the pauses have grown by now
    before = sim.loop.turns
    sim.pass_ms(10_000)
    assert sim.loop.turns - before < 10 * 30


# Destinations


def test_any_broker_will_do(outside):
    brokers = Brokers(outside)
    channel = outside.channel(*brokers.all)
    assert outside.outcome(channel.send(ANY_BROKER, heartbeat())).error_code in (1, 2)


def test_a_coordinator_is_asked_on_a_connection_of_its_own(outside):
    brokers = Brokers(outside)
    channel = outside.channel(*brokers.all)
    outside.until(lambda: not channel.metadata.cluster.is_bootstrap)
    produced = channel.send(leader("t", 1), produce(1))
    answer = outside.outcome(channel.send(coordinator(0, "g", 2), heartbeat()))
    assert answer.error_code == 2
    outside.outcome(produced)
    second = brokers.all[1]
    ends = {asked.connection for asked in second.asked if not isinstance(asked.request, MetadataRequest)}
    assert len(ends) == 2


def test_a_coordinator_that_is_not_known_fails_and_the_cluster_is_asked(sim):
    brokers = Brokers(sim)
    channel = sim.channel(*brokers.all)
    sim.until(lambda: not channel.metadata.cluster.is_bootstrap)
    asked = len(brokers.asked_for_metadata())
    error = sim.outcome(channel.send(coordinator(0, "g", 9), heartbeat()))
    assert "node 9 is not known" in str(error)
    sim.until(lambda: len(brokers.asked_for_metadata()) > asked)


def test_a_broker_is_asked_by_its_number(outside):
    brokers = Brokers(outside)
    channel = outside.channel(*brokers.all)
    outside.until(lambda: not channel.metadata.cluster.is_bootstrap)
    for number in (2, 1, 2):
        assert outside.outcome(channel.send(numbered(number), heartbeat())).error_code == number


def test_the_controller_is_asked_wherever_it_is(outside):
    brokers = Brokers(outside)
    brokers.controller_id = 2
    channel = outside.channel(*brokers.all)
    outside.until(lambda: not channel.metadata.cluster.is_bootstrap)
    assert outside.outcome(channel.send(THE_CONTROLLER, heartbeat())).error_code == 2
    brokers.controller_id = 1
    version = channel.metadata.update_version
    channel.metadata.request_update()
    outside.until(lambda: channel.metadata.update_version > version)
    assert outside.outcome(channel.send(THE_CONTROLLER, heartbeat())).error_code == 1


@pytest.mark.parametrize("destination", [numbered(9), THE_CONTROLLER])
def test_a_broker_that_is_not_known_fails_and_the_cluster_is_asked(sim, destination):
    brokers = Brokers(sim)
    channel = sim.channel(*brokers.all)
    sim.until(lambda: not channel.metadata.cluster.is_bootstrap)
    sim.pass_ms(1000)
    version = channel.metadata.update_version
    error = sim.outcome(channel.send(destination, heartbeat()))
    assert isinstance(error, Disconnected)
    assert "not known" in error.message
    sim.until(lambda: channel.metadata.update_version > version)


@pytest.mark.parametrize(("served", "said"), [((0, 2), None), ((0, 4), "instance")])
def test_a_request_is_made_for_the_version_that_it_is_sent_in(outside, served, said):
    asked = ScriptedBroker(outside, 1, versions={12: served, 3: (0, 12), 18: (0, 3)})
    asked.answers(MetadataRequest, lambda _: cluster_of(asked.node))
    asked.answers(HeartbeatRequest, HeartbeatResponse())
    channel = outside.channel(asked)

    def build(version):
        return HeartbeatRequest(group_id="g", member_id="m", group_instance_id="instance" if version >= 3 else None)

    outside.outcome(channel.send(ANY_BROKER, ByVersion(HeartbeatRequest.api_key, build)))
    (heard,) = asked.asked_for(HeartbeatRequest)
    assert (heard.version, heard.request.group_instance_id) == (served[1], said)


@pytest.mark.parametrize("error", [UnsupportedVersion("not in this one"), TypeError("a mistake in it")])
def test_who_cannot_make_its_request_is_told_at_once(outside, error):
    def build(version):
        raise error

    brokers = Brokers(outside)
    channel = outside.channel(*brokers.all)
    asked = channel.send(ANY_BROKER, ByVersion(HeartbeatRequest.api_key, build))
    assert outside.outcome(asked, seconds=5) is error
    assert outside.outcome(channel.send(ANY_BROKER, heartbeat())).error_code in (1, 2)


def test_while_no_broker_can_be_reached_each_is_named_with_its_cause(sim):
    brokers = Brokers(sim)
    for each in brokers.all:
        each.stop()
    channel = sim.channel(*brokers.all)
    first = sim.outcome(channel.send(ANY_BROKER, heartbeat()))
    assert isinstance(first, Disconnected)
    sim.until(lambda: all(channel.client.connection_failed(node.id) for node in channel.metadata.cluster.nodes))
    sim.pass_ms(1)
    again = sim.outcome(channel.send(ANY_BROKER, heartbeat()))
    for each in brokers.all:
        host, port = each.listener.address
        assert f"{host}:{port}" in again.message
    assert again.message.count("cannot connect") == 2


def test_a_leader_is_found_before_it_is_asked(outside):
    brokers = Brokers(outside)
    channel = outside.channel(*brokers.all)
    answer = outside.outcome(channel.send(leader("t", 1), produce(1)))
    assert answer.responses[0].partition_responses[0].error_code == 0
    assert len(brokers.all[1].asked_for(ProduceRequest)) == 1


def test_a_partition_that_nobody_leads_is_waited_for_until_the_time_is_up(sim):
    brokers = Brokers(sim)
    brokers.topics = [("t", [-1])]
    channel = sim.channel(*brokers.all)
    waiting = channel.send(leader("t", 0), produce(), timeout_ms=2000)
    sim.pass_ms(1000)
    assert not waiting.is_done
    brokers.topics = [("t", [(2, 1)])]
    assert sim.outcome(waiting).responses
    brokers.topics = [("t", [(-1, 2)])]
    channel.metadata.request_update()
    sim.until(lambda: channel.metadata.leader("t", 0) is None)
    before = sim.now_ms()
    assert isinstance(sim.outcome(channel.send(leader("t", 0), produce(), timeout_ms=2000)), RequestTimedOut)
    assert sim.now_ms() - before == 2000


def test_a_topic_that_the_client_may_not_see_fails_at_once(sim):
    brokers = Brokers(sim)
    response = brokers.metadata()
    response.topics = [topic("t", [], error_code=29)]
    for broker in brokers.all:
        broker.answers(MetadataRequest, lambda _: response)
    channel = sim.channel(*brokers.all)
    assert isinstance(sim.outcome(channel.send(leader("t", 0), produce())), TopicAuthorizationFailed)
    assert isinstance(sim.outcome(channel.send(leader("t", 0), produce())), TopicAuthorizationFailed)


def test_a_closed_channel_fails_what_waits(sim):
    brokers = Brokers(sim)
    brokers.topics = [("t", [-1])]
    channel = sim.channel(*brokers.all)
    waiting = [channel.send(leader("t", 0), produce()), channel.send(ANY_BROKER, heartbeat())]
    channel.close()
    assert [type(sim.outcome(each)) for each in waiting] == [Disconnected, Disconnected]
    sim.pass_ms(5000)
    assert not brokers.asked_for_metadata()


# The driver


class Once:
    """A core that wants one request answered, however often it takes."""

    def __init__(self, request, destination, version=None, pause_ms=100):
        self.request, self.destination, self.version = request, destination, version
        self.pause_ms = pause_ms
        self.due_ms = 0
        self.token = self.response = None
        self.failures = 0

    def poll(self, now_ms):
        if self.token is not None or self.response is not None or now_ms < self.due_ms:
            return []
        self.token = object()
        return [Send(self.request, self.version, self.destination, self.token)]

    def answered(self, token, response, now_ms):
        assert token is self.token
        self.token = None
        code = getattr(response, "responses", None) and response.responses[0].partition_responses[0].error_code
        if code:
            self.due_ms = now_ms + self.pause_ms
        else:
            self.response = response

    def failed(self, token, now_ms):
        assert token is self.token
        self.token = None
        self.failures += 1
        self.due_ms = now_ms + self.pause_ms

    def deadline(self):
        return None if self.token is not None or self.response is not None else self.due_ms


def driven(outside, channel, core, **options):
    driver = Driver(channel, core, **options)
    driver.pump()
    outside.until(lambda: core.response is not None)
    driver.stop()
    return core.response


def test_a_core_is_driven_to_its_answer(outside):
    brokers = Brokers(outside)
    core = Once(heartbeat(), ANY_BROKER, version=4)
    assert driven(outside, outside.channel(*brokers.all), core).error_code in (1, 2)


def test_a_core_is_told_of_failures_and_asked_again_when_its_time_comes(sim):
    brokers = Brokers(sim, count=1)
    fates = [CLOSE, SILENT, HeartbeatResponse(error_code=7)]
    brokers.all[0].answers(HeartbeatRequest, lambda _: fates.pop(0))
    errors = []
    core = Once(heartbeat(), ANY_BROKER)
    response = driven(sim, sim.channel(*brokers.all), core, timeout_ms=lambda _: 500, on_error=errors.append)
    assert response.error_code == 7
    assert core.failures == len(errors) >= 2
    assert all(isinstance(error, Disconnected) for error in errors)


def test_a_leader_that_has_moved_is_found_again(outside):
    brokers = Brokers(outside)
    channel = outside.channel(*brokers.all)
    driven(outside, channel, Once(produce(), leader("t", 0)))
    brokers.topics = [("t", [(2, 1), 2])]  # node 1 does not lead it any more, and says so
    response = driven(outside, channel, Once(produce(), leader("t", 0)))
    assert response.responses[0].partition_responses[0].error_code == 0
    assert channel.metadata.leader("t", 0).id == 2
    assert len(brokers.all[0].asked_for(ProduceRequest)) >= 2  # it was asked once more, at the least


def test_a_leader_that_has_gone_is_found_again(outside):
    brokers = Brokers(outside)
    channel = outside.channel(*brokers.all)
    driven(outside, channel, Once(produce(), leader("t", 0)))
    brokers.topics = [("t", [(2, 1), 2])]
    brokers.members = brokers.all[1:]
    brokers.all[0].stop()
    driven(outside, channel, Once(produce(), leader("t", 0)))
    assert len(brokers.all[1].asked_for(ProduceRequest)) == 1


def test_a_version_that_is_not_served_is_told_to_who_wants_to_know(sim):
    brokers = Brokers(sim, count=1)
    brokers.all[0].versions = {18: (0, 4), 3: (0, 13), 12: (0, 2)}
    errors = []
    core = Once(heartbeat(), ANY_BROKER, version=4)
    driver = Driver(sim.channel(*brokers.all), core, on_error=errors.append)
    driver.pump()
    sim.until(lambda: any(isinstance(error, UnsupportedVersion) for error in errors))
    driver.stop()


def test_a_stopped_driver_calls_its_core_no_more(sim):
    brokers = Brokers(sim, count=1)
    channel = sim.channel(*brokers.all)
    core = Once(heartbeat(), ANY_BROKER)
    driver = Driver(channel, core)
    driver.pump()
    driver.stop()
    sim.pass_ms(5000)
    assert core.response is None
    assert core.failures == 0
    assert brokers.all[0].asked_for(HeartbeatRequest)


def test_an_event_is_told_after_the_core_was_polled(outside):
    brokers = Brokers(outside)
    core = Once(heartbeat(), ANY_BROKER)
    events = []
    driven(outside, outside.channel(*brokers.all), core, on_event=lambda: events.append(core.response))
    assert events[-1] is core.response


def test_a_channel_is_made_of_nothing_but_a_loop_a_config_and_addresses(sim):
    channel = Channel(sim.loop, CONFIG, [])
    sim.pass_ms(1000)
    assert isinstance(sim.outcome(channel.send(ANY_BROKER, heartbeat())), Disconnected)
    channel.close()
