"""What a program says of records, and how that stands in a request.

    ACCEPT    it is processed: nobody gets it again
    RELEASE   it is not: somebody gets it again, as long as its deliveries are not too many
    REJECT    it cannot be processed: nobody gets it again
    RENEW     it is still being processed: its acquisition lock begins anew

The client itself says GAP of an offset that was acquired and has no record: a transaction's marker, or what compaction
has taken away.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicIdPartition, TopicPartition


class AcknowledgeType(IntEnum):
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
GAP = 0


class AcknowledgedRange(NamedTuple):
    """Offsets that follow each other; one type for all of them, or one for each."""

    first_offset: int
    last_offset: int
    types: list[int]


class Source(NamedTuple):
    """Where records came from, which is where they are acknowledged."""

    node_id: int
    topic_id: bytes
    place: TopicPartition

    @property
    def topic_id_partition(self) -> TopicIdPartition:
        return self.topic_id, self.place.partition


class Acknowledged:
    """What is said of some records of one partition, until its outcome is known. It is tried again until
    `retry_until_ms` if it fails by something that passes.
    """

    __slots__ = ("error", "is_done", "retry_until_ms", "source", "types")

    def __init__(self, source: Source, types: dict[int, int]) -> None:
        self.source = source
        self.types = types  # by offset
        self.retry_until_ms = 0
        self.is_done = False
        self.error: KafkaError | None = None

    def __repr__(self) -> str:
        return f"Acknowledged({self.source.place} of node {self.source.node_id}, {self.types})"

    @property
    def offsets(self) -> set[int]:
        """Of what the program knows of: not of gaps."""
        return {offset for offset, kind in self.types.items() if kind != GAP}

    @property
    def has_renewals(self) -> bool:
        return RENEW in self.types.values()

    def done(self, error: KafkaError | None) -> None:
        self.error = error
        self.is_done = True


def ranges(types: dict[int, int]) -> list[AcknowledgedRange]:
    """As a request has them: in order, what follows each other together."""
    found: list[AcknowledgedRange] = []
    for offset in sorted(types):
        if found and found[-1].last_offset == offset - 1:
            found[-1] = found[-1]._replace(last_offset=offset)
        else:
            found.append(AcknowledgedRange(offset, offset, []))
        found[-1].types.append(types[offset])
    return [each._replace(types=_shortened(each.types)) for each in found]


def _shortened(types: list[int]) -> list[int]:
    return types[:1] if len(set(types)) == 1 else types


def by_source(said: Iterable[tuple[Source, int, int]]) -> list[Acknowledged]:
    """Of sources, offsets and types, what is said of each partition."""
    found: dict[Source, dict[int, int]] = {}
    for source, offset, kind in said:
        found.setdefault(source, {})[offset] = kind
    return [Acknowledged(source, types) for source, types in found.items()]
