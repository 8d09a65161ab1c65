"""Java's String.hashCode, and the order in which Java walks over a hash map of strings.

Kafka's brokers find the partition of a group by it, its assignors and lists leave some choices to it. Whoever takes
turns with a Kafka has to choose the same.
"""

from collections.abc import Collection
from functools import lru_cache

_SMALLEST_TABLE = 16


@lru_cache(maxsize=16_384)  # of groups and transactional ids: with every request of theirs
def java_hash(text: str) -> int:
    """Over UTF-16 units, in 32 bits without a sign."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return value


def partition_of(key: str, partitions: int) -> int:
    """The partition of an internal topic that a key belongs to. Java's least number has no absolute value: it is 0."""
    value = java_hash(key)
    signed = value - (1 << 32) if value >> 31 else value
    return (0 if signed == -(1 << 31) else abs(signed)) % partitions


def in_java_order(names: Collection[str]) -> list[str]:
    """By bucket. Within a bucket as they were put in; the table doubles when it is three quarters full."""
    distinct = dict.fromkeys(names)
    size = _SMALLEST_TABLE
    while len(distinct) > size * 3 // 4:
        size *= 2
    return sorted(distinct, key=lambda name: _bucket(name, size))


def _bucket(name: str, size: int) -> int:
    value = java_hash(name)
    return (value ^ value >> 16) & (size - 1)
