"""The world behind the ports, the real one and the simulated one, for tests that hold both to the same promises."""

import time

from odradek.reactor.adapters import system_ports
from odradek.sim.world import World


class RealOutside:
    name = "real"

    def __init__(self, tmp_path):
        self.ports = system_ports(threads=2)
        self.root = str(tmp_path)
        self.host = "127.0.0.1"

    def until(self, condition, seconds=5):
        """Lets time pass until the condition holds."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "it did not happen in time"
            self.ports.executor.drain()
            time.sleep(0.0005)

    def close(self):
        self.ports.executor.close()


class SimOutside:
    name = "sim"

    def __init__(self):
        self.world = World(seed=11)
        node = self.world.node("here")
        self.ports = node.ports
        self.root = "/data"
        self.host = node.address
        self.ports.disk.mkdir(self.root)

    def until(self, condition, seconds=5):
        def drained():
            self.ports.executor.drain()
            return condition()

        assert self.world.run_until(drained, seconds * 1000), "it did not happen in time"

    def close(self):
        self.ports.executor.close()
