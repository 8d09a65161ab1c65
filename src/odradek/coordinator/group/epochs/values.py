"""The values of records, which are of the kind that their key names: the codec sees to that when it decodes them."""

from typing import TypeVar

from odradek.broken_rule import instance
from odradek.protocol.declare import Message

V = TypeVar("V", bound=Message)

_RULE = "a key is followed by a value of its kind"


def required(value: Message | None, kind: type[V]) -> V:
    """The value of a record that never is a tombstone here: that one ends the whole group, and is looked at before."""
    return instance(value, kind, _RULE)


def optional(value: Message | None, kind: type[V]) -> V | None:
    """None for a tombstone."""
    return None if value is None else instance(value, kind, _RULE)
