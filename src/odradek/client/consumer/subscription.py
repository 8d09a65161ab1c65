"""What members of a classic group say to their leader, and it to them: two bytes of version, then the message."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from odradek.client.consumer.ownership import NOTHING, Partitions
from odradek.protocol.declare import Data
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)
from odradek.protocol.messages.consumer_protocol import TopicPartition as OwnedPartitions
from odradek.protocol.topic_partition import TopicPartition

VERSION = 3  # the latest of both
_ASSIGNMENT_VERSION = 1  # its fields are the same in all; the lowest that cooperative members expect

D = TypeVar("D", bound=Data)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    return topics


def encode_subscription(
    topics: Iterable[str],
    user_data: bytes | None = None,
    owned: Partitions = NOTHING,
    generation: int = -1,
    rack_id: str | None = None,
) -> bytes:
    message = ConsumerProtocolSubscription(
        topics=sorted(topics),
        user_data=user_data,
        owned_partitions=[OwnedPartitions(topic=t, partitions=p) for t, p in by_topic(owned).items()],
        generation_id=generation,
        rack_id=rack_id,
    )
    return VERSION.to_bytes(2, "big") + message.to_bytes(VERSION)


def decode_subscription(data: bytes) -> ConsumerProtocolSubscription:
    return _decode(ConsumerProtocolSubscription, data)


def owned_in(subscription: ConsumerProtocolSubscription) -> list[TopicPartition]:
    return [
        TopicPartition(owned.topic, number) for owned in subscription.owned_partitions for number in owned.partitions
    ]


def encode_assignment(partitions: Iterable[TopicPartition], user_data: bytes | None = None) -> bytes:
    assigned = [
        ConsumerProtocolAssignmentTopicPartition(topic=topic, partitions=numbers)
        for topic, numbers in _in_order(partitions).items()
    ]
    message = ConsumerProtocolAssignment(assigned_partitions=assigned, user_data=user_data)
    return _ASSIGNMENT_VERSION.to_bytes(2, "big") + message.to_bytes(_ASSIGNMENT_VERSION)


def _in_order(partitions: Iterable[TopicPartition]) -> Mapping[str, list[int]]:
    """Returns partitions by topic, in the order in which the assignor dealt them out."""
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return topics


def decode_assignment(data: bytes) -> Partitions:
    """A member that its leader has forgotten is assigned no bytes at all."""
    if not data:
        return NOTHING
    message = _decode(ConsumerProtocolAssignment, data)
    return frozenset(
        TopicPartition(each.topic, number) for each in message.assigned_partitions for number in each.partitions
    )


def _decode(kind: type[D], data: bytes) -> D:
    """A newer version than ours begins with what we know."""
    version = int.from_bytes(data[:2], "big", signed=True) if len(data) >= 2 else -1
    if version < 0:
        raise PeerProtocolError(f"{kind.__name__} without a version", 0)
    return kind.decode(data, min(version, VERSION), 2)
