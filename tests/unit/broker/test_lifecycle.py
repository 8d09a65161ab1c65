"""The life of a broker, with the real controller in the same simulated process."""

import pytest

from broker_kit import SimBroker
from odradek.broker.lifecycle import NOT_RUNNING, RUNNING
from odradek.protocol.releases import CONTROLLER
from odradek.sim.world import World


@pytest.fixture(params=["3.3", "4.3"])
def broker(request):
    return SimBroker(World(seed=9), release=request.param)


def lifecycle(broker):
    return broker.server.broker.lifecycle


def own_image(broker):
    return broker.server.shared.cache.image.cluster.brokers.get(1)


@pytest.mark.contract("D13")
def test_the_states_come_in_kafkas_order_and_are_told(broker):
    states = []
    broker.world.run_until(lambda: broker.server.broker is not None)
    while not broker.starting.is_done:
        if not states or states[-1] != lifecycle(broker).state.name:
            states.append(lifecycle(broker).state.name)
        broker.world.step()
    states.append(lifecycle(broker).state.name)
    assert list(dict.fromkeys(states)) == ["NOT_RUNNING", "STARTING", "RECOVERY", "RUNNING"]
    told = [line for line in broker.lines if "BrokerLifecycleManager" in line]
    assert ["STARTING." in told[0], "Successfully registered" in told[1], "to RECOVERY" in told[2]] == [True] * 3


@pytest.mark.contract("D45")
def test_it_is_fenced_until_everything_is_ready(broker):
    fenced = []
    broker.world.run_until(lambda: broker.server.broker is not None)
    while not broker.starting.is_done:
        if own_image(broker) is not None:
            fenced.append((own_image(broker).fenced, broker.server.broker.replicas is not None))
        broker.world.step()
    assert fenced[0] == (True, False)
    assert all(has_replicas for is_fenced, has_replicas in fenced if not is_fenced)
    assert not own_image(broker).fenced
    assert broker.server.is_ready


@pytest.mark.contract("D31")
def test_what_it_registers(broker):
    broker.wait_until_ready()
    image = own_image(broker)
    assert image.epoch == lifecycle(broker).broker_epoch
    assert image.incarnation_id == lifecycle(broker).incarnation_id
    assert [(at.listener, at.port) for at in image.endpoints] == [("PLAINTEXT", 9092)]
    assert len(image.directories) == (1 if broker.release == "4.3" else 0)
    assert "metadata.version" in [name for name, _, _ in image.features]


def test_heartbeats_keep_it_alive_and_their_end_fences_it(broker):
    broker.wait_until_ready()
    broker.world.run_for(60_000)
    assert not own_image(broker).fenced
    lifecycle(broker).close()
    broker.world.run_for(60_000)
    assert own_image(broker).fenced


def test_a_controlled_shutdown_is_quick_and_leaves_it_out_of_the_cluster(broker):
    broker.wait_until_ready()
    began_us = broker.world.now_us
    broker.stop()
    assert broker.world.now_us - began_us < 1_000_000
    assert lifecycle(broker).state is NOT_RUNNING
    assert any("exit controlled shutdown" in line for line in broker.lines)
    image = own_image(broker)
    assert image.fenced or image.in_controlled_shutdown


@pytest.mark.contract("D50")
def test_a_stop_in_the_middle_of_the_start(broker):
    for milliseconds in range(0, 60, 7):
        broker.world.run_for(milliseconds)
        broker.stop()
        broker.node.disk.lock("/data/.lock").release() if broker.node.disk.exists("/data") else None
        broker.node.crash(silent=False)
        broker.boot()
    broker.wait_until_ready()


def test_a_controller_that_does_not_answer_is_asked_again(broker):
    broker.world.run_until(lambda: broker.server.broker is not None)
    inter_broker = broker.server.shared.inter_broker
    broker.world.run_until(lambda: CONTROLLER in inter_broker._local)
    dispatcher = inter_broker._local.pop(CONTROLLER)
    broker.world.run_for(3000)
    assert not broker.starting.is_done
    assert any("Unable to register" in line for line in broker.lines)
    inter_broker._local[CONTROLLER] = dispatcher
    broker.wait_until_ready()
    assert lifecycle(broker).state is RUNNING
