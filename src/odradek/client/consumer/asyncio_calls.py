"""How a call of a program of asyncio goes: as in `thread_calls.py`, with awaits in the place of waiting."""

from collections.abc import Callable, Coroutine
from inspect import isawaitable
from typing import Any, Generic, TypeVar, TypeVarTuple

from odradek.client.consumer.errors import ConcurrentAccess
from odradek.client.consumer.steps import AnyStep, Operate, drive_async
from odradek.client.consumer.thread_calls import C
from odradek.client.host.asyncio_host import AsyncioHost
from odradek.client.host.session import closed

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class AsyncioCalls(Generic[C]):
    _caller: C
    _host: AsyncioHost[Any]  # Any: whichever session the client has

    def __init__(self, caller: C, host: AsyncioHost[Any]) -> None:
        self._caller = caller
        self._host = host
        self._is_polling = False

    async def _run(self, coroutine: Callable[[*Ts], Coroutine[AnyStep, object, T]], *arguments: *Ts) -> T:
        if self._caller.is_closed and not self._caller.is_in_callback:
            raise closed(None)
        return await drive_async(coroutine(*arguments), self._make)

    async def _poll(self, coroutine: Callable[[*Ts], Coroutine[AnyStep, object, T]], *arguments: *Ts) -> T:
        if self._is_polling:
            raise ConcurrentAccess("another task polls this consumer, or a callback does: one poll at a time")
        self._is_polling = True
        try:
            return await self._run(coroutine, *arguments)
        except BaseException:
            self._caller.interrupted()
            raise
        finally:
            self._is_polling = False

    async def _make(self, step: AnyStep) -> object:
        if isinstance(step, Operate):
            operation = step.operation
            if step.is_wakeable:
                return await self._host.run(lambda session: session.unless_woken(operation))
            return await self._host.run(operation)
        was = self._caller.is_in_callback
        self._caller.is_in_callback = True
        try:
            found = step.function(*step.arguments)
            return await found if isawaitable(found) else found
        finally:
            self._caller.is_in_callback = was

    async def _end(
        self, leave: Callable[[*Ts], Coroutine[AnyStep, object, None]], *arguments: *Ts, timeout_ms: int
    ) -> None:
        """What every close does; `leave` is all that comes before the session is closed."""
        if self._caller.is_closed:
            return
        self._caller.is_closed = True
        try:
            if self._host.has_started:
                await drive_async(leave(*arguments), self._make)
        finally:
            self._caller.ended()
            await self._host.close(timeout_ms)
