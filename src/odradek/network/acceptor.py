"""An acceptor: takes in the connections of a listener and deals them out to its processors in turn."""

from collections.abc import Callable
from errno import EMFILE, ENFILE, ENOBUFS, ENOMEM

from odradek.metrics import Meter
from odradek.network.connection_quotas import ConnectionQuotas, ConnectionThrottled, TooManyConnections
from odradek.network.processor import Processor
from odradek.reactor.loop import Loop
from odradek.reactor.ports import READABLE, Listener, Socket
from odradek.reactor.timers import Timer

ACCEPTS_MAX = 8  # in one turn
NEWCOMERS_MAX = 256  # that were taken in and not served yet: more of them wait in the backlog, where they cost nothing
NO_FILES_PAUSE_MS = 100  # until another connection may have given back its descriptor


class Acceptor:
    __slots__ = (
        "_blocked_meter",
        "_blocked_since_ms",
        "_is_started",
        "_loop",
        "_next",
        "_on_accepted",
        "_quotas",
        "_throttled",
        "_timer",
        "listener",
        "processors",
        "socket",
        "urgent",
    )

    def __init__(
        self,
        loop: Loop,
        listener: str,
        socket: Listener,
        quotas: ConnectionQuotas,
        blocked_meter: Meter,
        on_accepted: Callable[[], object],
        *,
        urgent: bool,
    ) -> None:
        self._loop = loop
        self.listener = listener
        self.socket = socket
        self._quotas = quotas
        self._blocked_meter = blocked_meter
        self._on_accepted = on_accepted
        self.urgent = urgent
        self.processors: list[Processor] = []
        self._next = 0
        self._is_started = False
        self._blocked_since_ms: int | None = None
        self._timer: Timer | None = None
        self._throttled: dict[Socket, Timer] = {}  # refused, but not told yet

    @property
    def is_paused(self) -> bool:
        return self._blocked_since_ms is not None

    @property
    def throttled(self) -> int:
        return len(self._throttled)

    def start(self) -> None:
        if not self._is_started:
            self._is_started = True
            self._loop.register(self.socket, READABLE, self._on_readable, urgent=self.urgent)

    def stop(self) -> None:
        """Accepts no more connections and frees the port."""
        if self._is_started:
            self._loop.unregister(self.socket)
            self._is_started = False
        if self._timer is not None:
            self._timer.cancel()
        self.socket.close()
        for socket, timer in self._throttled.items():
            timer.cancel()
            socket.close()
        self._throttled.clear()

    def _on_readable(self, _: int) -> None:
        if self._loop.newcomers > NEWCOMERS_MAX:
            return
        for _ in range(ACCEPTS_MAX):
            if not self._quotas.has_slot(self.listener):
                self._pause()
                self._quotas.when_slot(self._resume)
                return
            try:
                socket = self.socket.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in (EMFILE, ENFILE, ENOBUFS, ENOMEM):
                    self._pause(NO_FILES_PAUSE_MS)
                return  # else it was gone before it was taken in
            self._take_in(socket)
            throttle_ms = self._quotas.record_rate(self.listener)
            if throttle_ms:
                self._pause(throttle_ms)
                return

    def _take_in(self, socket: Socket) -> None:
        address = socket.peer[0]
        try:
            self._quotas.add(self.listener, address)
        except TooManyConnections:
            socket.close()
            return
        except ConnectionThrottled as throttled:
            self._throttled[socket] = self._loop.after(throttled.throttle_ms, lambda: self._close_throttled(socket))
            return
        try:
            self._processor().accept(socket)
        except BaseException:
            self._quotas.remove(self.listener, address)
            socket.close()
            raise
        self._on_accepted()

    def _processor(self) -> Processor:
        self._next = (self._next + 1) % len(self.processors)
        return self.processors[self._next]

    def _close_throttled(self, socket: Socket) -> None:
        del self._throttled[socket]
        socket.close()

    def _pause(self, milliseconds: int | None = None) -> None:
        """Accepts nobody for so long, or until a slot is free; connections wait in the kernel's backlog."""
        self._loop.set_interest(self.socket, 0)
        self._blocked_since_ms = self._loop.ports.clock.mono_ms()
        if milliseconds is not None:
            self._timer = self._loop.after(milliseconds, self._resume)

    def _resume(self) -> None:
        if self._blocked_since_ms is None or not self._is_started:
            return
        now_ms = self._loop.ports.clock.mono_ms()
        # the share of time that it was blocked is the rate of this meter: so its unit is the second
        self._blocked_meter.count += (now_ms - self._blocked_since_ms) / 1000  # type: ignore[assignment]
        self._blocked_since_ms = None
        self._timer = None
        self._loop.set_interest(self.socket, READABLE)
