"""SASL/OAUTHBEARER (RFC 7628, KIP-255) as a client speaks it: one message with a token. No I/O.

Where a token comes from is the business of `Tokens`: it may ask a server, so it is asked in a job. A broker that
refuses a token answers with the reason first, and ends the exchange when that was acknowledged.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from odradek.protocol.errors import SaslAuthenticationFailed
from odradek.reactor.ports import JobOf

MECHANISM = "OAUTHBEARER"

_SEPARATOR = "\x01"
_ACKNOWLEDGED = b"\x01"
_TOKEN = re.compile(r"[-._~+/0-9A-Za-z]+=*\Z")
_EXTENSION = re.compile(r"[A-Za-z]+\Z")
_EXTENSION_VALUE = re.compile(r"[\x21-\x7e \t\r\n]*\Z")

# Of a token's lifetime, after which it is not used for another login: the session would end almost at once.
REFRESH_PART = 0.8


class BearerToken(NamedTuple):
    """`begin_ms` and `end_ms` are wall-clock times; 0: not known, and the token is asked for at each login."""

    text: str
    begin_ms: int = 0
    end_ms: int = 0

    def __repr__(self) -> str:  # never the token
        return f"BearerToken(end_ms={self.end_ms})"


class Tokens:
    """The token of a client, fetched when there is none or most of its lifetime is over. For one job at a time."""

    __slots__ = ("_fetch", "_last", "_wall_ms", "extensions")

    def __init__(
        self,
        fetch: Callable[[], BearerToken],
        wall_ms: Callable[[], int],
        extensions: Mapping[str, str] | Callable[[], Mapping[str, str]] = {},  # noqa: B006 - nobody changes it
    ) -> None:
        self._fetch = fetch
        self._wall_ms = wall_ms
        self._last: BearerToken | None = None
        self.extensions = extensions

    def token(self) -> BearerToken:
        """May block."""
        last = self._last
        if last is None or self._wall_ms() >= last.begin_ms + (last.end_ms - last.begin_ms) * REFRESH_PART:
            self._last = last = self._fetch()
        return last

    def first_message(self) -> bytes:
        """May block."""
        text = self.token().text
        if not _TOKEN.match(text):
            raise SaslAuthenticationFailed("What was given as an OAuth token is none: it has characters that none has.")
        given = self.extensions() if callable(self.extensions) else self.extensions
        extensions = "".join(f"{name}={_checked(name, value)}{_SEPARATOR}" for name, value in given.items())
        return f"n,,{_SEPARATOR}auth=Bearer {text}{_SEPARATOR}{extensions}{_SEPARATOR}".encode()


def _checked(name: str, value: str) -> str:
    if name == "auth" or not _EXTENSION.match(name) or not _EXTENSION_VALUE.match(value):
        raise SaslAuthenticationFailed(
            f"{name} is no extension of SASL/OAUTHBEARER, or has a value that it cannot have."
        )
    return value


class OauthSaslClient:
    """One login."""

    __slots__ = ("_is_told", "_tokens", "mechanism")

    def __init__(self, tokens: Tokens) -> None:
        self.mechanism = MECHANISM
        self._tokens = tokens
        self._is_told = False

    def token(self, challenge: bytes) -> "bytes | JobOf[bytes] | None":
        if not self._is_told:
            self._is_told = True
            return self._job()
        return _ACKNOWLEDGED if challenge else None  # only a refusal has something in it

    def _job(self) -> "JobOf[bytes]":
        yield 0
        return self._tokens.first_message()

    def __repr__(self) -> str:
        return "OauthSaslClient()"
