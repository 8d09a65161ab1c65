"""The tuples that kafka-python's calls take and give."""

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple, overload

from odradek.client.offsets import OffsetAndMetadata, OffsetAndTimestamp
from odradek.protocol.topic_partition import TopicPartition

__all__ = [
    "BrokerMetadata",
    "ConsumerGroupMetadata",
    "MemberState",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "RecordMetadata",
    "TopicPartition",
]


class MemberState(Enum):
    UNJOINED = "unjoined"
    REBALANCING = "rebalancing"
    STABLE = "stable"


class ConsumerGroupMetadata(NamedTuple):
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    state: MemberState = MemberState.UNJOINED


class BrokerMetadata(NamedTuple):
    nodeId: int  # noqa: N815 - their name
    host: str
    port: int
    rack: str | None


class RecordMetadata(NamedTuple):
    """`checksum` is always None: records have had none of their own since magic 2."""

    topic: str
    partition: int
    topic_partition: TopicPartition
    offset: int
    timestamp: int
    checksum: int | None
    serialized_key_size: int
    serialized_value_size: int
    serialized_header_size: int


# Pairs of a topic and a number, with an offset or with a tuple that begins with one. Any: of whatever classes.
Offsets = Mapping[Any, Any]


@overload
def offsets_of(given: None) -> None: ...


@overload
def offsets_of(given: Offsets) -> dict[TopicPartition, OffsetAndMetadata]: ...


def offsets_of(given: Offsets | None) -> dict[TopicPartition, OffsetAndMetadata] | None:
    """Offsets by partition as our clients take them, whatever tuples they came in."""
    if given is None:
        return None
    return {TopicPartition(*place): _offset_of(value) for place, value in given.items()}


def _offset_of(value: Any) -> OffsetAndMetadata:  # Any: as above
    if isinstance(value, int):
        return OffsetAndMetadata(value)
    offset, metadata, *epoch = value
    return OffsetAndMetadata(offset, metadata or "", epoch[0] if epoch and epoch[0] is not None else -1)
