"""What the members of a group read, as far as the coordinator can tell.

The metadata of a classic member is its own affair; that of the protocol type "consumer" begins with a version and the
list of topics, which is needed to say whose offsets may go.
"""

from odradek.coordinator.group.classic.classic_group import ClassicGroup
from odradek.coordinator.group.classic.states import CONSUMER
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.messages.consumer_protocol import ConsumerProtocolSubscription

_VERSION_MAX = 3


def subscribed_topics(group: ClassicGroup) -> frozenset[str] | None:
    """None if it cannot be told: then every topic has to be taken for one of them."""
    if group.protocol_type != CONSUMER:
        return None
    if not group.members:
        return frozenset()
    if group.protocol is None:
        return None
    topics: set[str] = set()
    try:
        for member in group.members.values():
            topics.update(_topics(member.metadata(group.protocol)))
    except PeerProtocolError:
        return None
    return frozenset(topics)


def _topics(metadata: bytes) -> list[str]:
    """A reader takes what it knows of a newer version."""
    if len(metadata) < 2:
        raise PeerProtocolError("a subscription begins with two bytes of version", 0)
    version = int.from_bytes(metadata[:2], "big", signed=True)
    if version < 0:
        raise PeerProtocolError(f"a subscription has version {version}", 0)
    return ConsumerProtocolSubscription.decode(metadata, min(version, _VERSION_MAX), at=2).topics
