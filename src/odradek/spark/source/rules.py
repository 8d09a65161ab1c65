"""Where a query begins or ends, as its options say it: not offsets yet, but how to find them."""

from collections.abc import Mapping
from dataclasses import dataclass

from odradek.protocol.topic_partition import TopicPartition

EARLIEST_OFFSET, LATEST_OFFSET = -2, -1  # in the place of an offset


@dataclass(frozen=True)
class AtEdge:
    """At the beginning or the end of every partition."""

    offset: int


@dataclass(frozen=True)
class AtOffsets:
    """At these offsets; -2 and -1 stand for the beginning and the end. They have to name every partition."""

    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True)
class AtTime:
    """At the first record at or after a time; without one at the end, or not at all."""

    timestamp_ms: int
    may_be_end: bool


@dataclass(frozen=True)
class AtTimes:
    timestamps_ms: Mapping[TopicPartition, int]
    may_be_end: bool


@dataclass(frozen=True)
class Before:
    """So long before the moment at which it is resolved; at the end where no record is that young."""

    milliseconds: int


OffsetRule = AtEdge | AtOffsets | AtTime | AtTimes | Before
EARLIEST, LATEST = AtEdge(EARLIEST_OFFSET), AtEdge(LATEST_OFFSET)


def is_moving(rule: OffsetRule) -> bool:
    """Whether it may put a partition elsewhere when it is resolved again."""
    match rule:
        case AtEdge():
            return rule == LATEST
        case AtOffsets():
            return LATEST_OFFSET in rule.offsets.values()
        case AtTime() | AtTimes():
            return rule.may_be_end
        case Before():
            return True
