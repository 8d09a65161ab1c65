"""The order in which a Java program meets the entries of a hash map, for scripts that print them as they come.

Kafka's tools print much in that order, so whoever compares what they print, or has grown used to it, expects it. It
depends on nothing but the keys and the size of the table.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from odradek.protocol.topic_partition import TopicPartition

K = TypeVar("K")

_TABLE_MIN = 16
_LOAD = 0.75


def in_java_order(keys: Iterable[K], capacity: int = _TABLE_MIN) -> list[K]:
    """Strings, whole numbers, partitions or what has quotas. `capacity` is what the map was made with."""
    listed = list(dict.fromkeys(keys))
    size = _table_size(capacity)
    while len(listed) > size * _LOAD:
        size *= 2
    return sorted(listed, key=lambda key: _bucket(key, size))


def string_hash(text: str) -> int:
    """`String.hashCode` as an unsigned number: over the units of UTF-16."""
    units = text.encode("utf-16-be")
    found = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        found = (31 * found + (high << 8 | low)) & 0xFFFFFFFF
    return found


def _table_size(capacity: int) -> int:
    size = 1
    while size < capacity:
        size *= 2
    return size


def _bucket(key: object, size: int) -> int:
    code = _hash(key)
    return (code ^ code >> 16) & (size - 1)


def _hash(key: object) -> int:
    if isinstance(key, TopicPartition):
        return (31 * (31 + key.partition) + string_hash(key.topic)) & 0xFFFFFFFF
    if isinstance(key, int):
        return key & 0xFFFFFFFF
    if isinstance(key, Mapping):  # the map inside an object that hashes it alone
        pairs = (string_hash(name) ^ (0 if value is None else string_hash(value)) for name, value in key.items())
        return (31 + sum(pairs)) & 0xFFFFFFFF
    return string_hash(str(key))
