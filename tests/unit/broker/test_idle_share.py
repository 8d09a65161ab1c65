"""How idle a broker is, for who reads RequestHandlerAvgIdlePercent."""

import pytest

from odradek.broker.node_metrics import IdleShare
from odradek.reactor.loop import Loop
from odradek.sim.world import World


class Clock:
    now = 1000

    def mono_ms(self):
        return self.now

    wall_ms = cpu_ms = mono_ms

    def mono_us(self):
        return self.now * 1000

    cpu_us = mono_us


class Poller:
    """Nothing is ever ready: whoever may wait sleeps."""

    def __init__(self, clock):
        self.clock = clock

    def poll(self, timeout_ms, events_max=0):
        self.clock.now += timeout_ms or 0
        return []

    def wake(self):
        """Nobody else is there who could."""


class Ports:
    def __init__(self):
        self.clock = Clock()
        self.executor = World(1).node("n").executor
        self.network = self

    def poller(self):
        return Poller(self.clock)


@pytest.mark.contract("E42", "J1")
def test_the_idle_share_is_the_time_asleep_since_the_last_look():
    ports = Ports()
    loop = Loop(ports)
    idle = IdleShare(loop)

    def works(_):
        ports.clock.now += 300

    loop.turn(700)
    assert idle.read() == 1
    loop.turn(700)
    loop.soon(works)
    loop.turn()
    assert idle.read() == pytest.approx(0.7)
    loop.soon(works)
    loop.turn()
    assert idle.read() == 0
