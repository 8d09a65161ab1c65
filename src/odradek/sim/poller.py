"""Readiness of simulated sockets. Inside the simulation a poll never waits: the world turns the loop when it should."""

from abc import abstractmethod
from collections.abc import Callable
from errno import EBADF
from typing import Protocol

from odradek.reactor.ports import READABLE, Pollable
from odradek.sim.rng import SimStream


class Descriptors(Protocol):
    """The descriptors of one host, by their numbers."""

    stream: SimStream

    def add(self, source: "Source") -> int: ...
    def remove(self, source: "Source") -> None: ...
    def source(self, fileno: int) -> "Source | None": ...
    def source_changed(self, source: "Source") -> None: ...
    def attend(self) -> None: ...
    def wait(self, condition: Callable[[], object], timeout_ms: int | None) -> None: ...


class Source:
    """Anything with a descriptor number."""

    __slots__ = ("is_open", "network", "number")

    def __init__(self, network: Descriptors) -> None:
        self.network = network
        self.is_open = True
        self.number = network.add(self)

    def fileno(self) -> int:
        return self.number if self.is_open else -1

    @abstractmethod
    def readiness(self) -> int:
        """READABLE, WRITABLE, both or neither."""

    def changed(self) -> None:
        """Somebody may be waiting for just that."""
        if self.is_open:
            self.network.source_changed(self)

    def forget(self) -> None:
        self.is_open = False
        self.network.remove(self)


class SimPoller(Source):
    __slots__ = ("_interests", "_is_woken", "_once")

    def __init__(self, network: Descriptors) -> None:
        super().__init__(network)
        self._interests: dict[Source, int] = {}
        self._once: set[int] = set()  # descriptors that are reported the next time only
        self._is_woken = False

    def watch(self, source: Pollable, interest: int, *, once: bool = False) -> None:
        watched = self.network.source(source.fileno())
        if watched is None:
            raise OSError(EBADF, "this source is closed")
        (self._once.add if once else self._once.discard)(watched.number)
        if interest:
            self._interests[watched] = interest
            watched.changed()
        else:
            self._interests.pop(watched, None)

    def unwatch(self, source: Pollable) -> None:
        watched = self.network.source(source.fileno())
        if watched is not None:
            self._interests.pop(watched, None)

    def poll(self, timeout_ms: int | None, events_max: int = 0) -> list[tuple[int, int]]:
        if timeout_ms != 0 and not self.readiness():
            self.network.wait(self.readiness, timeout_ms)
        self._is_woken = False
        ready = [(source.number, mask) for source, mask in self._ready()]
        for place in range(len(ready) - 1, 0, -1):  # the order among connections is nobody's promise
            other = self.network.stream.below(place + 1)
            ready[place], ready[other] = ready[other], ready[place]
        told = ready[:events_max] if events_max else ready
        for number, _ in told:
            if number in self._once and (source := self.network.source(number)) is not None:
                self.forget_source(source)
        return told

    def wake(self) -> None:
        self._is_woken = True
        self.changed()
        self.network.attend()

    def readiness(self) -> int:
        return READABLE if self._is_woken or any(True for _ in self._ready()) else 0

    def watches(self, source: Source) -> bool:
        return source in self._interests

    def forget_source(self, source: Source) -> None:
        self._interests.pop(source, None)

    def close(self) -> None:
        if self.is_open:
            self.forget()

    def _ready(self) -> list[tuple[Source, int]]:
        found = ((source, source.readiness() & interest) for source, interest in self._interests.items())
        return [(source, mask) for source, mask in found if mask]
