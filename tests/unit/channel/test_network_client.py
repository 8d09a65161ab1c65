"""The network client against brokers that do as they are told, on real and on simulated sockets."""

import contextlib

import pytest

from channel_kit import CLOSE, CONFIG, SILENT, ScriptedBroker, SimOutside, answer_bytes, cluster_of
from network_kit import held_bytes
from odradek.channel.connection_states import State
from odradek.channel.connector import is_address
from odradek.channel.errors import ClientClosed, Disconnected, NodeNotReady
from odradek.channel.metrics import ChannelMetrics
from odradek.channel.node import Node
from odradek.metrics import Registry
from odradek.protocol.errors import EncodeError, UnsupportedVersion
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k01_fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataResponse
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.protocol.messages.k18_api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

HEARTBEAT = 12


def heartbeat(group="g"):
    return HeartbeatRequest(group_id=group, member_id="m")


def produce(size=100):
    data = PartitionProduceData(index=0, records=bytes(size))
    return ProduceRequest(acks=0, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=[data])])


def answering(outside, **options):
    broker = ScriptedBroker(outside, **options)
    return broker.answers(HeartbeatRequest, lambda asked: HeartbeatResponse(error_code=int(asked.request.group_id)))


# Connecting


@pytest.mark.contract("C3")
def test_a_new_connection_asks_for_the_versions_before_anything_else(outside):
    seen = []
    broker = ScriptedBroker(outside)
    broker.answers(ApiVersionsRequest, lambda asked: seen.append(asked) or broker.api_versions(asked))
    client = outside.client()
    assert not client.ready(broker.node)
    outside.until(lambda: client.states.state(1) is State.READY)
    (asked,) = seen
    assert asked.version == 4
    assert asked.request.client_software_name == "odradek"
    assert asked.request.client_software_version
    assert asked.client_id == "me"
    assert broker.asked == []


@pytest.mark.contract("C1")
def test_requests_are_numbered_from_0_over_all_connections(outside):
    one, other = answering(outside), answering(outside, node_id=2, name="other")
    client = outside.connected(one)
    outside.connected(other, client)
    for node_id in (1, 2, 1):
        outside.outcome(client.send(node_id, heartbeat("0")))
    assert [asked.correlation_id for asked in [*one.asked, *other.asked]] == [2, 4, 3]  # 0 and 1 asked for versions


@pytest.mark.contract("C3", "C17")
def test_a_node_that_does_not_know_our_version_is_asked_again_in_its_own(outside):
    versions = []

    def old(asked):
        versions.append(asked.version)
        if asked.version > 1:
            keys = [ApiVersion(api_key=18, min_version=0, max_version=1)]
            answer = ApiVersionsResponse(error_code=35, api_keys=keys)
            return answer_bytes(asked, answer, version=0)
        return broker.api_versions(asked)

    broker = ScriptedBroker(outside).answers(ApiVersionsRequest, old)
    outside.connected(broker)
    assert versions == [4, 1]


def test_a_node_that_names_no_version_of_api_versions_is_asked_in_version_0(outside):
    versions = []

    def older(asked):
        versions.append(asked.version)
        refusal = answer_bytes(asked, ApiVersionsResponse(error_code=35), version=0)
        return refusal if asked.version else broker.api_versions(asked)

    broker = ScriptedBroker(outside).answers(ApiVersionsRequest, older)
    outside.connected(broker)
    assert versions == [4, 0]


def test_a_node_that_refuses_api_versions_is_disconnected(outside):
    broker = ScriptedBroker(outside)
    broker.answers(ApiVersionsRequest, lambda asked: answer_bytes(asked, ApiVersionsResponse(error_code=35), version=0))
    client = outside.client()
    client.ready(broker.node)
    outside.until(lambda: client.connection_failed(1))
    assert not client.in_flight.total


@pytest.mark.contract("C13")
@pytest.mark.contract("A129")
def test_a_request_to_a_node_that_is_not_ready_is_a_mistake_of_the_caller(outside):
    broker = ScriptedBroker(outside)
    client = outside.client()
    with pytest.raises(NodeNotReady, match="disconnected"):
        client.send(1, heartbeat())
    client.ready(broker.node)
    with pytest.raises(NodeNotReady, match="connecting"):
        client.send(1, heartbeat())


@pytest.mark.contract("C5")
def test_a_closed_client_does_nothing_any_more(outside):
    broker = ScriptedBroker(outside)
    client = outside.connected(broker)
    waiting = client.send(1, heartbeat())
    client.close()
    assert isinstance(outside.outcome(waiting), Disconnected)
    for refused in (lambda: client.ready(broker.node), lambda: client.send(1, heartbeat())):
        with pytest.raises(ClientClosed):
            refused()


def test_a_refused_connection_names_the_node_and_the_cause(outside):
    broker = ScriptedBroker(outside)
    node = broker.node
    broker.stop()
    lost = []

    class Observer:
        def node_changed(self, _):
            pass

        def node_lost(self, told):
            lost.append(told)

    client = outside.client()
    client.observe(Observer())
    client.ready(node)
    outside.until(lambda: lost)
    assert lost[0].node == node
    assert f"node 1 at {node.host}:{node.port}: " in str(lost[0].error)
    assert "cannot connect" in str(lost[0].error)


def test_a_name_that_nobody_knows_is_a_failed_attempt(sim):
    client = sim.client()
    client.ready(Node(1, "nowhere.example", 9092))
    sim.until(lambda: client.connection_failed(1))


def test_a_name_without_an_address_is_a_failed_attempt(sim):
    sim.world.fabric.names["kafka.example"] = []
    client = sim.client()
    client.ready(Node(1, "kafka.example", 9092))
    sim.until(lambda: client.connection_failed(1))


def test_the_addresses_of_a_name_are_tried_in_turn(sim):
    broker = ScriptedBroker(sim)
    dead = sim.world.node("dead").address
    sim.world.fabric.names["kafka.example"] = [dead, broker.node.host]
    client = sim.client()
    sim.until(lambda: client.ready(Node(1, "kafka.example", 9092)))
    assert client.states.get(1).addresses == [(broker.node.host, 9092)]


def test_a_name_is_resolved_again_when_its_addresses_are_used_up(sim):
    broker = ScriptedBroker(sim)
    sim.world.fabric.names["kafka.example"] = [sim.world.node("dead").address]
    client = sim.client()
    node = Node(1, "kafka.example", 9092)
    client.ready(node)
    sim.until(lambda: client.connection_failed(1))
    sim.world.fabric.names["kafka.example"] = [broker.node.host]  # the broker has moved
    sim.until(lambda: client.ready(node))


def test_a_name_is_resolved_again_after_a_connection_was_up(sim):
    old, new = ScriptedBroker(sim), ScriptedBroker(sim, name="new")
    sim.world.fabric.names["kafka.example"] = [old.node.host]
    client = sim.client()
    node = Node(1, "kafka.example", 9092)
    sim.until(lambda: client.ready(node))
    sim.world.fabric.names["kafka.example"] = [new.node.host]
    old.stop()
    sim.until(lambda: not client.is_ready(1))
    sim.until(lambda: client.ready(node))
    assert new.connections


def test_a_real_name_with_a_dead_first_address_is_reached_by_its_second():
    from channel_kit import RealOutside
    from odradek.reactor.adapters.network import SystemNetwork

    class Resolver(SystemNetwork):
        def resolve(self, host, port):
            return [("127.0.0.2", port), ("127.0.0.1", port)]

    outside = RealOutside()
    outside.ports.network = Resolver()
    broker = ScriptedBroker(outside)
    client = outside.client()
    outside.until(lambda: client.ready(Node(1, "kafka.example", broker.node.port)))
    outside.close()


@pytest.mark.parametrize(
    ("host", "expected"), [("127.0.0.1", True), ("::1", True), ("localhost", False), ("10.example", False)]
)
def test_an_address_is_told_from_a_name(host, expected):
    assert is_address(host) is expected


@pytest.mark.contract("C18")
def test_a_peer_that_never_answers_a_connection_attempt_is_given_up(sim):
    sim.world.node("silent")
    sim.world.fabric.cut("10.0.0.1", "10.0.0.2")
    client = sim.client()
    client.ready(Node(1, "10.0.0.2", 9092))
    known = client.states.get(1)
    before, timeout_ms = sim.now_ms(), known.setup_timeout_ms
    assert 8000 <= timeout_ms <= 12_000
    sim.until(lambda: client.connection_failed(1), seconds=60)
    assert 0 <= sim.now_ms() - before - timeout_ms <= 1
    assert 16_000 <= known.setup_timeout_ms <= 24_000  # the next attempt may take twice as long


def test_a_resolver_that_takes_too_long_is_not_waited_for(sim):
    broker = ScriptedBroker(sim)
    config = CONFIG._replace(socket_connection_setup_timeout_ms=1, socket_connection_setup_timeout_max_ms=1)
    client = sim.client(config)
    sim.world.fabric.names["kafka.example"] = [broker.node.host]
    client.ready(Node(1, "kafka.example", 9092))
    client.disconnect(1)
    attempt = client.states.get(1).attempt
    sim.pass_ms(40)
    assert client.states.get(1).attempt == attempt
    assert client.states.state(1) is State.DISCONNECTED
    assert not broker.connections


@pytest.mark.contract("A28", "C2")
def test_the_pause_before_the_next_attempt_doubles_up_to_its_limit(sim):
    node = Node(1, sim.world.node("dead").address, 9092)
    client = sim.client()
    pauses = []
    for _ in range(7):
        sim.until(lambda: client.states.can_connect(1, sim.now_ms()))
        client.ready(node)
        sim.until(lambda: client.connection_failed(1))
        pauses.append(client.states.get(1).backoff_ms)
    for pause, expected in zip(pauses, [50, 100, 200, 400, 800, 1000, 1000], strict=True):
        assert int(expected * 0.8) <= pause <= min(int(expected * 1.2), 1000)
    assert len(set(pauses)) > 4  # by chance


# Requests and answers


@pytest.mark.contract("C12", "C14", "C16", "C56")
def test_answers_belong_to_the_oldest_request(outside):
    broker = answering(outside)
    client = outside.connected(broker)
    waiting = [client.send(1, heartbeat(str(number))) for number in range(5)]
    assert [outside.outcome(each).error_code for each in waiting] == [0, 1, 2, 3, 4]
    assert not client.in_flight.total


def test_an_answer_keeps_its_records_when_the_next_one_has_come(outside):
    def records(asked):
        data = PartitionData(partition_index=0, records=bytes([asked.request.max_wait_ms]) * 1000)
        return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[data])])

    broker = ScriptedBroker(outside).answers(FetchRequest, records)
    client = outside.connected(broker)
    answers = [outside.outcome(client.send(1, FetchRequest(max_wait_ms=number), version=12)) for number in (1, 2, 3)]
    found = [bytes(answer.responses[0].partitions[0].records) for answer in answers]
    assert found == [bytes([number]) * 1000 for number in (1, 2, 3)]


@pytest.mark.contract("C13", "A23")
def test_no_more_requests_are_in_flight_than_allowed(outside):
    broker = ScriptedBroker(outside)
    client = outside.connected(broker, config=CONFIG._replace(max_in_flight_requests_per_connection=2))
    client.send(1, heartbeat())
    assert client.is_ready(1)
    client.send(1, heartbeat())
    assert not client.is_ready(1)
    with pytest.raises(NodeNotReady):
        client.send(1, heartbeat())
    outside.until(lambda: len(broker.asked) == 2)
    first = broker.asked[0]
    first.connection.answer(first, HeartbeatResponse())
    outside.until(lambda: client.is_ready(1))


@pytest.mark.contract("C17")
def test_the_version_is_the_newest_that_both_know(outside):
    broker = answering(outside, versions={18: (0, 4), HEARTBEAT: (0, 2)})
    client = outside.connected(broker)
    outside.outcome(client.send(1, heartbeat("0")))
    assert broker.asked[0].version == 2


@pytest.mark.contract("C4")
def test_a_version_that_the_node_does_not_serve_fails_without_io(outside):
    broker = answering(outside, versions={18: (0, 4), HEARTBEAT: (0, 2)})
    client = outside.connected(broker)
    refused = [client.send(1, heartbeat(), version=3), client.send(1, MetadataRequest())]
    told = []
    for each in refused:
        each.when_done(told.append)
    assert told == []  # never inside the call
    errors = [outside.outcome(each) for each in refused]
    assert all(isinstance(error, UnsupportedVersion) for error in errors)
    assert "HEARTBEAT in version 3; it has 0 to 2" in str(errors[0])
    assert "does not support METADATA" in str(errors[1])
    assert client.is_ready(1)
    assert broker.asked == []


def test_a_request_that_cannot_be_encoded_changes_nothing(outside):
    broker = answering(outside)
    client = outside.connected(broker)
    with pytest.raises(EncodeError):
        client.send(1, HeartbeatRequest(group_id="g", member_id="m", group_instance_id="i"), version=0)
    assert client.in_flight.total == 0
    assert outside.outcome(client.send(1, heartbeat("3"))).error_code == 3


@pytest.mark.contract("C8")
def test_a_request_without_an_answer_is_over_when_it_has_gone_out(outside):
    broker = answering(outside)
    client = outside.connected(broker)
    sent = client.send(1, produce(), expects_response=False)
    after = client.send(1, heartbeat("7"))
    assert outside.outcome(sent) is None
    assert outside.outcome(after).error_code == 7
    assert not client.in_flight.total


@pytest.mark.contract("C8", "C13", "C51")
def test_while_a_request_goes_out_no_other_is_sent(sim):
    broker = ScriptedBroker(sim)
    client = sim.connected(broker)
    (peer,) = broker.connections
    peer.stop_reading()
    sent = client.send(1, produce(500_000), expects_response=False)
    sim.pass_ms(1000)
    assert not sent.is_done
    assert not client.is_ready(1)
    assert client.in_flight.total == 1
    peer.read_again()
    assert sim.outcome(sent) is None
    assert client.is_ready(1)


@pytest.mark.contract("C44")
def test_answers_are_read_while_a_request_waits_for_room(outside):
    """The peer takes nothing before its answer is taken: each would wait for the other for ever."""
    broker = ScriptedBroker(outside)
    client = outside.connected(broker)
    (peer,) = broker.connections
    first = client.send(1, MetadataRequest())
    outside.until(lambda: broker.asked)
    peer.stop_reading()
    client.send(1, produce(8_000_000), expects_response=False).is_observed = True
    outside.pass_ms(20)
    assert not client.is_ready(1)
    answer = cluster_of(Node(1, "host", 1), topics=[("t" * 200, [1] * 40_000)])
    data = answer_bytes(broker.asked[0], answer)

    def push():
        nonlocal data
        with contextlib.suppress(BlockingIOError):
            data = data[peer.transport.send([data]) :]
        return not data

    outside.until(push)
    assert len(outside.outcome(first).topics[0].partitions) == 40_000


# What goes wrong


@pytest.mark.contract("C18")
def test_an_answer_that_never_comes_takes_the_connection_with_it(sim):
    broker = ScriptedBroker(sim)
    client = sim.connected(broker)
    before = sim.now_ms()
    waiting = [client.send(1, heartbeat(), timeout_ms=700), client.send(1, heartbeat())]
    errors = [sim.outcome(each) for each in waiting]
    assert all(isinstance(error, Disconnected) for error in errors)
    assert "no answer in time to HeartbeatRequest" in str(errors[0])
    assert sim.now_ms() - before == 700
    assert client.connection_failed(1)
    assert client.in_flight.total == 0


def test_an_answer_after_the_request_timed_out_reaches_nobody(outside):
    broker = ScriptedBroker(outside)
    client = outside.connected(broker)
    late = client.send(1, heartbeat(), timeout_ms=100)
    outside.until(lambda: broker.asked)
    assert isinstance(outside.outcome(late), Disconnected)
    asked = broker.asked[0]
    asked.connection.answer(asked, HeartbeatResponse(error_code=9))
    broker.answers(HeartbeatRequest, HeartbeatResponse(error_code=3))
    outside.until(lambda: client.ready(broker.node))
    assert outside.outcome(client.send(1, heartbeat())).error_code == 3


@pytest.mark.contract("C7")
def test_an_answer_that_has_come_is_taken_before_its_timeout(sim):
    """Both are due in one turn, because the process stood still."""
    broker = answering(sim)
    client = sim.connected(broker)
    waiting = client.send(1, heartbeat("4"), timeout_ms=1000)
    sim.world.node("client").pause()
    sim.world.run_for(5000)
    sim.world.node("client").resume()
    assert sim.outcome(waiting).error_code == 4
    assert client.is_ready(1)


@pytest.mark.contract("C7")
def test_a_sweep_for_one_node_does_not_judge_another_by_a_time_that_nobody_has_listened_for(sim):
    """This process stands still between a poll and the sweep; what came meanwhile is not read yet."""
    silent, slow = ScriptedBroker(sim), ScriptedBroker(sim, node_id=2, name="slow")
    slow.answers(HeartbeatRequest, lambda asked: answer_later(slow, asked, 60))
    client = sim.connected(silent)
    sim.connected(slow, client)
    lost = client.send(1, heartbeat(), timeout_ms=50)
    client._timer.cancel()  # the stall is to come before the sweep, in the same turn
    sim.loop.after(50, lambda: stand_still(sim, 100))
    client._timer = None
    client._wake_at(sim.now_ms() + 50)
    answered = client.send(2, heartbeat(), timeout_ms=100)
    assert isinstance(sim.outcome(lost), Disconnected)
    assert sim.outcome(answered).error_code == 6


def answer_later(broker, asked, milliseconds):
    broker.loop.after(milliseconds, lambda: asked.connection.answer(asked, HeartbeatResponse(error_code=6)))
    return SILENT


def stand_still(sim, milliseconds):
    sim.world.node("client").disk.busy_us += milliseconds * 1000


@pytest.mark.contract("C7", "C24")
def test_what_has_come_is_handled_before_the_end_of_the_connection(outside):
    broker = ScriptedBroker(outside)
    client = outside.connected(broker)
    told = []
    waiting = [client.send(1, heartbeat()) for _ in range(3)]
    for number, each in enumerate(waiting):
        each.when_done(lambda done, number=number: told.append((number, type(done.error))))
    outside.until(lambda: len(broker.asked) == 3)
    first = broker.asked[0]
    first.connection.answer(first, HeartbeatResponse())
    first.connection.close()
    outside.until(lambda: len(told) == 3)
    assert told == [(0, type(None)), (1, Disconnected), (2, Disconnected)]


@pytest.mark.contract("C7")
def test_set_ups_that_took_too_long_are_told_before_requests_that_did(sim):
    broker = ScriptedBroker(sim)
    sim.world.node("silent")
    config = CONFIG._replace(socket_connection_setup_timeout_ms=1000, socket_connection_setup_timeout_max_ms=1000)
    client = sim.connected(broker, config=config)
    told = []

    class Observer:
        def node_changed(self, _):
            pass

        def node_lost(self, lost):
            told.append(lost.node.id)

    client.observe(Observer())
    client.send(1, heartbeat(), timeout_ms=1000).is_observed = True
    sim.world.fabric.cut(sim.world.node("client").address, sim.world.node("silent").address)
    client.ready(Node(2, sim.world.node("silent").address, 9092))
    sim.until(lambda: len(told) == 2)
    assert told == [2, 1]


def wrong_id(asked):
    return answer_bytes(asked, HeartbeatResponse(), correlation_id=asked.correlation_id + 1)


def half(asked):
    asked.connection.send(answer_bytes(asked, HeartbeatResponse())[:7])
    return CLOSE


def garbage(asked):
    return (8).to_bytes(4, "big") + asked.correlation_id.to_bytes(4, "big") + b"\xff\xff\xff\xff"


def too_short(asked):
    return (2).to_bytes(4, "big") + b"ab"


def negative(asked):
    return b"\xff\xff\xff\xff" + bytes(20)


def unasked(asked):
    whole = answer_bytes(asked, HeartbeatResponse())
    return whole + whole


@pytest.mark.parametrize("rule", [wrong_id, half, garbage, too_short, negative, CLOSE])
def test_an_answer_that_is_none_breaks_the_connection_and_nothing_else(outside, rule):
    broker = ScriptedBroker(outside).answers(HeartbeatRequest, rule if callable(rule) else lambda _: rule)
    client = outside.connected(broker)
    waiting = [client.send(1, heartbeat()), client.send(1, heartbeat())]
    assert [type(outside.outcome(each)) for each in waiting] == [Disconnected, Disconnected]
    broker.answers(HeartbeatRequest, HeartbeatResponse(error_code=5))
    outside.until(lambda: client.ready(broker.node))
    assert outside.outcome(client.send(1, heartbeat())).error_code == 5


@pytest.mark.contract("C6")
@pytest.mark.parametrize("seed", range(8))
def test_whatever_a_peer_sends_a_request_has_one_end_and_the_client_goes_on(seed):
    """Answers with a few bytes changed, cut off, or with some more."""
    sim = SimOutside(seed)
    chance = sim.world.rng.stream("spoiler")

    def spoilt(asked):
        data = bytearray(answer_bytes(asked, cluster_of(Node(1, "host", 1), topics=[("t", [1, 1])])))
        for _ in range(1 + chance.below(3)):
            data[chance.below(len(data))] = chance.below(256)
        return bytes(data[: len(data) - chance.below(4)]) + chance.bytes(chance.below(9))

    broker = ScriptedBroker(sim).answers(MetadataRequest, spoilt)
    client = sim.client(CONFIG._replace(request_timeout_ms=200, reconnect_backoff_max_ms=50))
    ends = []
    for _ in range(40):
        sim.until(lambda: client.ready(broker.node))
        ends.append(type(sim.outcome(client.send(1, MetadataRequest(), version=12))))
    assert set(ends) == {MetadataResponse, Disconnected}
    broker.answers(MetadataRequest, lambda _: cluster_of(Node(1, "host", 1)))
    sim.pass_ms(500)  # what is left of the last connection is over
    sim.until(lambda: client.ready(broker.node))
    assert sim.outcome(client.send(1, MetadataRequest())).brokers[0].host == "host"
    assert client.in_flight.total == 0
    sim.close()


def test_an_answer_that_nobody_asked_for_breaks_the_connection(outside):
    broker = ScriptedBroker(outside).answers(HeartbeatRequest, unasked)
    client = outside.connected(broker)
    assert outside.outcome(client.send(1, heartbeat())).error_code == 0
    outside.until(lambda: client.connection_failed(1))


@pytest.mark.parametrize("rule", [SILENT, CLOSE])
def test_a_set_up_that_does_not_get_through_is_a_failed_attempt(sim, rule):
    broker = ScriptedBroker(sim).answers(ApiVersionsRequest, lambda _: rule)
    client = sim.client(CONFIG._replace(request_timeout_ms=500))
    client.ready(broker.node)
    sim.until(lambda: client.connection_failed(1))
    assert client.states.get(1).failures == 1
    assert client.in_flight.total == 0


def test_memory_is_bounded_by_what_the_peer_has_sent(outside):
    broker = ScriptedBroker(outside).answers(
        HeartbeatRequest, lambda _: (2**31 - 1).to_bytes(4, "big") + bytes(100_000)
    )
    client = outside.connected(broker)
    client.send(1, heartbeat()).is_observed = True
    connection = client._connections[1]
    outside.until(lambda: connection.bytes_in > 100_000)
    assert held_bytes(connection) <= 8 * 100_000


def test_disconnect_fails_what_is_in_flight(outside):
    broker = ScriptedBroker(outside)
    client = outside.connected(broker)
    waiting = client.send(1, heartbeat())
    client.disconnect(1)
    assert isinstance(outside.outcome(waiting), Disconnected)
    assert client.connection_failed(1)


# Throttle, idleness, load


@pytest.mark.contract("C15")
def test_a_throttled_client_sends_nothing_for_so_long(sim):
    broker = ScriptedBroker(sim).answers(HeartbeatRequest, HeartbeatResponse(throttle_time_ms=400))
    client = sim.connected(broker)
    sim.outcome(client.send(1, heartbeat()))
    assert not client.is_ready(1)
    assert client.poll_delay_ms(1) == 400
    sim.pass_ms(399)
    assert not client.is_ready(1)
    sim.pass_ms(1)
    assert client.is_ready(1)


@pytest.mark.contract("C15")
def test_a_broker_that_has_waited_itself_is_not_waited_for_again(sim):
    broker = ScriptedBroker(sim, versions={18: (0, 4), HEARTBEAT: (0, 1)})
    broker.answers(HeartbeatRequest, HeartbeatResponse(throttle_time_ms=400))
    client = sim.connected(broker)
    assert sim.outcome(client.send(1, heartbeat())).throttle_time_ms == 400
    assert client.is_ready(1)


@pytest.mark.contract("A27")
def test_an_idle_connection_is_closed(sim):
    broker = answering(sim)
    client = sim.connected(broker, config=CONFIG._replace(connections_max_idle_ms=5000))
    sim.pass_ms(4000)
    sim.outcome(client.send(1, heartbeat("0")))
    sim.pass_ms(4000)
    assert client.is_ready(1)  # it was used meanwhile
    sim.pass_ms(3000)
    assert not client.is_ready(1)
    assert client.states.get(1).failures == 1


@pytest.mark.contract("A27")
def test_an_answer_is_a_sign_of_life(sim):
    broker = ScriptedBroker(sim)
    client = sim.connected(broker, config=CONFIG._replace(connections_max_idle_ms=5000))
    broker.answers(HeartbeatRequest, lambda asked: answer_later(broker, asked, 4000))
    sim.outcome(client.send(1, heartbeat()))
    sim.pass_ms(4000)
    assert client.is_ready(1)


@pytest.mark.contract("C10")
def test_the_least_loaded_node_has_the_fewest_requests_in_flight(outside):
    brokers = [ScriptedBroker(outside, node_id=number, name=f"b{number}") for number in (1, 2, 3)]
    client = outside.client()
    nodes = [broker.node for broker in brokers]
    for broker in brokers:
        outside.connected(broker, client)
    for node_id, count in ((1, 2), (2, 1), (3, 3)):
        for _ in range(count):
            client.send(node_id, heartbeat()).is_observed = True
    assert {client.least_loaded_node(nodes).id for _ in range(20)} == {2}


@pytest.mark.contract("C10")
def test_among_equals_the_least_loaded_node_is_a_random_one(sim):
    nodes = [Node(number, "10.0.0.9", number) for number in range(1, 5)]
    client = sim.client()
    assert {client.least_loaded_node(nodes).id for _ in range(60)} == {1, 2, 3, 4}
    assert client.least_loaded_node([]) is None


def test_a_node_that_is_being_connected_to_goes_before_one_that_is_not(sim):
    broker = ScriptedBroker(sim)
    other = Node(2, sim.world.node("dead").address, 9092)
    client = sim.client()
    client.ready(broker.node)
    assert {client.least_loaded_node([broker.node, other]).id for _ in range(20)} == {1}


def test_no_node_is_found_while_all_have_just_failed(sim):
    node = Node(1, sim.world.node("dead").address, 9092)
    client = sim.client()
    client.ready(node)
    sim.until(lambda: client.connection_failed(1))
    assert client.least_loaded_node([node]) is None
    assert not client.has_usable_node([node])


def test_a_client_counts_under_kafkas_names(outside):
    registry = Registry(outside.ports.clock.mono_ms)
    metrics = ChannelMetrics(registry, "producer", "me")
    broker = answering(outside)
    client = outside.connected(broker, metrics=metrics)
    outside.outcome(client.send(1, heartbeat("0")))

    def read(name):
        return registry.find("kafka", "producer-metrics", name, {"client-id": "me"}).read()

    assert read("connection-count") == 1
    assert read("connection-creation-total") == 1
    assert read("request-total") == 2  # with ApiVersions
    assert read("response-total") == 1
    assert read("outgoing-byte-total") > 50
    assert read("incoming-byte-total") > 200
    assert read("request-latency-avg") >= 0
    client.disconnect(1)
    assert read("connection-count") == 0
    assert read("connection-close-total") == 1
