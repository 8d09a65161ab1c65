"""The assignors by the names that members of a classic group agree upon, which are Kafka's own."""

from odradek.client.consumer.assignors.assignor import Assignor
from odradek.client.consumer.assignors.cooperative_sticky import CooperativeStickyAssignor
from odradek.client.consumer.assignors.range import RangeAssignor
from odradek.client.consumer.assignors.round_robin import RoundRobinAssignor
from odradek.client.consumer.assignors.sticky import StickyAssignor


def by_name(name: str) -> Assignor:
    """ValueError for one that nobody knows."""
    for assignor in (RangeAssignor(), RoundRobinAssignor(), StickyAssignor(), CooperativeStickyAssignor()):
        if assignor.name == name:
            return assignor
    raise ValueError(f"there is no assignor {name!r}")
