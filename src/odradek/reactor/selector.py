"""Kafka's Selector: many non-blocking connections on one loop, with what they share.

Connections register with the loop itself, not with a poller of their own inside it. Measured, an inner
poller costs about 1 µs more per turn and processor, and it would have to repeat what the loop does
already: serve the control plane first, bound the time of a turn, keep the order in which input came, and let no timer
pass input that waits.

Idle connections expire in the order of their last activity: one ordered table and one timer, whatever the number of
connections and requests.
"""

from collections import OrderedDict
from collections.abc import Callable

from odradek.reactor.connection import Connection
from odradek.reactor.frames import SCRATCH_BYTES, SHORT_SCRATCH_BYTES, FrameMemory
from odradek.reactor.loop import Loop
from odradek.reactor.ports import READABLE, WRITABLE
from odradek.reactor.timers import Timer

NEW_CALLS = 8  # of a connection, the look at what it has sent when it was accepted apart
CROWDED_CALLS = 8  # so many in a crowd count as one: a hundred clients that are always busy are no rush
EXPIRY_LOOK_MS = 1000  # connections that expire within so long of each other expire together


class _Newcomer:
    """A connection is new until it was served a few times, or many times in a crowd: who is known does not wait for a
    rush of those that nobody has seen before, nor for their leaving.
    """

    __slots__ = ("_calls_left", "_connection")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._calls_left = NEW_CALLS * CROWDED_CALLS

    def ready(self, readiness: int) -> None:
        connection = self._connection
        connection.ready(readiness)
        if connection.is_closed:
            return
        loop = connection.selector.loop
        self._calls_left -= 1 if loop.is_crowded else CROWDED_CALLS
        if self._calls_left < 0:
            loop.known(connection.transport, connection.interest, connection.ready)
        else:
            loop.watch_once(connection.transport, connection.interest)


class Selector:
    __slots__ = (
        "_idle_ms",
        "_order",
        "_timer",
        "expired",
        "loop",
        "memory",
        "mono_ms",
        "on_expired",
        "poisons",
        "scratch",
        "short_scratch",
        "urgent",
    )

    def __init__(
        self,
        loop: Loop,
        *,
        idle_ms: int = -1,
        memory: FrameMemory | None = None,
        scratch: memoryview | None = None,
        urgent: bool = False,
        poisons: bool = False,
    ) -> None:
        self.loop = loop
        self.mono_ms = loop.ports.clock.mono_ms
        self.memory = FrameMemory() if memory is None else memory
        self.scratch = memoryview(bytearray(SCRATCH_BYTES)) if scratch is None else scratch
        self.short_scratch = self.scratch[:SHORT_SCRATCH_BYTES]
        self.urgent = urgent
        self.poisons = poisons  # overwrites what was received: a view that somebody kept too long shows at once
        self.expired = 0
        self.on_expired: Callable[[Connection], object] | None = None
        self._idle_ms = idle_ms
        self._order: OrderedDict[Connection, None] = OrderedDict()  # least recently active first
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._order)

    def connections(self) -> list[Connection]:
        """Least recently active first."""
        return list(self._order)

    def add(self, connection: Connection, *, is_connecting: bool = False) -> None:
        connection.active_ms = self.mono_ms()
        self._order[connection] = None
        if is_connecting or self.urgent:
            connection.interest = READABLE | WRITABLE if is_connecting else READABLE
            self.loop.register(connection.transport, connection.interest, connection.ready, urgent=self.urgent)
        else:
            self._welcome(connection)
        self._set_timer()

    def _welcome(self, connection: Connection) -> None:
        connection.interest = READABLE
        self.loop.register_new(connection.transport, _Newcomer(connection).ready)

    def remove(self, connection: Connection) -> None:
        """Before its socket is closed."""
        if connection in self._order:
            del self._order[connection]
            self.loop.unregister(connection.transport)

    def touch(self, connection: Connection) -> None:
        """A complete frame came, or something went out."""
        self.touch_at(connection, self.mono_ms())

    def touch_at(self, connection: Connection, now_ms: int) -> None:
        """Marks the connection as active at a time that the caller has just read: a clock costs more than the mark."""
        connection.active_ms = now_ms
        self._order.move_to_end(connection)

    def take_over(self, other: "Selector") -> None:
        """The connections of a selector that is given up, in the place that their last activity gives them."""
        everybody = sorted([*self._order, *other._order], key=lambda connection: connection.active_ms)
        for connection in other._order:
            connection.selector = self
        other._order.clear()
        other.set_idle_ms(-1)
        self._order = OrderedDict.fromkeys(everybody)
        self.set_idle_ms(self._idle_ms)  # one that has come may be due before all that were here

    def set_idle_ms(self, idle_ms: int) -> None:
        self._idle_ms = idle_ms
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._set_timer()

    def oldest(self) -> Connection | None:
        """The least recently active connection."""
        return next(iter(self._order), None)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for connection in self.connections():
            connection.close("the selector closes")

    def _set_timer(self) -> None:
        if self._timer is None and self._idle_ms >= 0 and self._order:
            due_ms = next(iter(self._order)).active_ms + self._idle_ms
            wait_ms = max(0, due_ms - self.mono_ms()) + min(EXPIRY_LOOK_MS, self._idle_ms // 10)
            self._timer = self.loop.after(wait_ms, self._expire)

    def _expire(self) -> None:
        self._timer = None
        latest_ms = self.mono_ms() - self._idle_ms
        while (oldest := self.oldest()) is not None and oldest.active_ms <= latest_ms:
            self.expired += 1
            oldest.close("idle for too long")
            if self.on_expired is not None:
                self.on_expired(oldest)
        self._set_timer()
