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


def java_set_order(names: tuple[str, ...]) -> list[str]:
    """The order in which Kafka lists its mechanisms: that of a Java hash set, which clients have learnt to see."""
    table_size = 16
    while len(names) > table_size * 3 // 4:
        table_size *= 2
    distinct = dict.fromkeys(names)
    return sorted(distinct, key=lambda name: _spread(_java_hash(name)) & (table_size - 1))


def _java_hash(text: str) -> int:
    value = 0
    units = text.encode("utf-16-be")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (value * 31 + (high << 8 | low)) & 0xFFFFFFFF
    return value


def _spread(value: int) -> int:
    return value ^ (value >> 16)
