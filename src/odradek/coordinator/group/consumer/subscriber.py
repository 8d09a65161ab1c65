"""What an assignor of the server is asked, and what it answers."""

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
