"""A client inside of an asyncio program: the program's loop turns the client's, and there is no thread.

The client's poller is itself a file that can be waited for, so asyncio watches one reader; a second reason to turn is
the client's next timer.

Every await can be cancelled: a caller waits on a future of its own, and what it has asked for is cancelled beside it,
at a point where the client's state is whole.
"""

import asyncio
from typing import Generic

from odradek.broken_rule import present
from odradek.channel.errors import ClientClosed
from odradek.client.host import live_clients
from odradek.client.host.errors import ForkedClientError
from odradek.client.host.session import Open, Operation, S, T, error_of, tell
from odradek.reactor.adapters import client_ports
from odradek.reactor.adapters.client_network import ClientNetwork
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Ports


class AsyncioHost(Generic[S]):
    def __init__(self, open_session: Open[S]) -> None:
        self._open = open_session
        self._ports: Ports | None = None
        self._loop: Loop | None = None
        self._session: S | None = None
        self._asyncio: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | asyncio.Handle | None = None
        self._is_turning = False
        self._is_closed = False
        self._is_forked = False

    async def run(self, operation: Operation[S, T]) -> T:
        if self._is_closed:
            raise ClientClosed("this client was closed")
        return await self._run(operation)

    async def close(self, timeout_ms: int) -> None:
        """Nothing happens the second time."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._loop is None:
            return
        try:
            await self._run(lambda session: session.close(timeout_ms))
        finally:
            self._end()

    # At a fork and at the exit

    def forked(self) -> None:
        self._is_forked = True
        network = None if self._ports is None else self._ports.network
        if isinstance(network, ClientNetwork):
            network.abandon()

    def exit(self, timeout_ms: int) -> None:
        """The program's loop does not run any more: nothing can be brought to an end."""

    # How it goes

    async def _run(self, operation: Operation[S, T]) -> T:
        loop = self._started()
        answered: asyncio.Future[T] = present(self._asyncio, "it has started").create_future()
        task = loop.spawn(operation(present(self._session, "it has started")))
        task.when_done(lambda done: _hand_over(done, answered))
        self._turn_soon()
        try:
            return await answered
        except asyncio.CancelledError:
            task.cancel()
            self._turn_soon()
            raise

    def _started(self) -> Loop:
        running = asyncio.get_running_loop()
        if self._is_forked:
            raise ForkedClientError
        if self._loop is None:
            self._asyncio = running
            self._ports = client_ports()
            self._loop = Loop(self._ports, on_error=tell)
            self._session = self._open(self._loop)
            running.add_reader(self._loop.fileno(), self._turn)
            live_clients.add(self)
        elif running is not self._asyncio:
            raise RuntimeError("this client belongs to another asyncio loop: make one where it is used")
        return self._loop

    def _turn(self) -> None:
        loop = self._loop
        if loop is None or self._is_turning:
            return
        self._is_turning = True
        try:
            loop.turn(0)
        finally:
            self._is_turning = False
        if self._loop is not None:
            self._set_timer(loop)

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
        loop, self._loop = present(self._loop, "it has started"), None
        live_clients.remove(self)
        self._forget_timer()
        present(self._asyncio, "it has started").remove_reader(loop.fileno())
        present(self._ports, "it has started").executor.close()
        loop.close()


def _hand_over(done: "Pending[T]", answered: "asyncio.Future[T]") -> None:
    error = error_of(done)
    if answered.done():
        return  # whoever asked was cancelled
    if error is not None:
        answered.set_exception(error)
    else:
        answered.set_result(done.value())
