"""The seam between a connection and the way its peer proves who it is.

An authenticator gets every frame until it has a principal. It has no socket and no clock: it takes a frame and returns
what to answer and how things stand now.
"""

from typing import Any, NamedTuple, Protocol

from odradek.reactor.pending import Pending
from odradek.security.principal import Principal

# Bytes-like parts, as they are to be sent. What a message is encoded to (`protocol.parts`) and what a connection sends
# (`reactor.send_queue`) are types of two layers that do not know each other.
Reply = list[Any]


class AuthStep(NamedTuple):
    """What one frame has led to. With neither `principal` nor `has_failed` the exchange goes on."""

    reply: Reply | None = None  # the whole answer with its length
    principal: Principal | None = None
    has_failed: bool = False  # the connection is closed, behind the reply if there is one
    session_lifetime_ms: int = 0  # after which the peer has to authenticate again; 0: never
    can_reauthenticate: bool = True  # the client knows how to


class Authenticator(Protocol):
    frame_bytes_max: int

    def receive(self, frame: memoryview) -> "AuthStep | Pending[AuthStep]":
        """Takes one frame. Never raises for what the peer sent: that is a step that has failed."""
        ...


FAILED = AuthStep(has_failed=True)
