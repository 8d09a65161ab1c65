"""A client in a thread of its own, for programs that call and wait.

The thread starts with the first use and not when the client is made: what a program makes before it forks, as servers
with workers do, costs the child nothing. In a child the client begins anew at its next use, with connections of its
own; one whose state cannot be in two processes says so instead (`is_one_process`).
"""

import weakref
from _thread import allocate_lock
from typing import Generic
from warnings import warn

from odradek.channel.errors import ClientClosed
from odradek.client.host import live_clients
from odradek.client.host.errors import ForkedClientError
from odradek.client.host.io_thread import IoThread
from odradek.client.host.session import Open, Operation, S, T


class ThreadHost(Generic[S]):
    def __init__(self, name: str, open_session: Open[S], *, is_one_process: bool = False) -> None:
        self._name = name
        self._open = open_session
        self._is_one_process = is_one_process
        self._is_closed = False
        self._is_forked = False
        self._thread: IoThread[S] | None = None
        self._starting = allocate_lock()

    def run(self, operation: Operation[S, T]) -> T:
        """Waits until it is done, in any thread but the client's own."""
        return self._started().run(operation)

    def close(self, timeout_ms: int) -> None:
        """Nothing happens the second time."""
        self._is_closed = True
        thread, self._thread = self._thread, None
        live_clients.remove(self)
        if thread is not None:
            thread.close(timeout_ms)

    def watch_over(self, client: object) -> None:
        """Closes when the program has dropped the client without closing it, and warns of that."""
        weakref.finalize(client, self._dropped, type(client).__name__).atexit = False

    def _started(self) -> IoThread[S]:
        thread = self._thread
        if thread is not None:
            return thread
        with self._starting:
            if self._is_closed:
                raise ClientClosed("this client was closed")
            if self._is_forked and self._is_one_process:
                raise ForkedClientError
            if self._thread is None:
                self._thread = IoThread(self._name, self._open)
                live_clients.add(self)
            return self._thread

    def _dropped(self, kind: str) -> None:
        if self._thread is not None:
            warn(f"a {kind} was dropped without close(): it is closed now", ResourceWarning, stacklevel=2)
            self.close(live_clients.EXIT_TIMEOUT_MS)

    # At a fork and at the exit

    def forked(self) -> None:
        thread, self._thread = self._thread, None
        self._is_forked = True
        self._starting = allocate_lock()  # somebody may have held it who is not in this process
        if thread is not None:
            thread.abandon()

    def exit(self, timeout_ms: int) -> None:
        self.close(timeout_ms)
