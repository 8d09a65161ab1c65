"""However a stream is cut into receives, and whenever its connection is held up, its frames are the same."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from network_kit import held_bytes
from odradek.reactor.connection import Connection
from odradek.reactor.frames import FrameMemory, read_length
from odradek.reactor.ports import READABLE
from odradek.reactor.selector import Selector
from odradek.reactor.sending_end import MUTED
from odradek.sim.world import World


class Script:
    """A transport that hands out what the test gives it, in pieces of the test's choice."""

    is_ready = True
    peer = ("peer", 1)
    is_buffered = False

    def __init__(self, data, cuts, fileno):
        self._fileno = fileno
        self.data = data
        self.cuts = cuts

    def fileno(self):
        return self._fileno

    def recv_into(self, buffer):
        if not self.data:
            raise BlockingIOError
        size = min(len(buffer), self.cuts.pop() if self.cuts else len(self.data), len(self.data))
        buffer[:size] = self.data[:size]
        self.data = self.data[size:]
        return size

    def has_input(self):
        return False

    def flush(self):
        return True

    def close(self):
        pass


class Cutter(Connection):
    """Takes `pace` frames at a time, as a server whose slice of time is over does."""

    def __init__(self, selector, transport, pace):
        super().__init__(selector, transport, 2_000_000)
        self.pace = pace
        self.frames = []

    def handle(self, view, end):
        at, count = 0, 0
        while count < self.pace and end - at >= 4:
            behind = at + 4 + self._checked(read_length(view, at)[0])
            if behind > end:
                break
            self.frames.append(bytes(view[at + 4 : behind]))
            at, count = behind, count + 1
        return at


sizes = st.lists(st.one_of(st.integers(4, 50), st.integers(4000, 9000), st.integers(30_000, 300_000)), max_size=8)
cuts = st.lists(st.integers(1, 70_000), max_size=200)


@pytest.mark.contract("C48")
@settings(deadline=None)
@given(sizes, cuts, st.integers(1, 5), st.sets(st.integers(0, 50)), st.sampled_from([-1, 1000]))
def test_frames_are_the_same_however_they_come(sizes, cuts, pace, held_up, memory_bytes):
    bodies = [bytes([number + 1]) * size for number, size in enumerate(sizes)]
    data = b"".join(struct.pack(">i", len(body)) + body for body in bodies)
    memory = FrameMemory(memory_bytes)
    node = World(1).node("n")
    listener = node.ports.network.listen(node.address, 0)  # something that can be watched in place of a socket
    selector = Selector(node.boot(), memory=memory, poisons=True)
    connection = Cutter(selector, Script(data, cuts, listener.fileno()), pace)
    selector.add(connection)
    for turn in range(2000):
        if len(connection.frames) == len(bodies):
            break
        if turn in held_up:
            connection.block(MUTED)
            connection.ready(READABLE)
            connection.unblock(MUTED)
        connection.ready(READABLE)
        assert held_bytes(connection) <= max(300_000, 8 * len(data))
    assert connection.frames == bodies
    assert memory.used_bytes == 0
    assert not connection.is_closed
