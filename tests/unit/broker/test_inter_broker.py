"""Messages between the parts of one process, and the ids that the broker hands out."""

import pytest

from broker_kit import SimBroker
from odradek.broker.inter_broker import InterBroker
from odradek.broker.producer_ids import WAITING_MAX, ProducerIds
from odradek.channel.config import ChannelConfig
from odradek.channel.network_client import NetworkClient
from odradek.channel.node import Node
from odradek.channel.unsent_requests import UnsentRequests
from odradek.handlers.broker_parts import ACTIVE_CONTROLLER
from odradek.protocol.errors import BrokerNotAvailable, CoordinatorLoadInProgress, NetworkException
from odradek.protocol.messages.k03_metadata import MetadataRequest
from odradek.protocol.messages.k18_api_versions import ApiVersionsRequest
from odradek.protocol.messages.k67_allocate_producer_ids import AllocateProducerIdsRequest
from odradek.protocol.releases import CONTROLLER
from odradek.sim.world import World


@pytest.fixture
def broker():
    return SimBroker(World(seed=8)).wait_until_ready()


@pytest.fixture
def shared(broker):
    return broker.server.shared


def wait(broker, pending):
    assert broker.world.run_until(lambda: pending.is_done, 60_000)
    return pending.value()


def test_nobody_is_served_inside_the_call_that_sends(broker, shared):
    pending = shared.inter_broker.send(1, ApiVersionsRequest(client_software_name="x", client_software_version="1"))
    assert not pending.is_done
    assert wait(broker, pending).error_code == 0


def test_the_controller_and_the_broker_are_two_listeners(broker, shared):
    def keys(node):
        request = ApiVersionsRequest(client_software_name="x", client_software_version="1")
        return {api.api_key for api in wait(broker, shared.inter_broker.send(node, request)).api_keys}

    assert 62 in keys(ACTIVE_CONTROLLER) and 62 not in keys(1)
    assert 0 in keys(1) and 0 not in keys(ACTIVE_CONTROLLER)


def test_a_node_that_is_not_there(shared):
    with pytest.raises(BrokerNotAvailable):
        shared.inter_broker.send(2, ApiVersionsRequest())


@pytest.fixture
def other(broker):
    """Another broker's way out, on a host of its own. It knows node 1 alone."""
    loop = broker.world.node("other").boot()
    client = NetworkClient(loop, ChannelConfig(client_id="broker-2"))
    inter_broker = InterBroker(loop, 2, broker.server.shared.release)
    cache = broker.server.shared.cache
    nodes = cache.alive_nodes("PLAINTEXT")
    inter_broker.route_to_others(UnsentRequests(client), lambda node_id: nodes.get(node_id) and Node(*nodes[node_id]))
    return inter_broker


def test_another_broker_is_asked_over_the_channel(broker, other):
    pending = other.send(1, MetadataRequest(topics=[]))
    assert [each.node_id for each in wait(broker, pending).brokers] == [1]


def test_another_broker_that_is_down_fails_and_is_asked_again_when_it_is_back(broker, other):
    broker.crash()
    pending = other.send(1, MetadataRequest(topics=[]))
    with pytest.raises(NetworkException):
        wait(broker, pending)
    broker.restart()
    broker.world.run_for(100)  # the pause before the next attempt to connect
    assert wait(broker, other.send(1, MetadataRequest(topics=[]))).brokers


def test_a_broker_that_nobody_has_heard_of(other):
    with pytest.raises(BrokerNotAvailable, match="Node 7 is not known"):
        other.send(7, MetadataRequest(topics=[]))


def test_the_newest_version_that_the_release_has_is_sent(shared):
    assert shared.inter_broker.newest_version(CONTROLLER, AllocateProducerIdsRequest()) == 0
    assert shared.inter_broker.newest_version(CONTROLLER, ApiVersionsRequest()) == 4


def ids_of(broker, shared):
    return ProducerIds(
        shared.loop, shared.inter_broker, shared.node_id, lambda: broker.server.broker.lifecycle.broker_epoch
    )


def test_ids_run_on_over_the_end_of_a_block(broker, shared):
    ids = ids_of(broker, shared)
    drawn = [wait(broker, ids.next()) for _ in range(2500)]
    assert len(set(drawn)) == 2500
    assert drawn == sorted(drawn)


def test_two_caches_never_share_a_block(broker, shared):
    one, other = ids_of(broker, shared), ids_of(broker, shared)
    drawn = [wait(broker, ids.next()) for _ in range(30) for ids in (one, other)]
    assert len(set(drawn)) == 60


def test_without_a_controller_whoever_waits_is_told_to_come_again(broker, shared):
    ids = ids_of(broker, shared)
    dispatcher = shared.inter_broker._local.pop(CONTROLLER)
    with pytest.raises(CoordinatorLoadInProgress):
        wait(broker, ids.next())
    shared.inter_broker._local[CONTROLLER] = dispatcher
    assert wait(broker, ids.next()) >= 0


def test_the_number_of_those_that_wait_is_bounded(broker, shared):
    ids = ids_of(broker, shared)
    pendings = [ids.next() for _ in range(WAITING_MAX + 1)]
    assert isinstance(pendings[-1].error, CoordinatorLoadInProgress)
