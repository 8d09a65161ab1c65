"""What a program puts between a consumer and itself: it sees records before they are returned, and commits afterwards.

A mistake in one is logged, and the next one gets what the last good one gave: no interceptor can stop the reading.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from odradek.client.consumer.records import ConsumerRecords, Records
from odradek.client.offsets import OffsetAndMetadata
from odradek.config.errors import ConfigError
from odradek.protocol.topic_partition import TopicPartition

logger = logging.getLogger("odradek.client")


class ConsumerInterceptor:
    """Subclass it and override what is of interest; all of it runs in the thread that polls."""

    def configure(self, configs: Mapping[str, object]) -> object:
        """Called for those that are named in interceptor.classes: with all configs, client.id among them."""

    # Any: a subclass may name the types of the keys and values that it expects.
    def on_consume(self, records: ConsumerRecords[Any, Any]) -> ConsumerRecords[Any, Any]:
        """What `poll` returns in their place."""
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> object:
        """The coordinator has these."""

    def close(self) -> object: ...


class Interceptors:
    __slots__ = ("_chain",)

    def __init__(self, chain: Iterable[ConsumerInterceptor] = ()) -> None:
        self._chain = tuple(chain)

    def __bool__(self) -> bool:
        return bool(self._chain)

    def on_consume(self, records: Records) -> Records:
        for each in self._chain:
            try:
                records = each.on_consume(records)
            except Exception:
                logger.exception("interceptor %r has failed on records: they go on without it", each)
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self._each(lambda each: each.on_commit(offsets), "a commit")

    def close(self) -> None:
        self._each(lambda each: each.close(), "its close")

    def _each(self, call: Callable[[ConsumerInterceptor], object], what: str) -> None:
        for each in self._chain:
            try:
                call(each)
            except Exception:
                logger.exception("interceptor %r has failed on %s", each, what)


def interceptors_of(
    given: Sequence[ConsumerInterceptor], names: Iterable[str], configs: Mapping[str, object]
) -> Interceptors:
    """Those that the program has made, then those that it has named."""
    return Interceptors((*given, *(_made(name, configs) for name in names)))


def _made(name: object, configs: Mapping[str, object]) -> ConsumerInterceptor:
    if isinstance(name, str):
        from importlib import import_module

        module, _, attribute = name.rpartition(".")
        try:
            name = getattr(import_module(module), attribute)
        except (ImportError, AttributeError, ValueError) as error:
            raise ConfigError(f"it cannot be loaded: {error}", "interceptor.classes", name) from None
    made: ConsumerInterceptor = name() if isinstance(name, type) else name  # type: ignore[assignment]  # as told
    configure = getattr(made, "configure", None)
    if configure is not None:
        configure(configs)
    return made
