"""Offsets as clients give and get them."""

from collections.abc import Mapping
from typing import NamedTuple

from odradek.protocol.topic_partition import TopicPartition


class OffsetAndMetadata(NamedTuple):
    """What a group commits: the offset to go on at, a text of its own, and the epoch of the last record's leader."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1


class OffsetAndTimestamp(NamedTuple):
    """The first record at or after some time: where it stands, and its own time in milliseconds."""

    offset: int
    timestamp: int
    leader_epoch: int = -1


Offsets = Mapping[TopicPartition, int | OffsetAndMetadata]
"""What is to be committed: an offset alone says the same as one with an empty text."""


def with_metadata(offset: int | OffsetAndMetadata) -> OffsetAndMetadata:
    """What a program gave. A broker would take an offset that no log has."""
    given = offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
    if given.offset < 0:
        raise ValueError(f"an offset is not negative: {given.offset}")
    return given
