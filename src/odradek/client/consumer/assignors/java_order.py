"""The order in which Java walks over a hash map of strings: where its assignors leave a choice, that decides it.

Leaders of both kinds may follow one another in a group: with the same choice no partition moves because of that.
"""

from collections.abc import Collection

_SMALLEST_TABLE = 16


def java_hash(text: str) -> int:
    """Over UTF-16 units, in 32 bits."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return value


def in_java_order(names: Collection[str]) -> list[str]:
    """By bucket. Within a bucket as they were put in; the table doubles when it is three quarters full."""
    size = _SMALLEST_TABLE
    while len(names) > size * 3 // 4:
        size *= 2
    return sorted(names, key=lambda name: _bucket(name, size))


def _bucket(name: str, size: int) -> int:
    value = java_hash(name)
    return (value ^ value >> 16) & (size - 1)
