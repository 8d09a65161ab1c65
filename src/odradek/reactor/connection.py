"""One non-blocking connection: a transport, the frames that come in, the parts that go out.

Who derives from it handles frames (`handle`); this class gets them there and the answers out. What may stand in the way
is a set of bits: while any is set, no frame is handled and reading stops, lazily: the socket is unwatched only when it
turns out to have something. So a request that is parked for a moment costs no system call.

Memory is bounded by what the peer has really sent (see `frames.py`), and by what one turn answers: while an answer is
not on its way in full, no further frame is handled. A peer that reads nothing is idle, and expires.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.broken_rule import BrokenRuleError, require
from odradek.reactor.frames import (
    LENGTH_BYTES,
    SHORT_SCRATCH_BYTES,
    SMALL_BYTES,
    FrameError,
    PartialFrame,
    read_length,
)
from odradek.reactor.ports import READABLE, WRITABLE
from odradek.reactor.send_queue import FileEndedEarly
from odradek.reactor.sending_end import CLOSED, MUTED, NO_MEMORY, PARKED, THROTTLED, SendingEnd
from odradek.reactor.transport import Transport

if TYPE_CHECKING:
    from odradek.reactor.selector import Selector

LITTLE_BYTES = 16 * 1024  # left of a receive: who leaves more asks faster than we answer
PROGRESS_BYTES = 1024 * 1024  # so much of an unfinished frame counts as activity: a trickle does not


class Connection(SendingEnd):
    __slots__ = (
        "_held",
        "_held_at",
        "_is_held_little",
        "_is_held_whole",
        "_is_trusted",
        "_partial",
        "_recv_into",
        "_when_closed",
        "active_ms",
        "address",
        "bytes_in",
        "frame_bytes_max",
    )

    selector: "Selector"

    FRAME_BYTES_MIN = 4  # no frame of Kafka's is shorter than a correlation id

    def __init__(self, selector: "Selector", transport: Transport, frame_bytes_max: int) -> None:
        super().__init__(selector, transport)
        self.address = transport.peer
        self.frame_bytes_max = frame_bytes_max
        self.bytes_in = 0
        self.active_ms = 0
        self._recv_into = transport.recv_into
        self._held: bytes | None = None
        self._held_at = 0  # where in it the first frame that was not handled begins
        self._is_held_little = False
        self._is_held_whole = False  # at least one whole frame is held: nothing has to be received for it
        self._is_trusted = False  # handles all that it receives at once: it may fill the scratch buffer
        self._partial: PartialFrame | None = None
        self._when_closed: list[Callable[[], object]] | None = None

    # For who derives from it

    def handle(self, view: memoryview, end: int) -> int:
        """Handles the whole frames in `view[:end]` while nothing is `blocked`; where the rest begins."""
        raise NotImplementedError

    def on_ready(self) -> None:
        """Payload may be moved now."""

    def on_closed(self) -> None:
        """After everything was let go."""

    # For everybody

    def fileno(self) -> int:
        return self.transport.fileno()

    def when_closed(self, callback: Callable[[], object]) -> None:
        """Called when the connection closes, at once if it has."""
        if self.is_closed:
            callback()
        elif self._when_closed is None:
            self._when_closed = [callback]
        else:
            self._when_closed.append(callback)

    def forget_when_closed(self, callback: Callable[[], object]) -> None:
        if self._when_closed is not None and callback in self._when_closed:
            self._when_closed.remove(callback)

    def unblock(self, bit: int) -> None:
        """Goes on with frames that wait, in the next round of the loop."""
        self.blocked &= ~bit
        if not self.blocked:
            self._watch(READABLE)
            if self._is_held_whole:
                self._again_with_held()
            elif self.transport.has_input():
                self.selector.loop.again(self)

    def touch(self) -> None:
        self.selector.touch(self)

    def throttle(self, milliseconds: int) -> None:
        """No further frame is handled for so long; what was answered is sent (Kafka mutes the channel)."""
        if milliseconds > 0 and not self.is_closed:
            self.block(THROTTLED)
            self.selector.loop.after(milliseconds, self._end_throttle)

    def mute(self) -> None:
        self.block(MUTED)

    def close(self, reason: str = "") -> None:
        if self.is_closed:
            return
        self.is_closed = True
        self.blocked |= CLOSED
        self.close_reason = self.close_reason or reason
        self.selector.remove(self)
        if self.blocked & NO_MEMORY:
            self.selector.memory.forget(self._memory_is_available)
        self._held = None
        partial, self._partial = self._partial, None
        if partial is not None:
            partial.release()
        out, self._out = self._out, None
        if out is not None:
            out.release()
        self._postponed = None
        self.transport.close()
        self.on_closed()
        callbacks, self._when_closed = self._when_closed, None
        for callback in callbacks or ():
            callback()

    # What the loop calls

    def ready(self, readiness: int) -> None:
        """The handler of the selector's loop. Whatever is wrong with this connection ends here, with its close."""
        try:
            if readiness & WRITABLE:
                self._on_writable()
            if readiness & READABLE and not self.is_closed:
                if self.blocked or self._partial is not None or self._is_held_whole or not self.transport.is_ready:
                    self._go_on()
                else:
                    self._receive()
        except BlockingIOError:
            pass
        except (OSError, FrameError, FileEndedEarly) as error:
            self.close(str(error))
        except BaseException:
            self.close("our own fault")
            raise

    # In

    def _go_on(self) -> None:
        """There is something to do before the next receive."""
        if not self.transport.is_ready:
            self._prepare()
        elif self.blocked:
            self._look_ahead()
        elif self._partial is not None:
            self._fill(self._partial)
        else:
            self._handle_held()

    def _prepare(self) -> None:
        is_ready = self.transport.prepare()
        self._watch_output()
        if is_ready:
            self.on_ready()
            if not self.is_closed and self.transport.has_input():
                self.selector.loop.again(self)

    def _receive(self) -> None:
        selector = self.selector
        scratch = selector.scratch if self._is_trusted else selector.short_scratch
        held = self._held
        if held is None:
            received = end = self._recv_into(scratch)
        else:
            start = len(held)
            scratch[:start] = held
            received = self._recv_into(scratch[start:])
            end = start + received
        if not received:
            self.close("closed by the peer")
            return
        self._held = None
        self.bytes_in += received
        at = self.handle(scratch, end)
        if at < end or not self._is_trusted or self.transport.is_buffered:
            self._keep(scratch, at, end)
        if selector.poisons:
            scratch[:end] = b"\xa5" * end

    def _keep(self, view: memoryview, at: int, end: int) -> None:
        """What a receive has left over. Who leaves whole frames gets less the next time: they take memory."""
        if self.is_closed:
            return
        if at < end:
            self._hold(view, at, end)
        self._is_trusted = not self._is_held_whole
        if self.transport.has_input() and not self.blocked:
            self.selector.loop.again(self)

    def _hold(self, view: memoryview, at: int, end: int) -> None:
        """Keeps what was not handled: the scratch buffer belongs to the next connection."""
        rest = end - at
        if rest >= LENGTH_BYTES:
            total = self._checked(read_length(view, at)[0]) + LENGTH_BYTES
            if total > rest >= SMALL_BYTES:
                self._begin(view[at:end], total)
                return
            self._is_held_whole = total <= rest
            self._is_held_little = rest <= LITTLE_BYTES
            if self._is_held_whole and not self.blocked:
                self._again_with_held()
        self._held = bytes(view[at:end])

    def _checked(self, size: int) -> int:
        if self.FRAME_BYTES_MIN <= size <= self.frame_bytes_max:
            return size
        raise FrameError(f"a frame of {size} bytes, where {self.FRAME_BYTES_MIN} to {self.frame_bytes_max} are allowed")

    def _handle_held(self) -> None:
        """The next slice of what was received before: it stays where it is until nothing whole is left of it."""
        held, start = self._held, self._held_at
        if held is None:
            raise BrokenRuleError("who holds a whole frame holds something")
        view = memoryview(held)[start:]
        at = self.handle(view, len(view))
        if self.is_closed:
            return
        self._is_held_whole = False
        if self._starts_whole(view, at):
            self._held_at = start + at
            self._is_held_whole = True
            if not self.blocked:
                self._again_with_held()
            return
        self._held, self._held_at = None, 0
        if not self.blocked:
            self._watch(READABLE)
        if at < len(view):
            self._hold(view, at, len(view))
        elif self.transport.has_input() and not self.blocked:
            self.selector.loop.again(self)

    def _again_with_held(self) -> None:
        """In a crowd the poller need not tell of more until that is done."""
        loop = self.selector.loop
        loop.again(self, is_little=self._is_held_little)
        if loop.is_crowded:
            self._watch(self.interest & ~READABLE)

    def _starts_whole(self, view: memoryview, at: int) -> bool:
        rest = len(view) - at
        return rest >= LENGTH_BYTES and self._checked(read_length(view, at)[0]) + LENGTH_BYTES <= rest

    def _begin(self, beginning: memoryview, total: int) -> None:
        """A frame that needs a buffer of its own, if there is memory for it."""
        memory = self.selector.memory
        if memory.reserve(total):
            self._partial = PartialFrame(memory, total, beginning)
            return
        self._held = bytes(beginning)
        self.block(NO_MEMORY)
        self._watch(self.interest & ~READABLE)  # an answer may be on its way: nobody else would look for room for it
        memory.when_available(self._memory_is_available)

    def _memory_is_available(self) -> None:
        held, self._held = self._held, None
        if held is None:
            raise BrokenRuleError("who waits for memory holds the beginning of a frame")
        self.blocked &= ~NO_MEMORY
        self._begin(memoryview(held), read_length(held)[0] + LENGTH_BYTES)
        if not self.blocked & NO_MEMORY:
            self.unblock(NO_MEMORY)

    def _fill(self, partial: PartialFrame) -> None:
        received = self._recv_into(partial.room())
        if not received:
            self.close("closed by the peer within a frame")
            return
        self.bytes_in += received
        partial.filled_bytes += received
        if partial.filled_bytes == partial.total_bytes:
            self._complete(partial)
        elif partial.filled_bytes - partial.marked_bytes >= PROGRESS_BYTES:
            partial.marked_bytes = partial.filled_bytes
            self.selector.touch(self)
        if not self.is_closed and self.transport.has_input() and not self.blocked:
            self.selector.loop.again(self)

    def _complete(self, partial: PartialFrame) -> None:
        self._partial = None
        whole = partial.whole()
        try:
            self.handle(whole, partial.total_bytes)
            if self.selector.poisons:
                whole[:] = b"\xa5" * partial.total_bytes
        finally:
            whole.release()
            partial.release()

    def _look_ahead(self) -> None:
        """Something came while no frame may be handled. One look tells whether the peer is still there; then no more
        is read until the way is free.
        """
        if self.blocked == PARKED and self._held is None and self._partial is None:
            scratch = self.selector.scratch[:SMALL_BYTES]
            received = self._recv_into(scratch)
            if not received:
                self.close("closed by the peer while it waited for an answer")
                return
            self.bytes_in += received
            self._hold(scratch, 0, received)
        self._watch(self.interest & ~READABLE)

    def _on_writable(self) -> None:
        if not self.transport.is_ready:
            self._prepare()
        else:
            self._flush()

    def _end_throttle(self) -> None:
        if not self.is_closed:
            self.unblock(THROTTLED)


require(2 * SMALL_BYTES < SHORT_SCRATCH_BYTES, "what is held must leave room behind it")
