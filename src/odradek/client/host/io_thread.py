"""The thread that turns the loop of one client, and how other threads have something done by it.

    thread = IoThread("odradek-admin-1", open_session)
    topics = thread.run(lambda session: session.list_topics())      # any thread but this one
    thread.close(5000)

A caller parks on a lock, which a signal can interrupt: Ctrl-C ends the wait at once, and the work that nobody waits for
any more is cancelled. The client's state is touched by its thread alone, so no interrupt can leave it half changed.

The thread knows the session, and not the object that the program holds: that one can be dropped and collected while the
thread runs.
"""

from _thread import allocate_lock
from threading import Thread, get_ident
from typing import Any, Generic

from odradek.channel.errors import ClientClosed
from odradek.client.host.errors import OwnThreadError
from odradek.client.host.session import Open, Operation, S, T, error_of, logger, tell
from odradek.reactor.adapters import client_ports
from odradek.reactor.adapters.client_network import ClientNetwork
from odradek.reactor.coroutine_task import Task
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending

CLOSE_GRACE_MS = 1000  # beyond the time that a session was given to close


class _Call(Generic[S, T]):
    """One operation that a thread waits for. The lock is held until there is an outcome."""

    __slots__ = ("_error", "_operation", "_parked", "_task", "_value")

    def __init__(self, operation: Operation[S, T]) -> None:
        self._operation = operation
        self._task: Task[T] | None = None
        self._value: T | None = None
        self._error: BaseException | None = None
        self._parked = allocate_lock()
        self._parked.acquire()

    def wait(self, timeout: float = -1) -> bool:
        """Whether there is an outcome; -1 waits until there is."""
        return self._parked.acquire(timeout=timeout)

    def outcome(self) -> T:
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # a T since it was done

    # In the I/O thread

    def begin(self, loop: Loop, session: S) -> Pending[T]:
        self._task = loop.spawn(self._operation(session))
        return self._task

    def done(self, task: Pending[T]) -> None:
        error = error_of(task)
        if error is None:
            self._value = task.value()
        self.end(error)

    def end(self, error: BaseException | None) -> None:
        self._error = error
        if self._parked.locked():
            self._parked.release()

    def give_up(self, _: object) -> None:
        if self._task is not None:
            self._task.is_observed = True
            self._task.cancel()


class IoThread(Generic[S]):
    def __init__(self, name: str, open_session: Open[S]) -> None:
        self._ports = client_ports()
        self._loop = Loop(self._ports, on_error=tell)
        self._session = open_session(self._loop)
        self._calls: set[_Call[S, Any]] = set()
        self._is_over = False
        self._error: BaseException | None = None
        self._thread = Thread(target=self._live, name=name, daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        return self._is_over

    def run(self, operation: Operation[S, T]) -> T:
        if get_ident() == self._thread.ident:
            raise OwnThreadError
        call = _Call(operation)
        try:
            if not self._has_taken(call):
                raise self._error or ClientClosed("this client was closed")
            call.wait()
        except BaseException:
            self._loop.from_thread(call.give_up)
            raise
        return call.outcome()

    def close(self, timeout_ms: int) -> bool:
        """Whether the session has come to an orderly end in time. Its thread and connections are gone in any case."""
        call = _Call[S, None](lambda session: session.close(timeout_ms))
        try:
            in_time = not self._has_taken(call) or call.wait((timeout_ms + CLOSE_GRACE_MS) / 1000)
        finally:
            self._loop.from_thread(self._stop)
        self._thread.join(CLOSE_GRACE_MS / 1000)
        return in_time

    def abandon(self) -> None:
        """In a process that was forked, where the thread does not run."""
        self._is_over = True
        network = self._ports.network
        if isinstance(network, ClientNetwork):
            network.abandon()

    def _has_taken(self, call: "_Call[S, Any]") -> bool:
        """The call will get an outcome. It is put among those that the thread lets go at its end before the thread is
        seen not to have come there, so that none is forgotten in between.
        """
        self._calls.add(call)
        self._loop.from_thread(self._begin, call)
        return not self._is_over

    # In the thread

    def _live(self) -> None:
        try:
            while not self._is_over:
                self._loop.turn()
        except BaseException as error:  # noqa: BLE001 - whoever waits must be told
            self._error = error
            logger.exception("the I/O thread of a client has ended; its calls fail from now on")
        finally:
            self._is_over = True
            for call in list(self._calls):
                call.end(self._error or ClientClosed("the client was closed while this was under way"))
            self._ports.executor.close()
            self._loop.close()

    def _begin(self, call: _Call[S, Any]) -> None:
        call.begin(self._loop, self._session).when_done(lambda task: self._done(call, task))

    def _done(self, call: _Call[S, Any], task: Pending[Any]) -> None:
        self._calls.discard(call)
        call.done(task)

    def _stop(self, _: object) -> None:
        self._is_over = True
