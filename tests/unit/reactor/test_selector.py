"""Connections without a server's rules: a client's end, muting, expiry, and the loop's second helping."""

import struct

import pytest

from network_kit import held_bytes
from odradek.reactor.connection import Connection
from odradek.reactor.frames import read_length
from odradek.reactor.loop import Loop
from odradek.reactor.selector import Selector
from odradek.reactor.sending_end import MUTED, WIDE_BYTES_MIN
from odradek.reactor.transport import PlainTransport
from odradek.sim.world import World


class Frames(Connection):
    """Keeps every frame that comes."""

    __slots__ = ("frames", "was_ready")

    def __init__(self, selector, transport):
        super().__init__(selector, transport, 1_000_000)
        self.frames = []
        self.was_ready = False

    def on_ready(self):
        self.was_ready = True

    def handle(self, view, end):
        at = 0
        while not self.blocked and end - at >= 4:
            behind = at + 4 + self._checked(read_length(view, at)[0])
            if behind > end:
                break
            self.frames.append(bytes(view[at + 4 : behind]))
            at = behind
        return at


def frame(body):
    return [struct.pack(">i", len(body)), body]


class Pair:
    def __init__(self, idle_ms=-1):
        self.world = World(1)
        self.errors = []
        node = self.world.node("here")
        self.loop = node.boot(lambda error, _: self.errors.append(error))
        self.node = node
        self.selector = Selector(self.loop, idle_ms=idle_ms, poisons=True)
        self.listener = node.ports.network.listen(node.address, 0)
        self.client = Frames(
            self.selector, PlainTransport(node.ports.network.connect(*self.listener.address), is_connected=False)
        )
        self.selector.add(self.client, is_connecting=True)
        self.until(self.listener.readiness)
        self.server = Frames(self.selector, PlainTransport(self.listener.accept()))
        self.selector.add(self.server)
        self.until(lambda: self.client.was_ready)

    def until(self, condition):
        self.node.attend()
        assert self.world.run_until(condition, 60_000), "it did not happen"


@pytest.fixture
def pair():
    return Pair()


@pytest.mark.contract("C19")
def test_both_ends_send_frames(pair):
    pair.client.send(frame(b"to the server"))
    pair.server.send(frame(b"to the client"))
    pair.until(lambda: pair.client.frames and pair.server.frames)
    assert (pair.client.frames, pair.server.frames) == ([b"to the client"], [b"to the server"])


def test_a_connection_that_cannot_be_made_closes_with_the_reason():
    pair = Pair()
    port = pair.listener.address[1]
    pair.listener.close()
    refused = Frames(pair.selector, PlainTransport(pair.node.ports.network.connect(pair.node.address, port)))
    refused.transport.is_ready = False
    pair.selector.add(refused, is_connecting=True)
    pair.until(lambda: refused.is_closed)
    assert "cannot connect" in refused.close_reason
    assert pair.errors == []


@pytest.mark.contract("C21")
def test_a_muted_connection_gets_its_frames_later(pair):
    pair.server.mute()
    for number in range(100):
        pair.client.send(frame(b"%d" % number * 100))
    pair.world.run_for(1000)
    assert pair.server.frames == []
    pair.server.unblock(MUTED)
    pair.until(lambda: len(pair.server.frames) == 100)


@pytest.mark.contract("C55")
def test_the_end_of_the_stream_within_a_frame_is_told_from_one_between_frames(pair):
    pair.server.send([struct.pack(">i", 100_000), b"x" * 50_000])
    pair.until(lambda: held_bytes(pair.client))
    pair.server.close()
    pair.until(lambda: pair.client.is_closed)
    assert pair.client.close_reason == "closed by the peer within a frame"
    other = Pair()
    other.server.close()
    other.until(lambda: other.client.is_closed)
    assert other.client.close_reason == "closed by the peer"


@pytest.mark.contract("C32")
def test_memory_that_is_there_again_does_not_unmute_who_was_muted_on_purpose(pair):
    memory = pair.selector.memory
    memory.limit_bytes = 10
    assert memory.reserve(10)
    pair.client.send(frame(b"x" * 50_000))
    pair.until(lambda: memory.waiting)
    pair.server.mute()
    memory.give_back(10)
    pair.world.run_for(1000)
    assert not memory.waiting and pair.server.frames == []
    pair.server.unblock(MUTED)
    pair.until(lambda: pair.server.frames)


def test_closing_twice_is_closing_once(pair):
    told = []
    pair.client.when_closed(lambda: told.append(1))
    forgotten = lambda: told.append(2)  # noqa: E731 - it has to be the same object
    pair.client.when_closed(forgotten)
    pair.client.forget_when_closed(forgotten)
    pair.client.close("first")
    pair.client.close("second")
    assert told == [1]
    assert pair.client.close_reason == "first"
    pair.client.when_closed(lambda: told.append(3))
    assert told == [1, 3]
    pair.until(lambda: pair.server.is_closed)
    assert len(pair.selector) == 0


def test_what_is_queued_goes_out_before_the_close(pair):
    pair.client.send(frame(b"x" * 500_000))
    pair.client.close_after_send("done")
    assert not pair.client.is_closed
    pair.until(lambda: pair.client.is_closed)
    pair.until(lambda: pair.server.frames)
    assert len(pair.server.frames[0]) == 500_000


@pytest.mark.contract("C26")
def test_the_idle_expire_in_the_order_of_their_activity():
    pair = Pair(idle_ms=10_000)
    expired = []
    pair.selector.on_expired = expired.append
    pair.world.run_for(8000)
    pair.client.send(frame(b"ping"))  # no answer: to the client nothing has come since
    pair.until(lambda: pair.server.frames)
    pair.selector.touch(pair.server)
    pair.world.run_for(4000)
    assert expired == [pair.client]
    assert pair.selector.oldest() in (None, pair.server)


def test_connections_that_are_taken_over_expire_when_they_would_have():
    """Fewer processors: one that stays has the connections of the others where their last activity belongs."""
    pair = Pair()
    staying, leaving = (Selector(pair.loop, idle_ms=10_000) for _ in range(2))
    expired = []
    staying.on_expired = expired.append
    in_order = []
    for selector in (leaving, staying, leaving, staying):
        socket = pair.node.ports.network.connect(*pair.listener.address)
        in_order.append(Frames(selector, PlainTransport(socket, is_connected=False)))
        selector.add(in_order[-1], is_connecting=True)
        pair.until(lambda: in_order[-1].was_ready)
        pair.world.run_for(2000)
    staying.take_over(leaving)
    assert staying.connections() == in_order and not leaving.connections()
    pair.world.run_for(4000)
    assert expired == in_order[:1], "12 s after the first one came"
    pair.world.run_for(2000)
    assert expired == in_order[:2]


@pytest.mark.contract("C26")
def test_expiry_can_be_changed_and_turned_off():
    pair = Pair(idle_ms=10_000)
    pair.selector.set_idle_ms(-1)
    pair.world.run_for(100_000)
    assert len(pair.selector) == 2
    pair.selector.set_idle_ms(1000)
    pair.node.attend()
    pair.world.run_for(5000)
    assert len(pair.selector) == 0


@pytest.mark.contract("C31")
def test_again_serves_a_source_behind_the_others_and_holds_the_timers_back():
    node = World(2).node("n")
    loop = Loop(node.ports)
    order = []
    first, second = (node.ports.network.listen(node.address, port) for port in (0, 0))

    def serve_first(_):
        order.append("first")
        if order.count("first") < 3:
            loop.again(first)

    loop.register(first, 0, serve_first)
    loop.register(second, 0, lambda _: order.append("second"))
    loop.again(first, is_little=True)
    loop.again(second, is_little=True)
    assert loop.wait_ms() == 0
    loop.turn(0)
    assert order == ["first", "second", "first", "first"]


def test_who_is_sent_a_large_answer_may_have_more_on_its_way():
    pair = Pair()
    widened = []

    class Observed(PlainTransport):
        def widen(self):
            widened.append(True)

    pair.client.transport = Observed(pair.client.transport._socket)
    pair.client.send([bytes(WIDE_BYTES_MIN)])
    assert not widened
    pair.until(lambda: not pair.client.unsent_bytes)
    for _ in range(2):
        pair.client.send([bytes(WIDE_BYTES_MIN // 2), bytes(WIDE_BYTES_MIN)])
        pair.until(lambda: not pair.client.unsent_bytes)
    assert widened == [True]
