"""The consumer protocol embedded in the classic one: what classic members tell about themselves."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from odradek.coordinator.group.classic.member import Protocols
from odradek.coordinator.group.consumer.member import Assigned, Target
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)

if TYPE_CHECKING:
    from odradek.coordinator.group.topics import GroupTopics

_VERSION_MAX = 3


def version_of(metadata: bytes) -> int:
    """A reader takes what it knows of a newer version."""
    version = int.from_bytes(metadata[:2], "big", signed=True) if len(metadata) >= 2 else -1
    if version < 0:
        raise PeerProtocolError("the version of the consumer protocol is missing", 0)
    return min(version, _VERSION_MAX)


def subscription_of(protocols: Protocols) -> ConsumerProtocolSubscription:
    """What a member says to the protocol that it likes best: to all of them it says the same."""
    metadata = protocols[0][1]
    return ConsumerProtocolSubscription.decode(metadata, version_of(metadata), at=2)


def owned_of(subscription: ConsumerProtocolSubscription, topics: "GroupTopics") -> Target:
    owned: dict[bytes, frozenset[int]] = {}
    for each in subscription.owned_partitions:
        topic = topics.by_name(each.topic)
        if topic is not None:
            owned[topic.id] = owned.get(topic.id, frozenset()) | frozenset(each.partitions)
    return owned


def assignment_of(assignment: bytes) -> ConsumerProtocolAssignment:
    """What the leader has told a member; one that has not synced was told nothing."""
    if not assignment:
        return ConsumerProtocolAssignment()
    return ConsumerProtocolAssignment.decode(assignment, version_of(assignment), at=2)


def assigned_of(assignment: ConsumerProtocolAssignment, topics: "GroupTopics") -> dict[bytes, frozenset[int]]:
    """The partitions of topics that there are."""
    assigned: dict[bytes, frozenset[int]] = {}
    for each in assignment.assigned_partitions:
        topic = topics.by_name(each.topic)
        if topic is not None:
            there = frozenset(partition for partition in each.partitions if partition in topic.partitions)
            assigned[topic.id] = assigned.get(topic.id, frozenset()) | there
    return assigned


def assignment_bytes(assigned: Assigned | Target, protocols: Protocols, topics: "GroupTopics") -> bytes:
    """In the version that the member speaks."""
    version = version_of(protocols[0][1])
    names: Mapping[str, list[int]] = {
        topic.name: sorted(partitions)
        for topic_id, partitions in assigned.items()
        if partitions and (topic := topics.by_id(topic_id)) is not None
    }
    told = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignmentTopicPartition(topic=name, partitions=names[name]) for name in sorted(names)
        ],
        user_data=None,
    )
    return version.to_bytes(2, "big") + told.to_bytes(version)
