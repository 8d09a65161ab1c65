"""A host for the simulator, beside those for threads and for asyncio: a client's session on the loop of its node.

    link = ClientLink(world, "consumer", broker.address, faults)
    host = SimHost(link, caller.open_session)
    records = await host.drive(caller.poll(100, 10))       # on the loop of the node

The program and the client's loop are two threads in truth. Here the program is a task of the same loop; at each step
that it waits for, a drawn time passes first and after it, in which the client goes on (`HOP_MS_MAX`).

A client that crashes is gone in the middle of a step: `bury` brings its coroutines to an end without any of it.
"""

from inspect import iscoroutine

from faulty_link import Link

from odradek.client.consumer.steps import Operate
from odradek.reactor.ports import Ports

HOP_PERCENT = 10  # of the steps take time
HOP_MS_MAX = 5


class Detour:
    """The network of a client whose every way leads over one relay, whatever address a broker tells."""

    def __init__(self, network, address):
        self._network = network
        self._address = address

    def connect(self, host, port):
        return self._network.connect(*self._address)

    def __getattr__(self, name):
        return getattr(self._network, name)


class ClientLink(Link):
    """The way of a whole client, which has its own channel."""

    def open_channel(self):
        ports = self.loop.ports
        network = Detour(ports.network, self.way.address)
        self.loop.ports = Ports(ports.clock, ports.rng, ports.disk, network, ports.executor)

    @property
    def servers(self):
        host, port = self.way.address
        return f"{host}:{port}"


class Crashed(BaseException):
    """In the place of any answer."""


class SimHost:
    has_started = True

    def __init__(self, link, open_session):
        self.link = link
        self.loop = link.loop
        self.is_gone = False
        self.caller = None  # of a consumer
        self._stream = link.world.rng.stream(f"hops of {link.name} {link.node.incarnation}")
        self._driven = []
        self._session = open_session(link.loop)

    # As the caller's side knows a host

    def session(self):
        return self._session

    def tell(self, callback):
        self.loop.from_thread(callback, self._session)

    # As the program does

    async def drive(self, coroutine):
        """Runs a coroutine of steps to its end, as `steps.drive` does."""
        value = error = None
        self._driven.append(coroutine)
        try:
            while True:
                step = coroutine.send(value) if error is None else coroutine.throw(error)
                value = error = None
                try:
                    value = await self.make(step)
                except GeneratorExit:
                    raise  # the node has crashed: `bury` was there
                except BaseException as raised:  # noqa: BLE001 - the coroutine decides
                    error = raised
        except StopIteration as end:
            return end.value
        finally:
            if coroutine in self._driven:
                self._driven.remove(coroutine)

    async def make(self, step):
        await self.hop()
        if not isinstance(step, Operate):
            return await self._call(step)
        operation, session = step.operation, self._session
        made = await self.run(lambda _: session.unless_woken(operation) if step.is_wakeable else operation(session))
        await self.hop()
        return made

    async def _call(self, step):
        """A function of the program, which may call its client."""
        was, self.caller.is_in_callback = self.caller.is_in_callback, True
        try:
            told = step.function(*step.arguments)
            return await told if iscoroutine(told) else told
        finally:
            self.caller.is_in_callback = was

    async def run(self, operation):
        """As from another thread: behind what that thread has told before."""
        done = self.loop.pending()
        self.loop.from_thread(lambda _: done.follow(self.loop.spawn(operation(self._session))))
        return await done

    async def hop(self):
        if self._stream.chance(HOP_PERCENT):
            await self.loop.sleep(self._stream.below(HOP_MS_MAX + 1))

    # The end

    def crash(self):
        self.is_gone = True
        if self.link.is_alive:
            self.link.crash()
        for coroutine in self._driven:
            bury(coroutine)


def bury(coroutine):
    try:
        while True:
            coroutine.throw(Crashed())
    except (Crashed, StopIteration, ValueError, RuntimeError):
        coroutine.close()
