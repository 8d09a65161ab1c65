"""The pages of the node's web server: metrics, health, readiness."""

from collections.abc import Callable
from typing import Protocol

from odradek.broker.http import PLAIN, Page
from odradek.metrics import Registry, text


class Monitored(Protocol):
    """What the pages ask a server."""

    @property
    def failure(self) -> str | None:
        """Why it has given up."""
        ...

    @property
    def is_ready(self) -> bool: ...

    @property
    def state_name(self) -> str: ...


def pages(server: Monitored, registry: Registry) -> dict[str, Callable[[], Page]]:
    def metrics() -> Page:
        return 200, text.CONTENT_TYPE, text.prometheus_text(registry)

    def health() -> Page:
        if server.failure is None:
            return 200, PLAIN, b"ok\n"
        return 503, PLAIN, f"{server.failure}\n".encode()

    def ready() -> Page:
        return (200 if server.is_ready else 503), PLAIN, f"{server.state_name}\n".encode()

    return {"/metrics": metrics, "/health": health, "/ready": ready}
