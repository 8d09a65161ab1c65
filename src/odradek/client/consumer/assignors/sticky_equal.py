"""The sticky assignment where all members read the same topics: quick, and never moves more than it must.

With n members and p partitions everybody gets p // n, and the rest of p % n members one more. First everybody keeps of
what it had as much as fits; then what is left goes round among those with too few, in order of their names, and
last to those that may have one more.
"""

from collections import deque
from collections.abc import Mapping, Sequence

from odradek.client.consumer.assignors.assignor import Dealt, Subscriber
from odradek.client.consumer.assignors.sticky_claims import Claim, undisputed
from odradek.protocol.java_hash import in_java_order
from odradek.protocol.topic_partition import TopicPartition


class _Quota:
    """How many members may have one more than the least, and how many have."""

    __slots__ = ("least", "left", "most")

    def __init__(self, partitions: int, members: int) -> None:
        self.least, self.left = divmod(partitions, members)
        self.most = self.least + (self.left > 0)


def assign_equal(partitions: Mapping[str, int], members: Sequence[Subscriber], claims: Sequence[Claim]) -> Dealt:
    topics = sorted(set(members[0].topics) & set(partitions))
    counts = {topic: partitions[topic] for topic in topics}
    quota = _Quota(sum(counts.values()), len(members))
    dealt: Dealt = {member.member_id: [] for member in members}
    had = undisputed(claims, counts)
    for member in in_java_order(dealt):
        dealt[member] += _kept(sorted(had[member], key=_low_numbers_first), quota)
    taken = {place for places in dealt.values() for place in places}
    everything = (TopicPartition(topic, number) for topic in topics for number in range(counts[topic]))
    _deal(dealt, [place for place in everything if place not in taken], quota)
    return dealt


def _low_numbers_first(place: TopicPartition) -> tuple[int, str]:
    """Who has to give up some keeps the same numbers of all its topics."""
    return place[1], place[0]


def _kept(had: list[TopicPartition], quota: _Quota) -> list[TopicPartition]:
    if len(had) < quota.least:
        return had
    if quota.left and len(had) >= quota.most:
        quota.left -= 1
        return had[: quota.most]
    return had[: quota.least]


def _deal(dealt: Dealt, unassigned: Sequence[TopicPartition], quota: _Quota) -> None:
    too_few = deque(sorted(member for member, places in dealt.items() if len(places) < quota.least))
    enough = deque(sorted(member for member, places in dealt.items() if len(places) == quota.least))
    for place in unassigned:
        member = too_few.popleft() if too_few else enough.popleft()
        dealt[member].append(place)
        if len(dealt[member]) < quota.least:
            too_few.append(member)
        elif len(dealt[member]) == quota.least:
            enough.append(member)
