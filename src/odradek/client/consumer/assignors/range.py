"""range: each topic is cut into contiguous ranges, one per member, so that topics of one size are cut alike."""

from collections.abc import Mapping, Sequence

from odradek.client.consumer.assignors import Dealt, Subscriber, static_first
from odradek.client.consumer.task import Partitions


class RangeAssignor:
    __slots__ = ()

    name = "range"
    is_cooperative = False

    def user_data(self, partitions: Partitions, generation: int) -> bytes | None:
        return None

    def assign(self, partitions: Mapping[str, int], members: Sequence[Subscriber]) -> Dealt:
        dealt: Dealt = {member.member_id: [] for member in members}
        ordered = sorted(members, key=static_first)
        for topic in sorted(partitions):
            readers = [member.member_id for member in ordered if topic in member.topics]
            if readers:
                _cut(dealt, readers, topic, partitions[topic])
        return dealt


def _cut(dealt: Dealt, readers: Sequence[str], topic: str, count: int) -> None:
    least, rest = divmod(count, len(readers))
    start = 0
    for place, member in enumerate(readers):
        end = start + least + (place < rest)
        dealt[member] += [(topic, partition) for partition in range(start, end)]
        start = end
