"""What members say they have had, and who is right where two say the same."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from odradek.protocol.topic_partition import TopicPartition


class Claim(NamedTuple):
    member_id: str
    partitions: tuple[TopicPartition, ...]
    generation: int


def exists(place: TopicPartition, partitions: Mapping[str, int]) -> bool:
    return 0 <= place[1] < partitions.get(place[0], 0)


def undisputed(claims: Sequence[Claim], partitions: Mapping[str, int]) -> dict[str, list[TopicPartition]]:
    """By member, what it has had for certain: the latest generation is right; two of the same one are both wrong."""
    owner: dict[TopicPartition, Claim] = {}
    disputed = set()
    for claim in claims:
        for place in claim.partitions:
            other = owner.get(place)
            if other is None or claim.generation > other.generation:
                owner[place] = claim
            elif claim.generation == other.generation:
                disputed.add(place)
    return {
        claim.member_id: [
            place
            for place in claim.partitions
            if owner[place] is claim and place not in disputed and exists(place, partitions)
        ]
        for claim in claims
    }
