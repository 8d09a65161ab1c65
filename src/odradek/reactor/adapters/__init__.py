"""The real world behind the ports: the only modules that touch files, sockets, threads, clocks and chance."""

from odradek.reactor.adapters.client_network import ClientNetwork
from odradek.reactor.adapters.clock import SystemClock
from odradek.reactor.adapters.disk import SystemDisk
from odradek.reactor.adapters.executor import ThreadExecutor
from odradek.reactor.adapters.network import SystemNetwork
from odradek.reactor.adapters.rng import SystemRng
from odradek.reactor.ports import Ports


def system_ports(threads: int = 8) -> Ports:
    """The ports of a real process; `threads` is `num.io.threads`. A thread starts when a job first needs it."""
    return Ports(SystemClock(), SystemRng(), SystemDisk(), SystemNetwork(), ThreadExecutor(threads))


def client_ports() -> Ports:
    """The ports of a client inside of somebody's program. Its one job is to resolve names: one thread, when needed."""
    return Ports(SystemClock(), SystemRng(), SystemDisk(), ClientNetwork(), ThreadExecutor(1, waits_at_close=False))
