"""The assignors of the server, by name: from what members subscribe to and have, to what each shall have."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from odradek.coordinator.group.consumer.member import Target


class Subscriber(NamedTuple):
    """A member as an assignor sees it: `has` is the target it was given before."""

    member_id: str
    instance_id: str | None
    topics: frozenset[bytes]
    has: Target


Assignment = dict[str, dict[bytes, frozenset[int]]]
Assignor = Callable[[Sequence[Subscriber], Mapping[bytes, int]], Assignment]  # takes the partitions of each topic

NAMES = ("uniform", "range")


def assignor(name: str) -> Assignor:
    if name == "range":
        from odradek.coordinator.group.consumer.range_assignor import assign
    else:
        from odradek.coordinator.group.consumer.uniform_assignor import assign
    return assign
