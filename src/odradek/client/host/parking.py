"""How a thread of the program waits for something that its client's thread will tell."""

from _thread import RLock, allocate_lock


class Parked:
    """Somebody who waits. The lock is held until the wait is over; a signal's exception ends it at once."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._lock.acquire()

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it is over; None waits until it is."""
        return self._lock.acquire(timeout=-1 if timeout is None else max(0.0, timeout))

    def end(self) -> None:
        """In any thread, any number of times."""
        if self._lock.locked():
            self._lock.release()


def guard() -> RLock:
    """For steps that must not come between each other, whichever threads they are in."""
    return RLock()
