"""A client inside of an asyncio program: the program's loop turns the client's, and there is no thread.

The client's poller is itself a file that can be waited for, so asyncio watches one reader; a second reason to turn is
the client's next timer.

Every await can be cancelled: a caller waits on a future of its own, and what it has asked for is cancelled beside it,
at a point where the client's state is whole.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Generic

from odradek.broken_rule import present
from odradek.client.host import live_clients
from odradek.client.host.client_loop import ClientLoop
from odradek.client.host.errors import ForkedClientError
from odradek.client.host.session import (
    CLOSE_GRACE_MS,
    Open,
    Operation,
    S,
    T,
    closed,
    closed_under_way,
    error_of,
    logger,
    tell_late,
)
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending


class AsyncioHost(Generic[S]):
    def __init__(self, open_session: Open[S]) -> None:
        self._open = open_session
        self._client: ClientLoop[S] | None = None
        self._asyncio: asyncio.AbstractEventLoop | None = None
        self._waiting: set[asyncio.Future[Any]] = set()  # Any: each waits for a type of its own
        self._timer: asyncio.TimerHandle | asyncio.Handle | None = None
        self._is_turning = False
        self._is_closed = False
        self._is_forked = False
        self._error: BaseException | None = None

    async def run(self, operation: Operation[S, T]) -> T:
        if self._is_closed:
            raise closed(self._error)
        return await self._run(operation)

    def session(self) -> S:
        """What the client works on."""
        if self._is_closed:
            raise closed(self._error)
        return self._started().session

    def tell(self, callback: Callable[[S], object]) -> None:
        """Has it called in the loop's next turn, from any thread. Nothing happens if the client has not begun."""
        client = self._client
        if client is not None:
            client.loop.from_thread(callback, client.session)

    @property
    def has_started(self) -> bool:
        return self._client is not None

    async def close(self, timeout_ms: int) -> None:
        """Nothing happens the second time."""
        if self._is_closed:
            return
        is_at_home = self._client is None or self._is_at_home()
        self._is_closed = True
        if self._client is None:
            return
        try:
            if is_at_home:
                await self._close_session(timeout_ms)
        finally:
            self._end()

    async def _close_session(self, timeout_ms: int) -> None:
        try:
            async with asyncio.timeout((timeout_ms + CLOSE_GRACE_MS) / 1000):
                await self._run(lambda session: session.close(timeout_ms))
        except TimeoutError:
            tell_late(timeout_ms)

    # At a fork and at the exit

    def forked(self) -> None:
        self._is_forked = True
        client, self._client = self._client, None
        if client is not None:
            client.abandon()

    def exit_soon(self, timeout_ms: int) -> None:
        """The program's loop does not run any more: nothing can be brought to an end."""

    def exit(self, timeout_ms: int) -> None: ...

    # How it goes

    async def _run(self, operation: Operation[S, T]) -> T:
        client = self._started()
        answered: asyncio.Future[T] = present(self._asyncio, "it has started").create_future()
        self._waiting.add(answered)
        task = client.loop.spawn(operation(client.session))
        task.when_done(lambda done: _hand_over(done, answered))
        self._turn_soon()
        try:
            return await answered
        except asyncio.CancelledError:
            task.cancel()
            self._turn_soon()
            raise
        finally:
            self._waiting.discard(answered)

    def _started(self) -> ClientLoop[S]:
        if self._is_forked:
            raise ForkedClientError
        if self._client is None:
            self._asyncio = asyncio.get_running_loop()
            self._client = ClientLoop(self._open)
            self._asyncio.add_reader(self._client.loop.fileno(), self._turn)
            live_clients.add(self)
        elif not self._is_at_home():
            raise _not_at_home()
        return self._client

    def _is_at_home(self) -> bool:
        """Whether the program's loop is the one in which the client was first used; False if that is no more."""
        home = present(self._asyncio, "it has started")
        if asyncio.get_running_loop() is home:
            return True
        if not home.is_closed():
            raise _not_at_home()
        return False

    def _turn(self) -> None:
        client = self._client
        if client is None or self._is_turning:
            return
        self._is_turning = True
        try:
            client.loop.turn(0)
        except Exception as error:  # noqa: BLE001 - whoever waits must be told
            self._error = error
            logger.exception("the loop of a client has ended; its calls fail from now on")
            self._is_closed = True
            self._end()
        finally:
            self._is_turning = False
        if self._client is not None:
            self._set_timer(client.loop)

    def _turn_soon(self) -> None:
        """Not at once: several calls of one step of the program go out together."""
        self._wait_for_turn(0)

    def _set_timer(self, loop: Loop) -> None:
        wait_ms = loop.wait_ms()
        if wait_ms is None:
            self._forget_timer()
        else:
            self._wait_for_turn(wait_ms)

    def _wait_for_turn(self, wait_ms: int) -> None:
        self._forget_timer()
        running = present(self._asyncio, "it has started")
        self._timer = running.call_later(wait_ms / 1000, self._turn) if wait_ms else running.call_soon(self._turn)

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        client, self._client = self._client, None
        if client is None:
            return  # an error has ended it meanwhile
        live_clients.remove(self)
        self._forget_timer()
        home = present(self._asyncio, "it has started")
        if not home.is_closed():
            home.remove_reader(client.loop.fileno())
            for answered in self._waiting:
                if not answered.done():
                    answered.set_exception(closed_under_way(self._error))
        client.end()


def _not_at_home() -> RuntimeError:
    return RuntimeError("this client belongs to another asyncio loop: make one where it is used")


def _hand_over(done: "Pending[T]", answered: "asyncio.Future[T]") -> None:
    error = error_of(done)
    if answered.done():
        return  # whoever asked was cancelled
    if error is not None:
        answered.set_exception(error)
    else:
        answered.set_result(done.value())
