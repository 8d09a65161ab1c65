"""Between the connections of a listener and what answers their requests.

In Kafka a queue lies here, with threads on its other side. Here a request is served where it was read; what is left of
the channel is who answers, and what is told about it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from odradek.broken_rule import BrokenRuleError
from odradek.network.request_metrics import RequestMetrics, RequestStats
from odradek.reactor.pending import Pending

if TYPE_CHECKING:
    from odradek.network.server_connection import ServerConnection

# The parts of a frame, bytes-like or file ranges, as they are to be sent; None for no answer. What a message is encoded
# to (`protocol.parts`) and what a connection sends (`reactor.send_queue`) are types of two layers that do not know each
# other.
Parts = list[Any] | None
Serve = Callable[["ServerConnection", memoryview], Parts | Pending[Parts]]


def nobody_serves(connection: "ServerConnection", frame: memoryview) -> NoReturn:
    """Stands where `serve` belongs until it is known who answers the requests."""
    raise BrokenRuleError("connections are accepted when somebody answers their requests")


class RequestChannel:
    """`serve` gets a connection and a frame; the view is dead once it has returned."""

    __slots__ = ("metrics", "mono_us", "serve", "stats")

    def __init__(self, serve: Serve, metrics: RequestMetrics, mono_us: Callable[[], int]) -> None:
        self.serve = serve
        self.metrics = metrics
        self.mono_us = mono_us
        self.stats: dict[int, RequestStats] = metrics.by_key_and_version
