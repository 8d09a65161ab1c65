"""Who picks the partition of a record that names none.

Without one of these the accumulator does it: by key, else sticky (Kafka's built-in partitioner since 3.3). A program
may give a function `(topic, key, key_bytes, value, value_bytes, cluster) -> int` or an object with that as `partition`;
if it has `on_new_batch(topic, cluster, partition)` too, it is told before a batch is begun and asked once more, as in
Kafka 3.0.
"""

from collections.abc import Callable
from typing import Any, Protocol

from odradek.channel.cluster import Cluster
from odradek.config.errors import ConfigError
from odradek.reactor.ports import Stream
from odradek.records.murmur2 import partition_for

# Any: a program's own may name the types of its keys and values.
Function = Callable[[str, Any, bytes | None, Any, bytes | None, Cluster], int]


class Partitioner(Protocol):
    """Any: as above."""

    def partition(
        self, topic: str, key: Any, key_bytes: bytes | None, value: Any, value_bytes: bytes | None, cluster: Cluster, /
    ) -> int: ...


Given = Partitioner | Function | type[Partitioner] | str  # as the head of this module tells


class RoundRobinPartitioner:
    """One after the other among those that have a leader, whatever the key."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def partition(
        self,
        topic: str,
        key: object,
        key_bytes: bytes | None,
        value: object,
        value_bytes: bytes | None,
        cluster: Cluster,
    ) -> int:
        number = self._next.get(topic, 0)
        self._next[topic] = number + 1
        available = cluster.available_partitions(topic)
        if available:
            return available[number % len(available)].partition
        return number % max(1, len(cluster.partitions(topic)))


class UniformStickyPartitioner:
    """One partition per topic until its batch is closed, then another one by chance: Kafka's of 2.4 to 3.2."""

    def __init__(self, chance: Stream) -> None:
        self._chance = chance
        self._sticky: dict[str, int] = {}

    def partition(
        self,
        topic: str,
        key: object,
        key_bytes: bytes | None,
        value: object,
        value_bytes: bytes | None,
        cluster: Cluster,
    ) -> int:
        sticky = self._sticky.get(topic)
        return self._change(topic, cluster, None) if sticky is None else sticky

    def on_new_batch(self, topic: str, cluster: Cluster, partition: int) -> None:
        """Changes it only if the partition that caused the new batch is still the sticky one: of two threads that
        come with the same batch, the second finds it changed.
        """
        sticky = self._sticky.get(topic)
        if sticky is None or sticky == partition:
            self._change(topic, cluster, sticky)

    def _change(self, topic: str, cluster: Cluster, before: int | None) -> int:
        available = [info.partition for info in cluster.available_partitions(topic)]
        if not available:
            chosen = self._chance.below(max(1, len(cluster.partitions(topic))))
        elif len(available) == 1:
            chosen = available[0]
        else:
            others = [partition for partition in available if partition != before]
            chosen = others[self._chance.below(len(others))]
        self._sticky[topic] = chosen
        return chosen


class DefaultPartitioner(UniformStickyPartitioner):
    """By key, and sticky without one: the default of Kafka 3.0."""

    def partition(
        self,
        topic: str,
        key: object,
        key_bytes: bytes | None,
        value: object,
        value_bytes: bytes | None,
        cluster: Cluster,
    ) -> int:
        if key_bytes is None:
            return super().partition(topic, key, key_bytes, value, value_bytes, cluster)
        return partition_for(key_bytes, len(cluster.partitions(topic)))


_BY_NAME: dict[str, Callable[[Stream], Partitioner]] = {
    "RoundRobinPartitioner": lambda _: RoundRobinPartitioner(),
    "UniformStickyPartitioner": UniformStickyPartitioner,
    "DefaultPartitioner": DefaultPartitioner,
}
_PACKAGE = "org.apache.kafka.clients.producer."


def partitioner(given: object, chance: Stream) -> Partitioner | None:
    """What a program gave, or `partitioner.class` names: an object, a function, a class, a name. None: the built-in."""
    if given is None:
        return None
    if isinstance(given, str):
        return _named(given, chance)
    if isinstance(given, type):
        made = given(chance) if issubclass(given, UniformStickyPartitioner) else given()
        return partitioner(made, chance)
    if hasattr(given, "partition"):
        return given
    if callable(given):
        return _FromFunction(given)
    raise TypeError(f"a partitioner is a function or has a method partition: {type(given).__name__} has neither")


class _FromFunction:
    def __init__(self, function: Function) -> None:
        self.partition = function


def _named(name: str, chance: Stream) -> Partitioner | None:
    short = name.removeprefix(_PACKAGE).removeprefix("internals.")
    if short in _BY_NAME:
        return _BY_NAME[short](chance)
    module, _, attribute = name.rpartition(".")
    try:
        from importlib import import_module

        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"there is no such class: {error}", "partitioner.class", name) from error
    return partitioner(found, chance)
