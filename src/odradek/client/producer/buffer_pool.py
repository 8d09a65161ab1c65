"""How much memory unsent records may take: `buffer.memory`, and who waits for some of it (Kafka's BufferPool).

Memory of one batch is taken before the batch is begun, and comes back when its last byte is of no use to anybody any
more: not when the batch has its outcome, for a request with it may still lie in a connection. The pool counts; the
memory itself is the allocator's.

    free        buffers of `poolable_bytes` that have come back: the next batch of that size takes one
    unpooled    all other memory that nobody has. A batch of another size takes from here, and if that is too little,
                free buffers are given up for it

Who finds too little waits in a line, first come first served, and gathers what comes back piece by piece. Whoever comes
while somebody waits stands behind, however little he needs.

**Threads.** Records are appended in all threads of a program, and memory comes back in whichever thread lets go of the
last view. `take` and the counting in `give_back` call nothing, so that no other thread and no signal comes between;
what serves the line is done by one thread at a time, and who finds another one at it leaves it to that one.
"""

from collections import deque
from collections.abc import Callable

from odradek.client.host.parking import guard


class MemoryWaiter:
    """Somebody in the line. `is_served`: the memory is his; `wake` is called then, in any thread."""

    __slots__ = ("gathered_bytes", "is_served", "needed_bytes", "wake")

    def __init__(self, needed_bytes: int, wake: Callable[[], object]) -> None:
        self.needed_bytes = needed_bytes
        self.gathered_bytes = 0
        self.is_served = False
        self.wake = wake


class BufferPool:
    __slots__ = (
        "_free",
        "_guard",
        "_is_serving",
        "_returns",
        "_unpooled",
        "_waiters",
        "exhausted",
        "is_closed",
        "poolable_bytes",
        "total_bytes",
        "waited_ns",
    )

    def __init__(self, total_bytes: int, poolable_bytes: int) -> None:
        self.total_bytes = total_bytes
        self.poolable_bytes = poolable_bytes
        self.is_closed = False
        self.waited_ns = 0  # bufferpool-wait-time: those who have waited count it
        self.exhausted = 0  # how often somebody has waited in vain
        self._free = 0
        self._unpooled = total_bytes
        self._waiters: deque[MemoryWaiter] = deque()
        self._returns = 0  # how often memory came back
        self._guard = guard()
        self._is_serving = False

    @property
    def available_bytes(self) -> int:
        return self._unpooled + self._free * self.poolable_bytes

    @property
    def waiting(self) -> int:
        return len(self._waiters)

    # What an append asks for

    def take(self, size: int) -> bool:
        """Takes memory of that size, if there is some and nobody waits for it."""
        if self._waiters or self.is_closed:
            return False
        if size == self.poolable_bytes and self._free:
            self._free -= 1
            return True
        if self._unpooled >= size:
            self._unpooled -= size
            return True
        if self._unpooled + self._free * self.poolable_bytes < size:
            return False
        dropped = (size - self._unpooled + self.poolable_bytes - 1) // self.poolable_bytes
        self._free -= dropped
        self._unpooled += dropped * self.poolable_bytes - size
        return True

    def give_back(self, size: int) -> None:
        """In any thread, in the middle of anything: the last view of a batch was let go."""
        if size == self.poolable_bytes:
            self._free += 1
        else:
            self._unpooled += size
        self._returns += 1
        if self._waiters:
            self._serve()

    # The line

    def wait(self, size: int, wake: Callable[[], object]) -> MemoryWaiter:
        """Stands in the line. ValueError if there could never be enough."""
        if size > self.total_bytes:
            raise ValueError(f"{size} bytes are more than buffer.memory, which is {self.total_bytes}")
        waiter = MemoryWaiter(size, wake)
        self._waiters.append(waiter)
        if self.is_closed:
            self.close()
        else:
            self._serve()
        return waiter

    def leave(self, waiter: MemoryWaiter) -> None:
        """Gives up: what was gathered, or was had already, goes to the others."""
        with self._guard:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            gathered, waiter.gathered_bytes = waiter.gathered_bytes, 0
            waiter.is_served = False
        if gathered:
            self.give_back(gathered)
        self._serve()

    def close(self) -> None:
        """Nobody gets any more. Whoever waits is woken, and finds out."""
        self.is_closed = True
        waiters, self._waiters = self._waiters, deque()
        for waiter in waiters:
            waiter.wake()

    def _serve(self) -> None:
        """Gives the first in line what there is, and goes on with the next one once he has enough."""
        seen = -1
        while self._waiters and seen != self._returns:
            if not self._guard.acquire(blocking=False):
                return  # who is at it looks again when he sees that more has come back
            try:
                if self._is_serving:
                    return  # a signal's handler, or memory that came back by what is done here
                self._is_serving = True
                seen = self._returns
                self._serve_first()
            finally:
                self._is_serving = False
                self._guard.release()

    def _serve_first(self) -> None:
        while self._waiters:
            waiter = self._waiters[0]
            self._gather(waiter)
            if waiter.gathered_bytes < waiter.needed_bytes:
                return
            self._waiters.popleft()
            waiter.is_served = True
            waiter.wake()

    def _gather(self, waiter: MemoryWaiter) -> None:
        """A whole buffer only if nothing was gathered yet; else whatever is there, free buffers last."""
        if not waiter.gathered_bytes and waiter.needed_bytes == self.poolable_bytes and self._free:
            self._free -= 1
            waiter.gathered_bytes = waiter.needed_bytes
            return
        missing = waiter.needed_bytes - waiter.gathered_bytes
        if self._unpooled < missing and self._free:
            dropped = min(self._free, (missing - self._unpooled + self.poolable_bytes - 1) // self.poolable_bytes)
            self._free -= dropped
            self._unpooled += dropped * self.poolable_bytes
        taken = min(missing, self._unpooled)
        self._unpooled -= taken
        waiter.gathered_bytes += taken
