"""sticky: as even as it can be, and within that as few partitions as possible change their member.

A sticky member tells its last assignment and the generation of it in its user data, in the two layouts that Java's
assignor has had: topics with their partitions, then (later) the generation.
"""

from collections.abc import Mapping, Sequence

from odradek.client.consumer.assignors.assignor import NO_RACKS, Dealt, Racks, Subscriber
from odradek.client.consumer.assignors.sticky_claims import Claim
from odradek.client.consumer.assignors.sticky_equal import assign_equal
from odradek.client.consumer.assignors.sticky_general import assign_general
from odradek.client.consumer.ownership import Partitions
from odradek.client.consumer.subscription import by_topic
from odradek.protocol.declare import Data, Struct, array, int32, string
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.topic_partition import TopicPartition

DEFAULT_GENERATION = -1


class TopicAssignment(Struct):
    topic = string()
    partitions = array(int32())


class StickyUserData(Data, versions="0-1"):
    previous_assignment = array(TopicAssignment)
    generation = int32("1+", default=DEFAULT_GENERATION)


class StickyAssignor:
    __slots__ = ()

    name = "sticky"
    is_cooperative = False

    def user_data(self, partitions: Partitions, generation: int) -> bytes | None:
        if generation < 0:
            return None
        topics = [TopicAssignment(topic=topic, partitions=numbers) for topic, numbers in by_topic(partitions).items()]
        return StickyUserData(previous_assignment=topics, generation=generation).to_bytes(1)

    def assign(self, partitions: Mapping[str, int], members: Sequence[Subscriber], racks: Racks = NO_RACKS) -> Dealt:
        return assign_sticky(partitions, members, [claim_of(member) for member in members]).dealt


class Sticky:
    """`moved`: those that had a member which is still there, and were dealt to another."""

    __slots__ = ("dealt", "moved")

    def __init__(self, dealt: Dealt, moved: set[TopicPartition]) -> None:
        self.dealt = dealt
        self.moved = moved


def assign_sticky(partitions: Mapping[str, int], members: Sequence[Subscriber], claims: Sequence[Claim]) -> Sticky:
    ordered = sorted(members, key=lambda member: member.member_id)
    by_member = {claim.member_id: claim for claim in claims}
    sorted_claims = [by_member[member.member_id] for member in ordered]
    is_equal = len({frozenset(member.topics) for member in members}) == 1
    dealt = (assign_equal if is_equal else assign_general)(partitions, ordered, sorted_claims)
    owner = {place: member for member, places in dealt.items() for place in places}
    moved = {
        place for claim in claims for place in claim.partitions if owner.get(place, claim.member_id) != claim.member_id
    }
    return Sticky(dealt, moved)


def claim_of(member: Subscriber) -> Claim:
    """What it had, as it tells in its user data. What cannot be read claims nothing."""
    if not member.user_data:
        return Claim(member.member_id, (), DEFAULT_GENERATION)
    told = _decoded(member.user_data)
    if told is None:
        return Claim(member.member_id, (), DEFAULT_GENERATION)
    places = tuple(
        TopicPartition(each.topic, number) for each in told.previous_assignment for number in each.partitions
    )
    return Claim(member.member_id, places, told.generation)


def _decoded(data: bytes) -> StickyUserData | None:
    for version in (1, 0):
        try:
            return StickyUserData.decode(data, version)
        except PeerProtocolError:
            continue
    return None
