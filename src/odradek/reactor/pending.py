"""A value that is not there yet: what a handler waits for and what its answer is made of.

A Pending gets one value or one error, once; a second one is refused, so that an answer and its timeout may
race. Whoever waits is never called from inside the call that delivers: callbacks go to the queue of
completions, which the loop drains when no handler is on the stack. So a handler's own state is never changed
under its feet.
"""

from collections import deque
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from odradek.broken_rule import BrokenRuleError
from odradek.reactor.ports import Cancelled

T = TypeVar("T")

# A callback and its argument, which is of the type that the callback takes: a queue of many kinds cannot say so.
Completions = deque[tuple[Callable[[Any], object], object]]


class Pending(Generic[T]):
    __slots__ = ("_callbacks", "_completions", "_error", "_value", "is_done", "is_observed")

    def __init__(self, completions: Completions) -> None:
        self._completions = completions
        self._callbacks: list[Callable[[Pending[T]], object]] = []
        self._value: T | None = None
        self._error: BaseException | None = None
        self.is_done = False
        self.is_observed = False  # somebody waits or has looked: an error here will not go unseen

    def resolve(self, value: T) -> bool:
        """Delivers the value; False if this Pending was done already."""
        return self._finish(value, None)

    def fail(self, error: BaseException) -> bool:
        return self._finish(None, error)

    def cancel(self) -> bool:
        """Whoever waits gets `Cancelled`. It stops no work: that is up to who does it."""
        return self.fail(Cancelled())

    @property
    def error(self) -> BaseException | None:
        return self._error

    def value(self) -> T:
        """The value, or raises the error."""
        if not self.is_done:
            raise BrokenRuleError("a pending value was asked for before it came")
        self.is_observed = True
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # a T since `resolve`

    def when_done(self, callback: "Callable[[Pending[T]], object]") -> None:
        """Queues `callback(self)` once this is done, at once if it is already."""
        self.is_observed = True
        self._add(callback)

    def follow(self, other: "Pending[T]") -> None:
        """Gets what the other one gets, its value or its error."""
        other.when_done(self.take)

    def take(self, done: "Pending[T]") -> bool:
        """Delivers what another one got; False if this Pending was done already."""
        return self._finish(done._value, done._error)

    def _add(self, callback: "Callable[[Pending[T]], object]") -> None:
        if self.is_done:
            self._completions.append((callback, self))
        else:
            self._callbacks.append(callback)

    def _finish(self, value: T | None, error: BaseException | None) -> bool:
        if self.is_done:
            return False
        self.is_done = True
        self._value = value
        self._error = error
        for callback in self._callbacks:
            self._completions.append((callback, self))
        self._callbacks.clear()
        return True

    def __await__(self) -> "Generator[Pending[T], None, T]":
        if not self.is_done:
            yield self
        return self.value()
