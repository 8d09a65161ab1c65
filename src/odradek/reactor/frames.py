"""Frames: four bytes of length, then so many bytes. How they are cut, and what memory an unfinished one may take.

Bytes are received into one scratch buffer that all connections of a selector share, and whole frames are handled right
there. Of what is left a connection keeps a copy. The beginning of a frame goes back to the front of the scratch buffer
before the next receive; once `SMALL_BYTES` of it have come, the frame gets a buffer of its own, and the rest of it is
received straight into that. Such a buffer grows with the bytes that have come, never with the length that was
announced; a large one grows where it is, so that no turn has to copy tens of megabytes.
"""

from collections.abc import Callable
from struct import Struct

from odradek.reactor.buffers import LentBuffers

SCRATCH_BYTES = 256 * 1024
SHORT_SCRATCH_BYTES = 32 * 1024  # of it, for a connection that is new or leaves frames unhandled
SMALL_BYTES = 4096
RECEIVE_BYTES_MAX = 1024 * 1024  # of one connection in one turn
SPARE_BYTES_MAX = 4 * 1024 * 1024  # of buffers that are kept to be used again
_BUFFER_BYTES_MIN = 8 * 1024
_GROWTH, _GROWTH_SMALL, _SMALL_BUFFER_BYTES = 4, 2, 64 * 1024  # the larger the buffer, the fewer copies it is worth

_ZEROS = bytes(RECEIVE_BYTES_MAX)

LENGTH = Struct(">i")
LENGTH_BYTES = LENGTH.size
read_length = LENGTH.unpack_from


class FrameError(Exception):
    """The peer announced a frame that is longer or shorter than any that it may send."""


class FrameMemory:
    """The memory of unfinished frames: Kafka's memory pool (`queued.max.request.bytes`), and buffers to use again.

    A frame that needs a buffer reserves its whole announced length, so that every frame that has begun can be
    finished; the limit may be passed by one frame. Whoever gets nothing waits in line and stops reading.
    """

    __slots__ = ("_spare", "_spare_bytes", "_waiting", "lent", "limit_bytes", "used_bytes")

    def __init__(self, limit_bytes: int = -1) -> None:
        self.limit_bytes = limit_bytes  # below 1 there is none
        self.used_bytes = 0
        self._waiting: dict[Callable[[], object], None] = {}  # first come, first served
        self._spare: dict[int, list[bytearray]] = {}
        self._spare_bytes = 0
        self.lent = LentBuffers()

    @property
    def available_bytes(self) -> int:
        return self.limit_bytes - self.used_bytes if self.limit_bytes > 0 else 2**63 - 1

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def reserve(self, size: int) -> bool:
        if self.available_bytes <= 0:
            return False
        self.used_bytes += size
        return True

    def when_available(self, callback: Callable[[], object]) -> None:
        """Calls back, once, when it is worth trying again."""
        self._waiting[callback] = None

    def forget(self, callback: Callable[[], object]) -> None:
        self._waiting.pop(callback, None)

    def give_back(self, size: int) -> None:
        self.used_bytes -= size
        while self._waiting and self.available_bytes > 0:
            callback = next(iter(self._waiting))
            del self._waiting[callback]
            callback()

    def buffer(self, size: int) -> bytearray:
        """At least `size` bytes."""
        capacity = max(_BUFFER_BYTES_MIN, 1 << (size - 1).bit_length())
        spare = self._spare.get(capacity)
        if not spare:
            return bytearray(capacity)
        self._spare_bytes -= capacity
        return spare.pop()

    def recycle(self, buffer: bytearray) -> None:
        capacity = len(buffer)
        if self._spare_bytes + capacity <= SPARE_BYTES_MAX:
            self._spare_bytes += capacity
            self._spare.setdefault(capacity, []).append(buffer)


class PartialFrame:
    """A frame of which some bytes have come, length included. Its memory has been reserved."""

    __slots__ = ("_buffer", "_memory", "filled_bytes", "marked_bytes", "total_bytes")

    def __init__(self, memory: FrameMemory, total_bytes: int, beginning: memoryview) -> None:
        self._memory = memory
        self.total_bytes = total_bytes
        self.filled_bytes = len(beginning)
        self.marked_bytes = self.filled_bytes  # progress up to here has counted as activity
        self._buffer = memory.buffer(self._next_capacity())
        self._buffer[: self.filled_bytes] = beginning

    def room(self) -> memoryview:
        """Where the next bytes belong: never beyond the frame's end."""
        if self.filled_bytes == len(self._buffer):
            self._grow()
        end = min(self.total_bytes, len(self._buffer), self.filled_bytes + RECEIVE_BYTES_MAX)
        return memoryview(self._buffer)[self.filled_bytes : end]

    def whole(self) -> memoryview:
        return memoryview(self._buffer)[: self.total_bytes]

    def release(self) -> None:
        self._memory.recycle(self._buffer)
        self._memory.give_back(self.total_bytes)

    def _next_capacity(self) -> int:
        growth = _GROWTH if self.filled_bytes >= _SMALL_BUFFER_BYTES else _GROWTH_SMALL
        return min(self.total_bytes, growth * self.filled_bytes)

    def _grow(self) -> None:
        if len(self._buffer) >= SPARE_BYTES_MAX:
            self._buffer += memoryview(_ZEROS)[: self.total_bytes - self.filled_bytes]
            return
        grown = self._memory.buffer(self._next_capacity())
        grown[: self.filled_bytes] = memoryview(self._buffer)[: self.filled_bytes]
        self._memory.recycle(self._buffer)
        self._buffer = grown


class OwnedFrame(PartialFrame):
    """A frame whose bytes stay where they were received, for whoever it is handed to: until he has let go of all views
    of it. Its memory is taken because it was announced, so it is for a peer that is trusted, and not for any length.
    """

    __slots__ = ()

    def __init__(self, memory: FrameMemory, total_bytes: int, beginning: memoryview) -> None:
        self._memory = memory
        self.total_bytes = total_bytes
        self.filled_bytes = self.marked_bytes = len(beginning)
        self._buffer = memory.lent.take(total_bytes)
        self._buffer[: self.filled_bytes] = beginning

    def release(self) -> None:
        self._memory.give_back(self.total_bytes)
