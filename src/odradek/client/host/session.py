"""What a host carries: one client at work, from its first use to its end."""

import logging
from collections.abc import Callable, Coroutine
from typing import Protocol, TypeVar

from odradek.channel.errors import ClientClosed
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Cancelled

logger = logging.getLogger("odradek.client")


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
        return ClientClosed("the client was closed while this was under way")
    return done.error


def tell(error: BaseException, where: object) -> None:
    logger.error("an error in %r of a client: it goes on", where, exc_info=error)
