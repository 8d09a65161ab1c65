"""What client cores have in common beside their shape, which is `channel/core.py`'s."""

from collections.abc import Mapping

from odradek.channel.backoff import Backoff
from odradek.channel.core import ANY, ANY_BROKER, COORDINATOR, LEADER, Core, Destination, Send, coordinator, leader

__all__ = [
    "ANY",
    "ANY_BROKER",
    "COORDINATOR",
    "GROUP",
    "LEADER",
    "SHARE",
    "TRANSACTION",
    "Backoff",
    "Core",
    "Destination",
    "Send",
    "Versions",
    "coordinator",
    "leader",
]

GROUP, TRANSACTION, SHARE = 0, 1, 2  # the key types of FindCoordinator

Versions = Mapping[int, int]
"""By API key, the version to speak: the highest that the client and the brokers know."""
