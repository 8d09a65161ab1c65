"""What a host carries: one client at work, from its first use to its end."""

import logging
from collections.abc import Callable, Coroutine
from typing import Protocol, TypeVar

from odradek.channel.errors import ClientClosed
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Cancelled

logger = logging.getLogger("odradek.client")

CLOSE_GRACE_MS = 1000  # beyond the time that a session was given to close


class Session(Protocol):
    async def close(self, timeout_ms: int) -> None:
        """Brings to an end what was begun, as far as the time allows; afterwards no connection is open."""
        ...


S = TypeVar("S", bound=Session)
T = TypeVar("T")

Open = Callable[[Loop], S]
Operation = Callable[[S], Coroutine[object, None, T]]


def error_of(done: "Pending[T]") -> BaseException | None:
    """Why an operation has failed, as its caller is told: only a client that closes cancels what is under way."""
    if isinstance(done.error, Cancelled):
        return closed_under_way(None)
    return done.error


def closed(error: BaseException | None) -> ClientClosed:
    """For who asks too late. `error` is what has ended the client, if it was not its program."""
    return _closed_by(error, "this client was closed")


def closed_under_way(error: BaseException | None) -> ClientClosed:
    return _closed_by(error, "the client was closed while this was under way")


def _closed_by(error: BaseException | None, otherwise: str) -> ClientClosed:
    refusal = ClientClosed(otherwise if error is None else f"this client has come to its end by an error: {error!r}")
    refusal.__cause__ = error
    return refusal


def tell(error: BaseException, where: object) -> None:
    logger.error("an error in %r of a client: it goes on", where, exc_info=error)


def tell_late(timeout_ms: int) -> None:
    logger.warning("a client could not be closed in an orderly way within %d ms: it is gone now", timeout_ms)
