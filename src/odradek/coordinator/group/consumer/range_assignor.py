"""range: each topic is cut into contiguous ranges, one for each of its members, in the order of the members.

The order is the same for all topics: members that read the same topics with the same number of partitions get the
same numbers everywhere, which is what joins of topics by key need. Static members come first, by instance id: so a
restart changes nothing. The first members get one more where the division leaves a rest.
"""

from collections.abc import Mapping, Sequence

from odradek.coordinator.group.consumer.subscriber import Assignment, Subscriber


def assign(members: Sequence[Subscriber], topics: Mapping[bytes, int]) -> Assignment:
    ordered = sorted(members, key=_order)
    assignment: Assignment = {member.member_id: {} for member in members}
    for topic_id, count in topics.items():
        readers = [member for member in ordered if topic_id in member.topics]
        if readers:
            _cut(assignment, readers, topic_id, count)
    return assignment


def _order(member: Subscriber) -> tuple[bool, str, str]:
    return (member.instance_id is None, member.instance_id or "", member.member_id)


def _cut(assignment: Assignment, readers: Sequence[Subscriber], topic_id: bytes, count: int) -> None:
    least, rest = divmod(count, len(readers))
    start = 0
    for place, member in enumerate(readers):
        end = start + least + (place < rest)
        if end > start:
            assignment[member.member_id][topic_id] = frozenset(range(start, end))
        start = end
