"""The clients of this process that have a thread, for the two moments that concern all of them: a fork and the exit.

A child process gets copies of its parent's connections without the thread that serves them. They are closed there right
after the fork, without a byte on them; what a client does when it is used in the child is up to its host.

At exit every client that was not closed is: a program that ends has not asked for its records to be lost.
"""

import atexit
import os
from typing import Protocol
from weakref import WeakSet

EXIT_TIMEOUT_MS = 5000


class Live(Protocol):
    def forked(self) -> None:
        """This is the child, and the client's thread does not run here."""
        ...

    def exit(self, timeout_ms: int) -> None: ...


_live: "WeakSet[Live]" = WeakSet()
_hooks: list[bool] = []


def add(client: Live) -> None:
    _live.add(client)
    if not _hooks:
        _hooks.append(True)
        atexit.register(_exit)
        os.register_at_fork(after_in_child=_forked)


def remove(client: Live) -> None:
    _live.discard(client)


def _forked() -> None:
    clients = list(_live)
    _live.clear()
    for client in clients:
        client.forked()


def _exit() -> None:
    for client in list(_live):
        client.exit(EXIT_TIMEOUT_MS)
