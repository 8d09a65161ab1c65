"""A client in a thread of its own, for programs that call and wait.

The thread starts with the first use and not when the client is made: what a program makes before it forks, as servers
with workers do, costs the child nothing. In a child the client begins anew at its next use, with connections of its
own; one whose state cannot be in two processes says so instead (`is_one_process`).
"""

import weakref
from collections.abc import Callable
from threading import RLock
from typing import Generic
from warnings import warn

from odradek.client.host import live_clients
from odradek.client.host.errors import ForkedClientError
from odradek.client.host.io_thread import IoThread
from odradek.client.host.session import Open, Operation, S, T, closed


class ThreadHost(Generic[S]):
    def __init__(self, name: str, open_session: Open[S], *, is_one_process: bool = False) -> None:
        self._name = name
        self._open = open_session
        self._is_one_process = is_one_process
        self._is_closed = False
        self._is_forked = False
        self._thread: IoThread[S] | None = None
        self._starting = RLock()  # a signal's handler may close the client while it starts

    def run(self, operation: Operation[S, T]) -> T:
        """Waits until it is done, in any thread but the client's own."""
        return self._started().run(operation)

    def session(self) -> S:
        """What the client's thread works on, for what may be read, or done, from another thread."""
        return self._started().session

    def tell(self, callback: Callable[[S], object]) -> None:
        """Has it called in the client's thread, and does not wait. Nothing happens if there is none."""
        thread = self._thread
        if thread is not None and thread.has_started:
            thread.tell(callback)

    @property
    def has_started(self) -> bool:
        return self._thread is not None and self._thread.has_started

    def close(self, timeout_ms: int) -> None:
        """Nothing happens the second time."""
        with self._starting:
            self._is_closed = True
            thread = self._thread
            if thread is not None:
                self._start(thread)
        if thread is not None:
            thread.close(timeout_ms)

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def refuse_own_thread(self) -> None:
        """OwnThreadError in the client's thread, where a callback must not wait."""
        if self._thread is not None:
            self._thread.refuse_own_thread()

    def watch_over(self, client: object) -> None:
        """Closes when the program has dropped the client without closing it, and warns of that."""
        weakref.finalize(client, self._dropped, type(client).__name__).atexit = False

    def _started(self) -> IoThread[S]:
        thread = self._thread
        if thread is not None and thread.has_started and not self._is_closed:
            return thread
        with self._starting:
            self._refuse_if_closed()
            if self._is_forked and self._is_one_process:
                raise ForkedClientError
            if self._thread is None:
                self._thread = IoThread(self._name, self._open, self._ended)
                live_clients.add(self)
            self._start(self._thread)
            self._refuse_if_closed()
            return self._thread

    def _start(self, thread: IoThread[S]) -> None:
        """What could not begin may be tried again."""
        try:
            thread.start()
        except Exception:
            self._thread = None
            raise

    def _refuse_if_closed(self) -> None:
        """A signal's handler may have closed it a moment ago, before there was a thread."""
        if self._is_closed:
            if self._thread is not None:
                self._thread.close_soon(0)
            raise closed(None)

    def _dropped(self, kind: str) -> None:
        """In any thread, whichever came to collect the client: nobody waits there."""
        if self._is_closed or self._thread is None:
            return
        self._is_closed = True
        self._thread.close_soon(live_clients.EXIT_TIMEOUT_MS)
        warn(f"a {kind} was dropped without close(): it is closed now", ResourceWarning, stacklevel=2)

    def _ended(self) -> None:
        live_clients.remove(self)

    # At a fork and at the exit

    def forked(self) -> None:
        thread, self._thread = self._thread, None
        self._is_forked = True
        self._starting = RLock()  # somebody may have held it who is not in this process
        if thread is not None:
            thread.abandon()

    def exit_soon(self, timeout_ms: int) -> None:
        self._is_closed = True
        if self._thread is not None:
            self._thread.close_soon(timeout_ms)

    def exit(self, timeout_ms: int) -> None:
        self.close(timeout_ms)
