"""The fields of a record and of a batch header, as callers give them.

An encoder takes the common case by itself, a plain int or bytes that fits, and asks here for everything else: what is
unusual but usable is made plain, what is not is refused. So both executors refuse the same, in the same words.

What callers hand in is not known before it was looked at. A value is `Any` where one of Python's own functions looks.
"""

from operator import index
from typing import Any

from odradek.protocol import errors

BATCH_BYTES_LIMIT = 0x7FFF_FFFF  # the length field of a batch is an int32

HeaderFields = tuple[bytes, bytes | None]


def integer(name: str, value: Any, bits: int = 64) -> int:
    """A signed integer of that width; anything with __index__ is one, a float is not."""
    try:
        number = index(value)
    except TypeError:
        raise TypeError(f"{name} is an int, not {type(value).__name__}") from None
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise OverflowError(f"{name} {number} does not fit in {bits} bits")
    return number


def natural(name: str, value: object, bits: int = 64) -> int:
    if type(value) is int and 0 <= value <= BATCH_BYTES_LIMIT:  # most are, and this is the way of every call
        return value
    number = integer(name, value, bits)
    if number < 0:
        raise ValueError(f"{name} is {number}, less than 0")
    return number


def size_limit(name: str, value: object) -> int:
    """A limit for the size of a batch. More than a batch can ever be means: no limit but that."""
    return min(natural(name, value), BATCH_BYTES_LIMIT)


def octets(name: str, value: Any) -> bytes:
    """The bytes of anything that has some, items of several bytes included."""
    try:
        view = memoryview(value)
    except TypeError:
        raise TypeError(f"{name} is bytes-like or None, not {type(value).__name__}") from None
    return bytes(view)


def header_list(headers: Any) -> list[object]:
    try:
        pairs = iter(headers)
    except TypeError:
        raise TypeError(f"headers are (key, value) pairs, not {type(headers).__name__}") from None
    return list(pairs)


def header_pair(pair: object) -> HeaderFields:
    if not isinstance(pair, (tuple, list)):
        raise TypeError(f"a header is a (key, value) pair, not {type(pair).__name__}")
    if len(pair) != 2:
        raise TypeError(f"a header is a (key, value) pair, not {len(pair)} of something")
    key, value = pair
    return _header_key(key), None if value is None else octets("a header value", value)


def _header_key(key: Any) -> bytes:
    if key is None:
        raise ValueError("a header key is null")
    if isinstance(key, str):
        return key.encode("utf-8", "surrogateescape")
    try:
        return bytes(memoryview(key))
    except TypeError:
        raise TypeError(f"a header key is a str or bytes-like, not {type(key).__name__}") from None


def batch_too_large(size: int) -> errors.MessageTooLarge:
    return errors.MessageTooLarge(f"a batch of {size} bytes is larger than its length field can say")
