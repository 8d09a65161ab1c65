"""One program, real sockets and simulated ones, with and without faults: the application sees the same."""

import os
import sys
from pathlib import Path

import pytest
from echo import PORT, EchoClient, EchoServer, faulty_run

import outside
from odradek.reactor.adapters import system_ports
from odradek.reactor.loop import Loop
from odradek.sim.world import World

HERE = Path(__file__).parent
CLIENTS, MESSAGES = 5, 40


def application_trace(clients):
    return [client.log for client in clients]


def on_real_sockets():
    ports = system_ports(threads=1)
    loop = Loop(ports)
    server = EchoServer(loop, "127.0.0.1", 0)
    clients = [EchoClient(loop, server.listener.address, f"c{n}", MESSAGES) for n in range(CLIENTS)]
    for task in [loop.spawn(client.run()) for client in clients]:
        loop.run_until(task)
    ports.executor.close()
    loop.close()
    server.listener.close()
    return application_trace(clients)


def simulated(seed):
    world = World(seed)
    server = world.node("server")
    EchoServer(server.boot(), "", PORT)
    clients = []
    for number in range(CLIENTS):
        loop = world.node(f"client-{number}").boot()
        clients.append(EchoClient(loop, (server.address, PORT), f"c{number}", MESSAGES))
    tasks = [client.loop.spawn(client.run()) for client in clients]
    assert world.run_until(lambda: all(task.is_done for task in tasks))
    return world, clients


def test_real_and_simulated_sockets_tell_the_application_the_same():
    world, clients = simulated(seed=1)
    trace = application_trace(clients)
    assert trace == on_real_sockets()
    assert trace == [client.messages for client in clients]
    assert world.now_us < 1_000_000


def test_a_loop_that_waits_by_itself_works_in_the_simulator_too():
    """Outside of events, `run_until` of a loop lets the whole world go on, as it waits on real sockets."""
    world = World(seed=4)
    EchoServer(world.node("server").boot(), "", PORT)
    loop = Loop(world.node("client").ports)
    client = EchoClient(loop, (world.node("server").address, PORT), "c", 10)
    loop.run_until(loop.spawn(client.run()))
    assert client.log == client.messages


@pytest.mark.parametrize("seed", range(40))
def test_faults_change_when_things_happen_but_not_what_the_application_sees(seed):
    _, clients = faulty_run(seed)
    assert application_trace(clients) == [client.messages for client in clients]


def test_the_faults_do_happen():
    runs = [faulty_run(seed) for seed in range(10)]
    assert sum(client.connects for _, clients in runs for client in clients) > 60, "40 would be none broken"
    lines = [line for world, _ in runs for line in world.trace.lines]
    for what in ("crash", "cut", "pause", "fails with"):
        assert any(what in line for line in lines), what


def test_the_same_seed_gives_the_same_trace_and_another_one_another():
    assert faulty_run(3)[0].trace.digest() == faulty_run(3)[0].trace.digest()
    assert len({faulty_run(seed)[0].trace.digest() for seed in range(5)}) == 5


def test_the_trace_does_not_depend_on_the_hash_seed():
    digests = set()
    for hash_seed in ("0", "1", "31337"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, str(HERE / "echo.py"), "7"]
        digests.add(outside.run(command, env=environment, check=True).stdout)
    assert len(digests) == 1
    assert digests == {faulty_run(7)[0].trace.digest()}
