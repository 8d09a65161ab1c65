"""How long the loop sleeps: until something is ready, a timer is due or somebody wakes it, and not with work left."""

import threading
import time

import pytest

from odradek.reactor.adapters import system_ports
from odradek.reactor.loop import Loop
from odradek.sim.world import World


@pytest.fixture
def real_loop():
    ports = system_ports(threads=1)
    loop = Loop(ports)
    yield loop
    ports.executor.close()
    loop.close()


@pytest.mark.contract("E13")
def test_a_wake_up_from_another_thread_ends_the_sleep(real_loop):
    real_loop.after(60_000, lambda: None)
    waker = threading.Timer(0.05, real_loop.wake)
    waker.start()
    began = time.monotonic()
    real_loop.turn()
    waker.join(10)
    assert time.monotonic() - began < 30


class Newcomer:
    def fileno(self):
        return 1_000_000


@pytest.mark.contract("E23")
def test_the_loop_does_not_sleep_while_somebody_new_waits_to_be_served():
    loop = World(1).node("n").boot()
    loop.after(300, lambda: None)
    assert loop.wait_ms() == 300
    served = []
    loop.register_new(Newcomer(), served.append)
    assert loop.wait_ms() == 0
    loop.turn(0)
    assert served
    assert loop.wait_ms() == 300
