"""How a call of a program goes, from its own thread to the client's loop and back: the same for every consumer.

The program's side (`caller.py`) is coroutines of steps. One thread is in a client at a time; a second one is told of
its mistake. A signal's exception ends a call wherever it strikes, and the program's side is told if that was a poll.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Generic, Protocol, TypeVar, TypeVarTuple

from odradek.client.consumer.errors import ConcurrentAccess
from odradek.client.consumer.steps import AnyStep, Operate, drive
from odradek.client.host.one_caller import OneCaller
from odradek.client.host.session import closed
from odradek.client.host.thread_host import ThreadHost

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class ProgramSide(Protocol):
    """As far as those who drive it need to know it."""

    is_closed: bool
    is_in_callback: bool

    def interrupted(self) -> None:
        """An exception has left a poll."""
        ...

    def ended(self) -> None:
        """It was closed: nothing is handed out any more."""
        ...


C = TypeVar("C", bound=ProgramSide)


class ThreadCalls(Generic[C]):
    _caller: C
    _host: ThreadHost[Any]  # Any: whichever session the client has

    def __init__(self, caller: C, host: ThreadHost[Any]) -> None:
        self._caller = caller
        self._host = host
        self._host.watch_over(self)
        self._one = OneCaller()

    def _run(self, coroutine: Callable[[*Ts], Coroutine[AnyStep, object, T]], *arguments: *Ts) -> T:
        self._enter()
        try:
            return drive(coroutine(*arguments), self._make)
        finally:
            self._one.leave()

    def _run_poll(self, coroutine: Callable[[*Ts], Coroutine[AnyStep, object, T]], *arguments: *Ts) -> T:
        self._enter()
        try:
            return drive(coroutine(*arguments), self._make)
        except BaseException:
            self._caller.interrupted()
            raise
        finally:
            self._one.leave()

    def _enter(self) -> None:
        if not self._one.enter():
            raise ConcurrentAccess(
                "another thread is in this consumer: a consumer is for one thread at a time, but for wakeup and state"
            )
        if self._caller.is_closed and not self._one.in_callback:
            self._one.leave()
            raise closed(None)

    def _make(self, step: AnyStep) -> object:
        if isinstance(step, Operate):
            operation = step.operation
            if step.is_wakeable:
                return self._host.run(lambda session: session.unless_woken(operation))
            return self._host.run(operation)
        was = self._one.in_callback
        self._one.in_callback = self._caller.is_in_callback = True
        try:
            return step.function(*step.arguments)
        finally:
            self._one.in_callback = self._caller.is_in_callback = was

    def _end(self, leave: Callable[[*Ts], Coroutine[AnyStep, object, None]], *arguments: *Ts, timeout_ms: int) -> None:
        """What every close does; `leave` is all that comes before the session is closed."""
        if not self._one.enter():
            raise ConcurrentAccess("another thread is in this consumer: call wakeup(), and close it there")
        try:
            if self._caller.is_closed:
                return
            self._caller.is_closed = True
            try:
                if self._host.has_started:
                    drive(leave(*arguments), self._make)
            finally:
                self._caller.ended()
                self._host.close(timeout_ms)
        finally:
            self._one.leave()
