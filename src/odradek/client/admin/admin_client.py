"""The admin client for programs that call and wait."""

from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from itertools import count
from typing import Concatenate, ParamSpec, Self, TypeVar

from odradek.client.admin import topics
from odradek.client.admin.asking import Asker
from odradek.client.admin.session import admin_session
from odradek.client.host.thread_host import ThreadHost
from odradek.client.settings import client_config
from odradek.config.admin import TABLE

P = ParamSpec("P")
R = TypeVar("R")

CLOSE_TIMEOUT = 5.0

_numbers = count(1)


def _blocking(
    operation: Callable[Concatenate[Asker, P], Coroutine[object, None, R]],
) -> "Callable[Concatenate[AdminClient, P], R]":
    """The same operation as a call that returns when it is done."""

    @wraps(operation)
    def call(client: "AdminClient", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return client._host.run(lambda asker: operation(asker, *args, **kwargs))

    return call


class AdminClient:
    """One method for each operation, in any thread.

    with AdminClient(bootstrap_servers="localhost:9092") as admin:
        admin.create_topic("orders", partitions=3)
        for name in admin.list_topics(): ...

    Configs are Kafka's: as keywords with underscores, or in a mapping with their own names. A `timeout` is in seconds,
    and `default.api.timeout.ms` where none is given. Where an operation is about several things, each has an outcome of
    its own (`Results`); a failure of the whole is raised.
    """

    def __init__(self, config: Mapping[str, object] | None = None, /, **configs: object) -> None:
        opened = admin_session(client_config(TABLE, config, configs))
        self._host = ThreadHost(f"odradek-admin-{next(_numbers)}", opened)
        self._host.watch_over(self)

    create_topics = _blocking(topics.create_topics)
    create_topic = _blocking(topics.create_topic)
    delete_topics = _blocking(topics.delete_topics)
    create_partitions = _blocking(topics.create_partitions)
    list_topics = _blocking(topics.list_topics)
    describe_topics = _blocking(topics.describe_topics)
    list_offsets = _blocking(topics.list_offsets)
    delete_records = _blocking(topics.delete_records)

    def close(self, timeout: float = CLOSE_TIMEOUT) -> None:
        self._host.close(int(timeout * 1000))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
