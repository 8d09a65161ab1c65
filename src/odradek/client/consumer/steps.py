"""What the program's side of a consumer waits for, so that it is written once for threads and for asyncio.

A coroutine of `caller.py` awaits steps: an operation of the session in the client's loop, or a function of the program.
Who drives the coroutine makes them: `drive` waits for each in the thread of the program; `drive_async` awaits them, and
a function of the program may then be a coroutine itself.
"""

from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

from odradek.client.consumer.session import ConsumerSession
from odradek.client.host.session import Operation, S

T = TypeVar("T")


class Step(Generic[T]):
    __slots__ = ()

    def __await__(self) -> "Generator[Step[T], T, T]":
        return (yield self)


class Operate(Step[T], Generic[S, T]):
    """An operation of a session. `is_wakeable`: `wakeup` ends it."""

    __slots__ = ("is_wakeable", "operation")

    def __init__(self, operation: Operation[S, T], *, is_wakeable: bool = True) -> None:
        self.operation = operation
        self.is_wakeable = is_wakeable


class Do(Operate[ConsumerSession, T]):
    """One of a consumer's session."""

    __slots__ = ()


class Call(Step[object]):
    """A function of the program."""

    __slots__ = ("arguments", "function")

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self.function = function
        self.arguments = arguments


AnyStep = Operate[Any, object] | Call  # Any: whichever session the client has


def drive(coroutine: Coroutine[AnyStep, object, T], make: Callable[[AnyStep], object]) -> T:
    """Runs the coroutine to its end. What a step raises is raised where the coroutine waits for it, interrupts too."""
    value: object = None
    error: BaseException | None = None
    while True:
        try:
            step = coroutine.send(value) if error is None else coroutine.throw(error)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # a T
        value, error = None, None
        try:
            value = make(step)
        except BaseException as raised:  # noqa: BLE001 - the coroutine decides
            error = raised


async def drive_async(coroutine: Coroutine[AnyStep, object, T], make: Callable[[AnyStep], Awaitable[object]]) -> T:
    """The same for a program of asyncio: a step is awaited, and a caller that is cancelled is cancelled there."""
    value: object = None
    error: BaseException | None = None
    while True:
        try:
            step = coroutine.send(value) if error is None else coroutine.throw(error)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # a T
        value, error = None, None
        try:
            value = await make(step)
        except BaseException as raised:  # noqa: BLE001 - the coroutine decides
            error = raised
