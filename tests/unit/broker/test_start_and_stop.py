"""A broker from its first line to its last: in which order it starts, what a failed start leaves, what a stop ends."""

from errno import ENOSPC

import pytest

from broker_clients import produce_request
from broker_kit import SimBroker, SimClient
from log_kit import batch
from odradek.broker.lifecycle import NOT_RUNNING, RUNNING
from odradek.broker.start_refused import StartRefused
from odradek.network.socket_server import SocketServer
from odradek.protocol.messages.k03_metadata import MetadataRequest
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.protocol.messages.k18_api_versions import ApiVersionsRequest
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from odradek.protocol.releases import CONTROLLER
from odradek.reactor.slices import Slices
from odradek.sim.world import World

API_VERSIONS = ApiVersionsRequest(client_software_name="test", client_software_version="1")


@pytest.fixture(params=["3.3", "4.3"])
def broker(request):
    return SimBroker(World(seed=9), release=request.param)


def lifecycle(broker):
    return broker.server.broker.lifecycle


def until_bound(broker):
    """The listeners are bound when the parts of the broker are made, before anything is started."""
    assert broker.world.run_until(lambda: broker.server.broker is not None, 10_000)


def told_state(broker):
    """What the metric tells, None before it is there."""
    found = broker.server.shared.metrics.find("kafka.server", "KafkaServer", "BrokerState")
    return None if found is None else found.read()


@pytest.mark.contract("D13", "J24")
def test_the_state_is_a_metric_through_the_whole_life(broker):
    states, told = [], []

    def look():
        states.append(lifecycle(broker).state.value)
        if told_state(broker) is not None:
            assert told_state(broker) == states[-1]
            told.append(states[-1])

    until_bound(broker)
    while not broker.starting.is_done:
        look()
        broker.world.step()
    look()
    stopping = broker.server.loop.spawn(broker.server.stop())
    while not stopping.is_done:
        look()
        assert broker.world.step()
    look()
    assert list(dict.fromkeys(states)) == [0, 1, 2, 3, 6, 7]
    assert list(dict.fromkeys(told)) == [2, 3, 6, 7, 0]
    assert states[-1] == told[-1] == NOT_RUNNING.value


@pytest.mark.contract("D28", "D45", "D46", "D47")
def test_the_port_is_known_at_once_and_nobody_is_served_before_the_broker_runs(broker):
    until_bound(broker)
    assert lifecycle(broker).state is NOT_RUNNING
    early = SimClient(broker.world, "early", broker.address)
    waiting = early.send(API_VERSIONS, 3)
    states = []
    while not waiting.is_done:
        states.append(lifecycle(broker).state)
        assert not broker.server.broker.socket_server.connections() or states[-1] is RUNNING
        assert broker.world.step()
    assert lifecycle(broker).state is RUNNING and states[0] is NOT_RUNNING
    assert waiting.response.error_code == 0, "it has waited, and was not turned away"


@pytest.mark.contract("D14")
def test_a_start_that_fails_shuts_down_what_there_is_and_is_told():
    broker = SimBroker(World(seed=9), properties={"initial.broker.registration.timeout.ms": "1000"})
    until_bound(broker)
    inter_broker = broker.server.shared.inter_broker
    broker.world.run_until(lambda: CONTROLLER in inter_broker._local)
    del inter_broker._local[CONTROLLER]
    assert broker.world.run_until(lambda: broker.starting.is_done, 30_000)
    with pytest.raises(StartRefused, match="has not registered this broker"):
        broker.starting.value()
    assert broker.server.stopped.is_done
    assert lifecycle(broker).state is NOT_RUNNING
    broker.node.disk.lock("/data/.lock").release()
    network = broker.node.ports.network
    for port in (9092, 9093):
        network.listen(broker.node.address, port).close()
    broker.restart()


@pytest.mark.contract("D15")
def test_the_last_line_of_a_start_comes_when_it_runs_behind_the_version(broker):
    broker.wait_until_ready()
    version, started = broker.lines[-2:]
    assert version.startswith(f"INFO Kafka version: {broker.release} ")
    assert started == "INFO [KafkaRaftServer nodeId=1] Kafka Server started"
    assert lifecycle(broker).state is RUNNING
    assert not broker.server.stopped.is_done


@pytest.mark.contract("D26", "D31")
def test_it_knows_itself_by_the_metadata_log_and_has_the_epoch_of_its_registration(broker):
    broker.wait_until_ready()
    client = SimClient(broker.world, "client", broker.address)
    (told,) = client.ask(MetadataRequest(topics=[]), 9).brokers
    assert (told.node_id, told.port) == (1, 9092)
    registered = broker.server.shared.cache.image.cluster.brokers[1]
    assert lifecycle(broker).broker_epoch == registered.epoch > 0


@pytest.mark.contract("D36")
def test_the_topic_of_groups_keeps_its_partitions_whatever_the_config_says_later():
    broker = SimBroker(World(seed=4), properties={"offsets.topic.num.partitions": "3"}).wait_until_ready()
    client = SimClient(broker.world, "client", broker.address)
    found = FindCoordinatorRequest(key="a", key_type=0)
    client.ask_until(found, 2, lambda response: response.error_code == 0)
    broker.stop()
    broker.properties["offsets.topic.num.partitions"] = "50"
    broker.restart()
    groups = broker.server.broker.services.groups
    assert {groups.shards.index_of(f"group-{number}") for number in range(100)} == {0, 1, 2}


@pytest.mark.contract("D51", "D53")
def test_a_stop_closes_every_connection_and_is_over_when_all_is_closed(broker):
    broker.wait_until_ready()
    clients = [SimClient(broker.world, f"client-{number}", broker.address) for number in range(3)]
    for client in clients:
        client.ask(API_VERSIONS, 3)
    broker.stop()
    assert broker.world.run_until(lambda: all(client.is_closed for client in clients), 1000)
    assert broker.server.broker.socket_server.connections() == []
    assert broker.server.stopped.is_done
    assert broker.lines[-1] == "INFO [KafkaRaftServer nodeId=1] Kafka Server stopped"


class Broken:
    async def stop(self):
        raise RuntimeError("a bug")


@pytest.mark.contract("D7")
def test_whoever_waits_for_the_end_of_a_stop_that_fails_is_told(broker):
    """Else a process that was asked to end would stay, with nothing left that it serves."""
    broker.wait_until_ready()
    broker.server.broker.replicas = Broken()
    stopping = broker.server.loop.spawn(broker.server.stop())
    stopping.is_observed = True
    assert broker.world.run_until(lambda: stopping.is_done, 30_000)
    assert broker.server.stopped.is_done
    with pytest.raises(RuntimeError, match="a bug"):
        broker.server.stopped.value()


@pytest.mark.contract("E2")
def test_each_listener_of_the_list_is_served():
    world = World(seed=9)
    host = world.node("broker").address
    listeners = f"PLAINTEXT://{host}:9092,INSIDE://{host}:9094,CONTROLLER://{host}:9093"
    protocols = "PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT"
    properties = {"listeners": listeners, "listener.security.protocol.map": protocols}
    SimBroker(world, properties=properties).wait_until_ready()
    for port in (9092, 9094):
        client = SimClient(world, f"client-{port}", (host, port))
        (told,) = client.ask(MetadataRequest(topics=[]), 9).brokers
        assert told.port == port, "each is told the address of its own listener"
    controllers = SimClient(world, "client-9093", (host, 9093))
    assert 62 in [api.api_key for api in controllers.ask(API_VERSIONS, 3).api_keys], "a controller's API"


def test_clients_are_let_in_when_the_leaders_are_known_however_long_the_metadata_takes(monkeypatch):
    """Every slice of long work is over at once, so that the loop turns between any two of those who get an image."""
    broker = SimBroker(World(seed=9))
    broker.wait_until_ready()
    client = SimClient(broker.world, "client", broker.address)
    topic = CreatableTopic(name="t", num_partitions=3, replication_factor=1)
    client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7)
    broker.stop()
    monkeypatch.setattr(Slices, "is_over", True)
    led = []
    enable = SocketServer.enable

    def look(server):
        if server is broker.server.broker.socket_server:
            topic = broker.server.broker.replicas.topics["t"]
            led.extend(partition.leader is not None for partition in topic.partitions.values())
        enable(server)

    monkeypatch.setattr(SocketServer, "enable", look)
    broker.restart()
    assert led == [True] * 3


@pytest.mark.parametrize("file", [".kafka_cleanshutdown", "recovery-point-offset-checkpoint", "t-0/leader-epoch"])
def test_a_stop_without_space_says_what_could_not_be_written(file):
    broker = SimBroker(World(seed=9)).wait_until_ready()
    client = SimClient(broker.world, "client", broker.address)
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7)
    client.ask(produce_request(("t", 0), bytes(batch(b"one")), -1), 9)
    broker.node.disk.fail("write", ENOSPC, path=f"/data/{file}", times=None)
    broker.stop()
    (line,) = broker.server.unclosed
    assert line.startswith("The log dir /data was not closed cleanly, and the next start has to recover it: no space")
    assert f"/data/{file}" in line
    assert f"ERROR [BrokerServer id=1] {line}" in broker.lines
    broker.node.disk.heal()
    broker.restart()
    broker.stop()
    assert broker.server.unclosed == []
