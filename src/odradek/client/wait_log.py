"""Says in the log what a client waits for, when that takes longer than two seconds; and again every minute.

A client tries again by itself, whatever keeps it from its work, and a program that only polls is never told. `waits`
is called with each attempt that was in vain, `over` when one was not.
"""

import logging
from collections.abc import Callable, Hashable

from odradek.channel.network_client import Lost, NetworkClient
from odradek.channel.node import Node, broker_number
from odradek.protocol.errors import KafkaError

logger = logging.getLogger("odradek.client")

TELL_AFTER_MS = 2_000
TELL_AGAIN_MS = 60_000


class WaitLog:
    __slots__ = ("_mono_ms", "_since_ms", "_tell_at_ms")

    def __init__(self, mono_ms: Callable[[], int]) -> None:
        self._mono_ms = mono_ms
        self._since_ms: dict[Hashable, int] = {}
        self._tell_at_ms: dict[Hashable, int] = {}

    def waits(self, what: Hashable, line: str, since_ms: int | None = None) -> None:
        now_ms = self._mono_ms()
        since_ms = self._since_ms.setdefault(what, now_ms if since_ms is None else since_ms)
        if now_ms >= self._tell_at_ms.get(what, since_ms + TELL_AFTER_MS):
            self._tell_at_ms[what] = now_ms + TELL_AGAIN_MS
            logger.warning("%s", line)

    def over(self, what: Hashable) -> None:
        self._since_ms.pop(what, None)
        self._tell_at_ms.pop(what, None)


class LostBrokers:
    """Why brokers are not connected now: for errors that would name no cause else, and for the log if it lasts."""

    __slots__ = ("_began_ms", "_errors", "_log", "_met")

    def __init__(self, client: NetworkClient, log: WaitLog) -> None:
        self._log = log
        self._began_ms = client.loop.ports.clock.mono_ms()
        self._errors: dict[int, KafkaError] = {}
        self._met: set[int] = set()  # those that have been connected
        client.observe(self)

    def why(self, node_id: int | None = None) -> str:
        """Of one broker or of all; empty if there is nothing to tell. In any thread."""
        if node_id is not None:
            error = self._errors.get(node_id)
            return "" if error is None else error.message
        return "; ".join(dict.fromkeys(error.message for error in list(self._errors.values())))

    def because(self) -> str:
        """The same as the end of a sentence about something that was not done."""
        why = self.why()
        return f": {why}" if why else "."

    # What the network client tells

    def node_changed(self, node: Node) -> None:
        self._met.add(node.id)
        self._errors.pop(node.id, None)
        self._log.over(broker_number(node.id))

    def node_lost(self, lost: Lost) -> None:
        self._errors[lost.node.id] = lost.error
        since_ms = None if lost.node.id in self._met else self._began_ms
        self._log.waits(broker_number(lost.node.id), f"{lost.error.message}; it is tried again", since_ms)
