"""The pages of the node's web server: metrics, health, readiness."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.broker.http import PLAIN, Page
from odradek.broker.shared import Shared
from odradek.metrics import text

if TYPE_CHECKING:
    from odradek.broker.raft_server import KafkaRaftServer


def pages(server: "KafkaRaftServer", shared: Shared) -> dict[str, Callable[[], Page]]:
    def metrics() -> Page:
        return 200, text.CONTENT_TYPE, text.prometheus_text(shared.metrics)

    def health() -> Page:
        if server.failure is None:
            return 200, PLAIN, b"ok\n"
        return 503, PLAIN, f"{server.failure}\n".encode()

    def ready() -> Page:
        state = "NOT_RUNNING" if server.broker is None else server.broker.lifecycle.state.name
        return (200 if server.is_ready else 503), PLAIN, f"{state}\n".encode()

    return {"/metrics": metrics, "/health": health, "/ready": ready}
