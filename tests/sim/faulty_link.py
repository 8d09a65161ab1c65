"""The way between a client and a simulated broker, with everything that a network does to requests and answers.

    link = Link(world, "client", broker.address, Faults(lose_request=2, late=3, late_ms=4000))
    link.send(send, 3000, on_answer, on_failed)     # one of the two is called, once
    driver = Driver(link.channel, core)              # or: the product's own driver, for all that a core asks for

The client's end is the product's own `Channel`. Between it and the broker stands a relay on a host of its own (`Way`),
which cuts what passes into frames. Within a connection nothing is out of order: what is lost breaks it, and all that
was in flight on it has failed. What is *late* or comes a *second time* gets to the broker by itself, whatever has
become of the client. All draws come from the world's seed.
"""

from collections import deque
from typing import NamedTuple

from broker_kit import SimClient
from channel_kit import Peer
from odradek.channel.channel import Channel
from odradek.channel.config import ChannelConfig
from odradek.channel.metadata import Metadata
from odradek.protocol import apis
from odradek.reactor.ports import READABLE

BREAK_MS_MAX = 50  # until a client learns that its connection has broken
GHOST_MS_MAX = 60_000  # a frame that came late waits so long for its answer, which nobody hears
CONFIG = ChannelConfig(
    reconnect_backoff_ms=20,
    reconnect_backoff_max_ms=200,
    socket_connection_setup_timeout_ms=1000,
    socket_connection_setup_timeout_max_ms=2000,
    request_timeout_ms=3000,
    retry_backoff_ms=20,
    retry_backoff_max_ms=200,
)


class Faults(NamedTuple):
    """Chances in percent, drawn for every request."""

    lose_request: float = 0  # it never arrives; the connection breaks
    lose_response: float = 0  # it is handled, and the connection breaks
    late: float = 0  # the connection breaks; it arrives up to `late_ms` after that
    duplicate: float = 0  # it arrives; up to `late_ms` later it arrives again, from another connection
    slow: float = 0  # its answer, and those behind it, arrive up to `slow_ms` later
    late_ms: int = 5000
    slow_ms: int = 500


HEALTHY = Faults()


class Fate(NamedTuple):
    """Of the answer to a request that has got through."""

    is_lost: bool
    slow_ms: int


class Way:
    """A relay between one client and the broker: each connection of the client's leads to one of its own."""

    tls = None

    def __init__(self, link, faults):
        self.link = link
        self.world = link.world
        self.faults = faults
        self.stream = link.stream
        self.node = self.world.node(f"network of {link.name}")
        self.loop = self.node.loop or self.node.boot()
        self.connections = []
        self.ghosts = 0  # frames that came late, or again
        self.listener = self.loop.ports.network.listen(self.node.address, 0)
        self.loop.register(self.listener, READABLE, self._accept)

    @property
    def address(self):
        return self.listener.address

    def _accept(self, _):
        self.connections.append(Near(self, self.listener.accept()))

    def break_off(self):
        for near in list(self.connections):
            near.close()

    def deliver_late(self, frame):
        self.ghosts += 1
        delay_us = self.stream.below(self.faults.late_ms) * 1000
        self.world.after(delay_us, lambda: self._arrive_late(frame))

    def _arrive_late(self, frame):
        self.link.arrives_late(api_key_of(frame))
        Ghost(self, frame)

    def note(self, fate, frame):
        self.world.note(f"{self.link.name} {fate} {apis.by_key(api_key_of(frame)).name}")


class Near(Peer):
    """The client's end of a connection: requests come in here, and meet their fate."""

    def __init__(self, way, socket):
        super().__init__(way, socket)
        self.way = way
        self.far = Far(way, self)
        self.free_at_us = 0  # an answer is not told before those in front of it

    def serve(self, frame):
        way, faults, stream = self.way, self.way.faults, self.way.stream
        way.link.passes(frame)
        if stream.chance(faults.lose_request):
            way.note("lost", frame)
            self._break_soon()
        elif stream.chance(faults.late):
            way.note("late", frame)
            self._break_soon()
            way.deliver_late(frame)
        else:
            is_lost = stream.chance(faults.lose_response)
            slow_ms = stream.below(faults.slow_ms) if stream.chance(faults.slow) else 0
            if stream.chance(faults.duplicate):
                way.note("twice", frame)
                way.deliver_late(frame)
            self.far.forward(frame, Fate(is_lost, slow_ms))

    def answered(self, frame, fate):
        if fate.is_lost:
            self.close()
            return
        world = self.way.world
        self.free_at_us = max(world.now_us + fate.slow_ms * 1000, self.free_at_us)
        delay_ms = (self.free_at_us - world.now_us) // 1000
        data = len(frame).to_bytes(4, "big") + frame
        if delay_ms:
            self.way.loop.after(delay_ms, lambda: self.is_closed or self.send(data))
        else:
            self.send(data)

    def close(self):
        super().close()
        self.far.close()

    def _break_soon(self):
        self.way.loop.after(self.way.stream.below(BREAK_MS_MAX), self.close)


class Far(SimClient):
    """The broker's end of it."""

    def __init__(self, way, near):
        self.near = near
        self.fates = deque()
        super().__init__(way.world, way.node.name, way.link.address, loop=way.loop)

    def forward(self, frame, fate):
        self.fates.append(fate)
        self.send_bytes(frame)

    def _take(self, frame):
        self.near.answered(frame, self.fates.popleft())

    def close(self):
        super().close()
        if not self.near.is_closed:
            self.near.close()


class Ghost(SimClient):
    """A frame that gets to the broker on a connection that nobody listens to."""

    def __init__(self, way, frame):
        name = f"ghosts of {way.link.name}"
        super().__init__(way.world, name, way.link.address)
        self.loop.after(GHOST_MS_MAX, self.close)
        self.send_bytes(frame)

    def _take(self, frame):
        self.close()


class BehindTheWay(Metadata):
    """Brokers tell their own addresses; this client gets to them by the relay alone."""

    def __init__(self, address, **options):
        super().__init__(**options)
        self.address = address

    def update(self, ask, response, version, now_ms):
        for broker in response.brokers:
            broker.host, broker.port = self.address
        return super().update(ask, response, version, now_ms)


class WatchedChannel(Channel):
    """Tells its link of every request."""

    def __init__(self, link):
        self.link = link
        metadata = BehindTheWay(link.way.address, allows_creation=False)
        super().__init__(link.loop, CONFIG._replace(client_id=link.name), [link.way.address], metadata=metadata)

    def send(self, destination, request, **options):
        answered = super().send(destination, request, **options)
        self.link.asks(answered)
        return answered


class Link:
    """Of one life of one client: after a crash of its node there is a new one, and this one is silent."""

    def __init__(self, world, name, address, faults=HEALTHY, *, on_error=None):
        self.world = world
        self.name = name
        self.address = address
        self.node = world.node(name)
        self.loop = self.node.boot(on_error) if self.node.loop is None else self.node.loop
        self.stream = world.rng.stream(f"link {name} {self.node.incarnation}")
        self.way = Way(self, faults)
        self.channel = self.open_channel()

    def open_channel(self):
        return WatchedChannel(self)

    @property
    def faults(self):
        return self.way.faults

    @faults.setter
    def faults(self, faults):
        self.way.faults = faults

    @property
    def ghosts(self):
        return self.way.ghosts

    @property
    def is_alive(self):
        return self.node.loop is self.loop

    def now_ms(self):
        return self.loop.ports.clock.mono_ms()

    def send(self, send, timeout_ms, on_answer, on_failed):
        answered = self.channel.send(send.destination, send.request, version=send.version, timeout_ms=timeout_ms)
        answered.when_done(lambda done: on_failed() if done.error is not None else on_answer(done.value()))

    def break_off(self):
        """Every connection breaks; all that is in flight has failed."""
        self.way.break_off()

    def close(self):
        """The client is done."""
        self.channel.close()

    def pause(self, milliseconds):
        """The client stands still, and its clock does not: what it does next, it does too late."""
        self.node.pause()
        incarnation = self.node.incarnation
        self.world.after(milliseconds * 1000, lambda: self._resume(incarnation))

    def crash(self):
        """The client is gone with all it knew. What is late may still arrive."""
        self.node.crash(silent=False)

    def _resume(self, incarnation):
        if self.node.incarnation == incarnation and self.node.is_paused:
            self.node.resume()

    # For who listens in

    def asks(self, answered):
        """A request is on its way; `answered` is what will become of it."""

    def passes(self, frame):
        """A request has left the client, whatever becomes of it."""

    def arrives_late(self, api_key):
        """What was late, or comes a second time, is about to arrive."""


def api_key_of(frame):
    return int.from_bytes(frame[:2], "big")
