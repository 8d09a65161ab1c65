"""aiokafka's configs as ours."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any, Protocol

from odradek.channel.errors import Disconnected
from odradek.client import python_names
from odradek.client.admin.asyncio_admin_client import AdminClient
from odradek.compat.kafka_python import configs
from odradek.config.admin import TABLE
from odradek.protocol.errors import RequestTimedOut

OTHER_NAMES = {"max_batch_size": "batch_size"}
REQUEST_TIMEOUT_MS = 40_000
_NAMES = {*TABLE.rows, *python_names.NAMES, *python_names.SAME} - {"client.id"}
WITHOUT_EFFECT = ("consumer_timeout_ms", "loop", "rebalance_timeout_ms")


def adapted(given: Mapping[str, Any]) -> dict[str, Any]:
    """Must be called where a loop runs, if there is a provider of tokens. Any: as for kafka-python's."""
    known = {name: value for name, value in given.items() if name not in WITHOUT_EFFECT}
    found = configs.adapted(known, OTHER_NAMES)
    if not str(found.get("security_protocol", "")).startswith("SASL"):
        found.pop("sasl_mechanism", None)
    provider = found.get("sasl_oauth_token_provider")
    if provider is not None:
        found["sasl_oauth_token_provider"] = _blocking(provider, asyncio.get_running_loop())
    return found


async def reached(own: Mapping[str, Any]) -> None:
    """Theirs ask a broker when they are started, and programs rely on the error if there is none. Any: as above."""
    known = {name: value for name, value in own.items() if name.replace("_", ".") in _NAMES}
    async with AdminClient(**known) as admin:
        try:
            await admin.describe_cluster(timeout=own.get("request_timeout_ms", REQUEST_TIMEOUT_MS) / 1000)
        except RequestTimedOut as error:
            raise Disconnected(f"no broker can be reached: {error}") from error


class _Provider(Protocol):
    def token(self) -> Awaitable[str] | str: ...


def _blocking(provider: _Provider, loop: asyncio.AbstractEventLoop) -> Callable[[], str]:
    """Theirs gives a token to await, and ours is asked in a thread."""

    async def token() -> str:
        found = provider.token()
        text: str = await found if isawaitable(found) else found
        return text

    return lambda: asyncio.run_coroutine_threadsafe(token(), loop).result()
