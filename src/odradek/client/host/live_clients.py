"""The clients of this process that are at work, for the two moments that concern all of them: a fork and the exit.

A child process gets copies of its parent's connections without the thread that serves them. They are closed there right
after the fork, without a byte on them; what a client does when it is used in the child is up to its host.

At exit every client that was not closed is, all of them at the same time: a program that ends has not asked for its
records to be lost.
"""

import atexit
import os
from typing import Protocol
from weakref import ref

from odradek.client.host.session import logger

EXIT_TIMEOUT_MS = 5000


class Live(Protocol):
    def forked(self) -> None:
        """This is the child, and the client's thread does not run here."""
        ...

    def exit_soon(self, timeout_ms: int) -> None:
        """Begins to close, and does not wait."""
        ...

    def exit(self, timeout_ms: int) -> None: ...


_live: "dict[int, ref[Live]]" = {}  # threads come and go meanwhile: each step here is one of the interpreter
_hooks: list[bool] = []


def add(client: Live) -> None:
    number = id(client)
    _live[number] = ref(client, lambda _: _live.pop(number, None))
    if not _hooks:
        _hooks.append(True)
        atexit.register(_exit)
        os.register_at_fork(after_in_child=_forked)


def remove(client: Live) -> None:
    _live.pop(id(client), None)


def _clients() -> list[Live]:
    return [client for each in list(_live.values()) if (client := each()) is not None]


def _forked() -> None:
    clients = _clients()
    _live.clear()
    for client in clients:
        client.forked()


def _exit() -> None:
    clients = _clients()
    for client in clients:
        client.exit_soon(EXIT_TIMEOUT_MS)
    for client in clients:
        try:
            client.exit(EXIT_TIMEOUT_MS)
        except Exception:  # noqa: BLE001 - the others are to be closed, too
            logger.exception("a client could not be closed at the exit")
