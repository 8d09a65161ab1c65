"""The admin client for asyncio programs."""

from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from odradek.client.admin import topics
from odradek.client.admin.asking import Asker
from odradek.client.admin.session import admin_session
from odradek.client.host.asyncio_host import AsyncioHost
from odradek.client.settings import client_config
from odradek.config.admin import TABLE

P = ParamSpec("P")
R = TypeVar("R")

CLOSE_TIMEOUT = 5.0


def _awaited(
    operation: Callable[Concatenate[Asker, P], Coroutine[object, None, R]],
) -> "Callable[Concatenate[AdminClient, P], Coroutine[Any, Any, R]]":
    """The same operation, to be awaited in a program of asyncio."""

    @wraps(operation)
    async def call(client: "AdminClient", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await client._host.run(lambda asker: operation(asker, *args, **kwargs))

    return call


class AdminClient:
    """As `odradek.AdminClient`, with methods to await; no thread is started.

    async with AdminClient(bootstrap_servers="localhost:9092") as admin:
        await admin.create_topic("orders", partitions=3)
    """

    def __init__(self, config: Mapping[str, object] | None = None, /, **configs: object) -> None:
        self._host = AsyncioHost(admin_session(client_config(TABLE, config, configs)))

    create_topics = _awaited(topics.create_topics)
    create_topic = _awaited(topics.create_topic)
    delete_topics = _awaited(topics.delete_topics)
    create_partitions = _awaited(topics.create_partitions)
    list_topics = _awaited(topics.list_topics)
    describe_topics = _awaited(topics.describe_topics)
    list_offsets = _awaited(topics.list_offsets)
    delete_records = _awaited(topics.delete_records)

    async def close(self, timeout: float = CLOSE_TIMEOUT) -> None:
        await self._host.close(int(timeout * 1000))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
