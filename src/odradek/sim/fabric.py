"""What lies between simulated hosts: time, and the loss that TCP hides by sending again.

A packet from one host to another takes a drawn time. If the way is cut, or the other host is down, it is sent
again, later and later, until it passes or the sender gives up. So a partition delays and in the end breaks
connections, and never loses a byte in the middle of one. Each direction is cut on its own. Packets of
different connections overtake each other freely; within a connection a `Pipe` keeps the order of the bytes.
"""

from collections import deque
from collections.abc import Callable
from errno import ETIMEDOUT
from typing import TYPE_CHECKING

from odradek.sim.rng import SimStream
from odradek.sim.timeline import Timeline

if TYPE_CHECKING:
    from odradek.sim.network import SimNetwork, SimSocket

RESEND_US = 200_000  # the first time; then twice as long each time, up to
RESEND_US_MAX = 10_000_000
GIVE_UP_US = 120_000_000  # after so long without getting through a connection is dead


class Fabric:
    """All hosts and the faults between them. The percentages are chances per operation."""

    __slots__ = (
        "_cuts",
        "_stream",
        "addresses",
        "buffer_bytes",
        "hosts",
        "latency_us",
        "names",
        "reset_percent",
        "short_percent",
        "split_percent",
        "world",
    )

    def __init__(self, world: Timeline, stream: SimStream) -> None:
        self.world = world
        self._stream = stream
        self._cuts: set[tuple[str, str]] = set()
        self.hosts: dict[str, SimNetwork] = {}
        self.addresses: dict[str, str] = {}  # by the name of a node
        self.names: dict[str, list[str]] = {}  # beside the nodes' own: the addresses that a name stands for
        self.latency_us = (30, 600)
        self.buffer_bytes = 64 * 1024  # on the way and unread, per direction of a connection
        self.short_percent = 0.0  # a recv or send moves less than it could
        self.split_percent = 0.0  # what was sent at once arrives in pieces
        self.reset_percent = 0.0  # a send breaks its connection

    def cut(self, source: str, target: str) -> None:
        """Nothing gets from the source to the target any more; the other direction is another matter."""
        self.world.note(f"cut {source} {target}")
        self._cuts.add((source, target))

    def partition(self, one: str, other: str) -> None:
        self.cut(one, other)
        self.cut(other, one)

    def heal(self) -> None:
        self.world.note("heal")
        self._cuts.clear()

    def reset_connections(self, one: str, other: str) -> None:
        """Breaks every connection between two hosts: both ends find out, each in its time."""
        for socket in self.hosts[one].connected_to(other):
            socket.break_both_ends()

    def passes(self, source: str, target: str) -> bool:
        return (source, target) not in self._cuts and self.hosts[target].is_up

    def delay_us(self) -> int:
        return self._stream.between(*self.latency_us)

    def carry(
        self, source: str, target: str, arrive: Callable[[], object], lost: Callable[[], object] = lambda: None
    ) -> None:
        """Calls `arrive` when a packet has got through, `lost` when the sender has given up."""
        Packet(self, source, target, arrive, lost).send()


class Packet:
    __slots__ = ("_arrive", "_fabric", "_lost", "_resend_us", "_source", "_target", "_waited_us")

    def __init__(
        self,
        fabric: Fabric,
        source: str,
        target: str,
        arrive: Callable[[], object],
        lost: Callable[[], object],
    ) -> None:
        self._fabric = fabric
        self._source = source
        self._target = target
        self._arrive = arrive
        self._lost = lost
        self._resend_us = RESEND_US
        self._waited_us = 0

    def send(self) -> None:
        self._fabric.world.after(self._fabric.delay_us(), self._at_target)

    def _at_target(self) -> None:
        if self._fabric.passes(self._source, self._target):
            self._arrive()
        elif self._waited_us >= GIVE_UP_US:
            self._lost()
        else:
            self._waited_us += self._resend_us
            self._fabric.world.after(self._resend_us, self._at_target)
            self._resend_us = min(2 * self._resend_us, RESEND_US_MAX)


class Pipe:
    """One direction of a connection: bytes arrive in order; an empty chunk says that no more will come."""

    __slots__ = ("_chunks", "_fabric", "_is_broken", "_is_moving", "_source", "_target", "credit_bytes")

    def __init__(self, fabric: Fabric, source: "SimSocket", target: "SimSocket") -> None:
        self._fabric = fabric
        self._source = source
        self._target = target
        self._chunks: deque[bytes] = deque()
        self._is_moving = False
        self._is_broken = False
        self.credit_bytes = fabric.buffer_bytes  # what may still be sent before the other side reads

    def put(self, chunks: list[bytes]) -> None:
        self._chunks.extend(chunks)
        self.credit_bytes -= sum(map(len, chunks))
        if not self._is_moving and not self._is_broken:
            self._move_next()

    def break_off(self) -> None:
        """What is on the way is lost."""
        self._is_broken = True
        self._chunks.clear()

    def was_read(self, count: int) -> None:
        """Room for more, once the sender has heard of it."""
        if not self._is_broken:
            self._fabric.carry(self._target.host, self._source.host, lambda: self._grant(count))

    def _grant(self, count: int) -> None:
        self.credit_bytes += count
        self._source.changed()

    def _move_next(self) -> None:
        self._is_moving = True
        self._fabric.carry(self._source.host, self._target.host, self._arrived, self._lost)

    def _arrived(self) -> None:
        self._is_moving = False
        if self._is_broken:
            return
        self._target.arrived(self._chunks.popleft())
        if self._chunks:
            self._move_next()

    def _lost(self) -> None:
        if not self._is_broken:
            self._source.failed(ETIMEDOUT)
