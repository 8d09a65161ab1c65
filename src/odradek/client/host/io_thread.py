"""The thread that turns the loop of one client, and how other threads have something done by it.

    thread = IoThread("odradek-admin-1", open_session, ended)
    thread.start()
    topics = thread.run(lambda session: session.list_topics())      # any thread but this one
    thread.close(5000)

A caller parks on a lock, which a signal can interrupt: Ctrl-C ends the wait at once, and the work that nobody waits for
any more is cancelled. The client's state is touched by its thread alone, which opens the session, too: no interrupt can
leave it half changed, or half made.

The thread knows the session, and not the object that the program holds: that one can be dropped and collected while the
thread runs.
"""

from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from threading import Thread, current_thread, get_ident
from typing import Generic, TypeVar

from odradek.broken_rule import present
from odradek.client.host.client_loop import ClientLoop
from odradek.client.host.errors import OwnThreadError
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
from odradek.reactor.coroutine_task import Task
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending

A = TypeVar("A")


class _Parked:
    """Somebody who waits in another thread. The lock is held until the wait is over."""

    __slots__ = ("_error", "_parked")

    def __init__(self) -> None:
        self._error: BaseException | None = None
        self._parked = allocate_lock()
        self._parked.acquire()

    def wait(self, timeout: float = -1) -> bool:
        """Whether it is over; -1 waits until it is."""
        return self._parked.acquire(timeout=timeout)

    def end(self, error: BaseException | None) -> None:
        """In the I/O thread."""
        self._error = error
        if self._parked.locked():
            self._parked.release()


class _Call(_Parked, Generic[S, T]):
    """One operation that a thread waits for."""

    __slots__ = ("_operation", "_task", "_value")

    def __init__(self, operation: Operation[S, T]) -> None:
        super().__init__()
        self._operation = operation
        self._task: Task[T] | None = None
        self._value: T | None = None

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

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()


class IoThread(Generic[S]):
    def __init__(self, name: str, open_session: Open[S], ended: Callable[[], object]) -> None:
        """`ended` is called in the thread, when it has closed everything."""
        self._name = name
        self._open = open_session
        self._ended = ended
        self._client: ClientLoop[S] | None = None  # until it is open
        self._opening: list[_Parked] = []
        self._close_timeout_ms: int | None = None  # once it is to be closed
        self._waiting: set[_Parked] = set()
        self._is_closing = False
        self._close_error: BaseException | None = None  # until somebody was told
        self._is_over = False
        self._error: BaseException | None = None
        self._is_opened = False  # or has failed to
        self._runs = allocate_lock()  # taken by the thread, and never given back
        self._thread: Thread | None = None
        self.has_started = False

    def start(self) -> None:
        """Waits until the session is open, or raises why it cannot be.

        Whoever is interrupted in here cannot know whether a thread has started, and the next one starts another: of two
        the second leaves at once.
        """
        if self.has_started:
            return
        parked = _Parked()
        self._opening.append(parked)
        start_new_thread(self._start_thread, ())
        if not self._is_opened:
            parked.wait()
        if self._client is None:
            self._join()
            raise present(self._error, "what is over and was never open has failed")
        self.has_started = True

    def run(self, operation: Operation[S, T]) -> T:
        self.refuse_own_thread()
        call = _Call(operation)
        try:
            if not self._has_taken(call, self._begin, call):
                raise closed(self._error)
            call.wait()
        except BaseException:
            self._from_thread(self._give_up, call)
            raise
        return call.outcome()

    @property
    def session(self) -> S:
        """For what may be read, or done, from another thread."""
        return self._opened.session

    def tell(self, callback: Callable[[S], object]) -> None:
        """Has it called in the thread, and does not wait; nothing happens if that is over."""
        if not self._is_over:
            self._from_thread(callback, self.session)

    def close(self, timeout_ms: int) -> None:
        """Raises what has kept the session from an orderly end. The thread and its connections are gone in any case."""
        self.refuse_own_thread()
        parked = _Parked()
        if self._has_taken(parked, self._close, timeout_ms):
            parked.wait((timeout_ms + 2 * CLOSE_GRACE_MS) / 1000)
        self._join()
        error, self._close_error = self._close_error, None
        if error is not None:
            raise error

    def close_soon(self, timeout_ms: int) -> None:
        """Does not wait: it may be called in any thread, its own as well, and before the session is open."""
        self._close_timeout_ms = timeout_ms
        if self._client is not None:
            self._from_thread(self._close, timeout_ms)

    def abandon(self) -> None:
        """In a process that was forked, where the thread does not run."""
        self._is_over = True
        if self._client is not None:
            self._client.abandon()

    def _has_taken(self, parked: _Parked, callback: Callable[[A], object], argument: A) -> bool:
        """The wait will have an end. It is put among those that the thread ends before the thread is seen not to have
        come there, so that none is forgotten in between.
        """
        self._waiting.add(parked)
        self._from_thread(callback, argument)
        return not self._is_over

    def _from_thread(self, callback: Callable[[A], object], argument: A) -> None:
        self._opened.loop.from_thread(callback, argument)

    @property
    def _opened(self) -> ClientLoop[S]:
        return present(self._client, "it has started")

    def _join(self) -> None:
        if self._thread is not None:
            self._thread.join(CLOSE_GRACE_MS / 1000)

    def refuse_own_thread(self) -> None:
        if self._thread is not None and self._thread.ident == get_ident():
            raise OwnThreadError

    # In a thread that starts the thread

    def _start_thread(self) -> None:
        """Signals strike the main thread: there, one could come between a thread that Python knows of and its start."""
        try:
            Thread(target=self._live, name=self._name, daemon=True).start()
        except BaseException as error:  # noqa: BLE001 - whoever waits must be told
            if self._runs.acquire(blocking=False):
                self._error = error
                self._end()

    # In the thread

    def _live(self) -> None:
        if not self._runs.acquire(blocking=False):
            return
        self._thread = current_thread()
        try:
            self._client = ClientLoop(self._open)
            self._tell_opened()
            if self._close_timeout_ms is not None:
                self._close(self._close_timeout_ms)
            self._turn_until_over(self._client.loop)
        except BaseException as error:  # noqa: BLE001 - whoever waits must be told
            self._error = error
        finally:
            self._end()

    def _tell_opened(self) -> None:
        """Who comes later sees that it is, and does not wait."""
        self._is_opened = True
        for parked in list(self._opening):
            parked.end(None)

    def _turn_until_over(self, loop: Loop) -> None:
        try:
            while not self._is_over:
                loop.turn()
        except BaseException as error:  # noqa: BLE001 - whoever waits must be told
            self._error = error
            logger.exception("the I/O thread of a client has ended; its calls fail from now on")

    def _end(self) -> None:
        """Whoever closes it is let go last, when everything is closed."""
        self._is_over = True
        try:
            if self._client is not None:
                self._client.end()
            self._ended()
        finally:
            self._tell_opened()
            for parked in list(self._waiting):
                parked.end(closed_under_way(self._error))

    def _begin(self, call: _Call[S, T]) -> None:
        try:
            task = call.begin(self._opened.loop, self._opened.session)
        except Exception as error:  # noqa: BLE001 - whoever waits must be told
            self._waiting.discard(call)
            call.end(error)
        else:
            task.when_done(lambda done: self._done(call, done))

    def _done(self, call: _Call[S, T], task: Pending[T]) -> None:
        self._waiting.discard(call)
        call.done(task)

    def _give_up(self, call: _Call[S, T]) -> None:
        self._waiting.discard(call)
        call.cancel()

    def _close(self, timeout_ms: int) -> None:
        if not self._is_closing:
            self._is_closing = True
            loop = self._opened.loop
            loop.spawn(self._opened.session.close(timeout_ms)).when_done(self._stop)
            loop.after(timeout_ms + CLOSE_GRACE_MS, lambda: self._stop_late(timeout_ms))

    def _stop_late(self, timeout_ms: int) -> None:
        tell_late(timeout_ms)
        self._is_over = True

    def _stop(self, closed_session: Pending[None]) -> None:
        self._close_error = error_of(closed_session)
        self._is_over = True
