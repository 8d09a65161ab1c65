"""range: each topic is cut into contiguous ranges, one per member, so that topics of one size are cut alike.

Where it is known in which racks the replicas of a partition are, a partition goes first to a member in one of them
(KIP-881), as far as each member's share allows; what is left over is then cut into ranges. Topics of one size with the
same readers are matched together, partition by partition: they may be joined, so that they must stay alike.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, islice

from odradek.client.consumer.assignors.assignor import NO_RACKS, Dealt, Racks, Subscriber, static_first
from odradek.client.consumer.ownership import Partitions
from odradek.protocol.topic_partition import TopicPartition


class RangeAssignor:
    __slots__ = ()

    name = "range"
    is_cooperative = False

    def user_data(self, partitions: Partitions, generation: int) -> bytes | None:
        return None

    def assign(self, partitions: Mapping[str, int], members: Sequence[Subscriber], racks: Racks = NO_RACKS) -> Dealt:
        ordered = sorted(members, key=static_first)
        cuts = [_Cut(topic, count, ordered, racks) for topic, count in sorted(partitions.items())]
        cuts = [cut for cut in cuts if cut.readers]
        if any(cut.racks_matter for cut in cuts):
            for alike in _alike(cuts):
                _match_racks(alike)
        dealt: Dealt = {member.member_id: [] for member in members}
        for cut in cuts:
            cut.deal_the_rest()
            for member, numbers in cut.shares.items():
                dealt[member] += [TopicPartition(cut.topic, number) for number in sorted(numbers)]
        return dealt


class _Cut:
    """One topic: who gets which of its partitions, and how many more each may get."""

    __slots__ = ("_least", "_one_more", "_racks", "count", "left", "racks_matter", "readers", "shares", "topic")

    def __init__(self, topic: str, count: int, members: Iterable[Subscriber], racks: Racks) -> None:
        self.topic = topic
        self.count = count
        self.readers = [member for member in members if topic in member.topics]
        self.shares: dict[str, list[int]] = {member.member_id: [] for member in self.readers}
        self.left = dict.fromkeys(range(count))
        self._racks = [racks.get(TopicPartition(topic, number), frozenset()) for number in self.left]
        self._least, self._one_more = divmod(count, len(self.readers) or 1)
        self.racks_matter = self._do_racks_matter()

    def _do_racks_matter(self) -> bool:
        """Not if every partition is in the same racks, or no reader is in any of them."""
        everywhere = frozenset[str]().union(*self._racks)
        of_readers = {member.rack_id for member in self.readers}
        return bool(everywhere & of_readers) and any(racks != everywhere for racks in self._racks)

    def is_near(self, member: Subscriber, number: int) -> bool:
        return member.rack_id is None or member.rack_id in self._racks[number]

    def room(self, member: Subscriber) -> int:
        return max(0, self._least + (self._one_more > 0) - len(self.shares[member.member_id]))

    def give(self, member: Subscriber, numbers: Sequence[int]) -> None:
        share = self.shares[member.member_id]
        share += numbers
        self._one_more -= len(share) > self._least
        for number in numbers:
            del self.left[number]

    def deal_the_rest(self) -> None:
        for member in self.readers:
            if numbers := list(islice(self.left, self.room(member))):
                self.give(member, numbers)


def _alike(cuts: Iterable[_Cut]) -> list[list[_Cut]]:
    """Those of one size with the same readers together; topics that are alone only where racks matter."""

    def likeness(cut: _Cut) -> tuple[int, list[str]]:
        return cut.count, list(cut.shares)

    together = [list(group) for _, group in groupby(sorted(cuts, key=likeness), key=likeness)]
    return [group for group in together if len(group) > 1 or group[0].racks_matter]


def _match_racks(alike: Sequence[_Cut]) -> None:
    """Each partition to the first member that is near it in all these topics, and has room for it in all."""
    first = alike[0]
    for number in range(first.count):
        for member in first.readers:
            if all(cut.room(member) and cut.is_near(member, number) for cut in alike):
                for cut in alike:
                    cut.give(member, [number])
                break
