"""What a SASL mechanism is to the authenticator: a message in, a message out, at the end a principal."""

from collections.abc import Callable
from typing import Protocol

from odradek.security.principal import Principal


class SaslAuthenticationFailed(Exception):  # noqa: N818 - it tells what happened
    """The message goes to the client: it must not tell more than the client knows."""


class SaslServer(Protocol):
    principal: Principal | None  # once the exchange is over

    def evaluate(self, token: bytes) -> bytes:
        """The next challenge, or what comes with success; SaslAuthenticationFailed ends the exchange."""
        ...


class Mechanism:
    """One mechanism as a listener offers it."""

    __slots__ = ("name", "reauth_ms", "server")

    def __init__(self, name: str, server: Callable[[], SaslServer] | None, reauth_ms: int = 0) -> None:
        self.name = name
        self.server = server  # None: enabled, but this release of ours cannot serve it
        self.reauth_ms = reauth_ms  # connections.max.reauth.ms
