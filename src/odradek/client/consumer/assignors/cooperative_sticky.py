"""cooperative-sticky: the same as sticky, with members that keep what they have while they join.

What moves is dealt to nobody at first: its old member sees that it no longer has it, gives it back and joins again, and
the next generation deals it out. So no two ever have it.
"""

from collections.abc import Mapping, Sequence

from odradek.client.consumer.assignors.assignor import NO_RACKS, Dealt, Racks, Subscriber
from odradek.client.consumer.assignors.sticky import DEFAULT_GENERATION, assign_sticky
from odradek.client.consumer.assignors.sticky_claims import Claim
from odradek.client.consumer.ownership import Partitions


class CooperativeStickyAssignor:
    __slots__ = ()

    name = "cooperative-sticky"
    is_cooperative = True

    def user_data(self, partitions: Partitions, generation: int) -> bytes | None:
        return generation.to_bytes(4, "big", signed=True)

    def assign(self, partitions: Mapping[str, int], members: Sequence[Subscriber], racks: Racks = NO_RACKS) -> Dealt:
        sticky = assign_sticky(partitions, members, [_claim_of(member) for member in members])
        return {
            member: [place for place in places if place not in sticky.moved] for member, places in sticky.dealt.items()
        }


def _claim_of(member: Subscriber) -> Claim:
    """The subscription tells the generation from version 2 on, the user data did before."""
    generation = member.generation
    if generation < 0 and member.user_data is not None and len(member.user_data) >= 4:
        generation = int.from_bytes(member.user_data[:4], "big", signed=True)
    return Claim(member.member_id, member.owned, max(generation, DEFAULT_GENERATION))
