"""The sending half of a connection, and the bits that say what stands in the way of the receiving half.

Answers go out right where they were made, small ones in one buffer; what the peer does not take is queued, and until it
is gone no further frame is handled. Where many connections are served one after the other, the small answers of a few
go out together (`postpone`): the peer that the first one wakes is awake for the next.
"""

from typing import Any, Protocol

from odradek.reactor.loop import Loop, Postponed
from odradek.reactor.ports import READABLE, WRITABLE, Buffer
from odradek.reactor.send_queue import GATHER_PARTS_MAX, FileEndedEarly, Part, SendQueue, behind, release_parts
from odradek.reactor.transport import Transport

# What stands in the way of handling frames
PARKED, THROTTLED, SENDING, NO_MEMORY, MUTED, CLOSING, CLOSED = (1 << bit for bit in range(7))

JOIN_BYTES_MAX = 32 * 1024  # answers up to this size are joined in one buffer, which is cheaper than gathering them
WIDE_BYTES_MIN = 64 * 1024  # who gets a larger answer gets more of them


class HasLoop(Protocol):
    """All that sending needs to know of a selector."""

    loop: Loop


class SendingEnd:
    __slots__ = (
        "_is_wide",
        "_out",
        "_postponed",
        "blocked",
        "bytes_out",
        "close_reason",
        "interest",
        "is_closed",
        "selector",
        "transport",
    )

    def __init__(self, selector: HasLoop, transport: Transport) -> None:
        self.selector = selector
        self.transport = transport
        self.blocked = 0
        self.is_closed = False
        self.close_reason = ""
        self.bytes_out = 0
        self.interest = READABLE
        self._is_wide = False
        self._out: SendQueue | None = None
        self._postponed: Buffer | None = None  # goes out with the burst

    # The other half

    def close(self, reason: str = "") -> None:
        raise NotImplementedError

    def unblock(self, bit: int) -> None:
        raise NotImplementedError

    def touch(self) -> None:
        """Something has moved: it is not idle."""
        raise NotImplementedError

    def on_held_up(self) -> None:
        """The peer does not take what it was sent."""

    def on_drained(self) -> None:
        """What had to wait for the peer has gone out."""

    # For everybody

    def block(self, bit: int) -> None:
        self.blocked |= bit

    def send(self, parts: "list[Part]") -> None:
        """Sends what can be sent now, the rest when the peer takes it. A closed connection lets the parts go."""
        if self.is_closed:
            release_parts(parts)
            return
        try:
            self._send(parts)
        except (OSError, FileEndedEarly) as error:
            self.close(str(error))

    def close_after_send(self, reason: str = "") -> None:
        """Handles nothing any more, and closes when what is queued has gone out."""
        self.send_postponed()
        if self.is_closed:
            return
        self.block(CLOSING)
        self.close_reason = reason
        if self._out is None:
            self.close(reason)

    @property
    def unsent_bytes(self) -> int:
        postponed = 0 if self._postponed is None else len(self._postponed)
        return postponed if self._out is None else self._out.size_bytes

    # How it goes

    def postpone(self, parts: "list[Part]", burst: list[Postponed]) -> None:
        """Leaves a small answer to the end of the burst; a large one goes out now, at the cost of who asked for it."""
        buffers: list[Any] = parts  # Any: no type says that a small answer has no ranges of files
        if self._out is None and self._postponed is None and _is_small(buffers):
            self._postponed = buffers[0] if len(buffers) == 1 else b"".join(buffers)
            burst.append(self)
        else:
            self._send(parts)

    def send_postponed(self) -> None:
        """`send` for one small buffer, with nothing queued before it."""
        data, self._postponed = self._postponed, None
        if data is None:
            return
        try:
            sent = self.transport.send_one(data)
            self.bytes_out += sent
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self.close(str(error))
            return
        if sent < len(data) or self.transport.is_buffered:
            self.send(behind([data], sent))

    def _send(self, parts: "list[Part]") -> None:
        if self._postponed is not None:
            parts = [self._postponed, *parts]
            self._postponed = None
        if self._out is None:
            left = self._send_at_once(parts)
            if left is None:
                return
            self._out = SendQueue()
            parts = left
        self._out.add(parts)
        self._flush()

    def _send_at_once(self, parts: "list[Part]") -> "list[Part] | None":
        """Nothing waits: what has no file ranges goes out in one call. What is left, or None if the socket took all."""
        buffers: list[Any] = parts  # Any: that none is a file range shows when the length of each is asked for
        try:
            total = sum(map(len, buffers))
        except TypeError:  # a file range has no length
            self._widen()
            return parts
        if total > WIDE_BYTES_MIN:
            self._widen()
        if len(buffers) > 1 and (total <= JOIN_BYTES_MAX or len(buffers) > GATHER_PARTS_MAX):
            buffers = [b"".join(buffers)]
        transport = self.transport
        try:
            sent = transport.send_one(buffers[0]) if len(buffers) == 1 else transport.send(buffers)
        except BlockingIOError:
            sent = 0
        self.bytes_out += sent
        if sent == total and (not transport.is_buffered or transport.flush()):
            return None
        return behind(buffers, sent)

    def _widen(self) -> None:
        if not self._is_wide:
            self._is_wide = True
            self.transport.widen()

    def _flush(self) -> None:
        out = self._out
        if out:
            sent = out.flush(self.transport)
            self.bytes_out += sent
            if sent:
                self.touch()
        if self.transport.flush() and not out:
            self._drained()
        elif not self.blocked & SENDING:
            self._wait_for_room()

    def _wait_for_room(self) -> None:
        """A server reads no further request before its answers are gone. Who may not stop reading does otherwise."""
        self.block(SENDING)
        self._watch(WRITABLE)
        self.on_held_up()

    def _drained(self) -> None:
        self._out = None
        if self.blocked & CLOSING:
            self.close(self.close_reason)
        elif self.blocked & SENDING:
            self.on_drained()
            self.unblock(SENDING)
            if self.blocked:  # a reason is left: no need to look for output
                self._watch(READABLE)

    def _watch_output(self) -> None:
        self._watch(READABLE if self.transport.flush() else READABLE | WRITABLE)

    def _watch(self, interest: int) -> None:
        if interest != self.interest and not self.is_closed:
            self.interest = interest
            self.selector.loop.set_interest(self.transport, interest)


def _is_small(parts: "list[Any]") -> bool:
    """Returns whether the parts are few bytes, and all of them bytes: a range of a file is sent by itself. Any: to look
    at the type of each would cost more than to ask for its length, which a range has not.
    """
    try:
        return sum(map(len, parts)) <= JOIN_BYTES_MAX
    except TypeError:  # a file range has no length
        return False
