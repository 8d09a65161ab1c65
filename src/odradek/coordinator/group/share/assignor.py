"""simple: every share-partition has a reader, every member something to read, and as equally as that goes.

If there are no more members than partitions, each partition is with one member. If there are more, each member has one,
and partitions are shared. Who has a partition keeps it as long as it is not too many of one kind.
"""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import NamedTuple

from odradek.coordinator.group.share.member import Target, places
from odradek.protocol.topic_partition import TopicIdPartition


class Subscriber(NamedTuple):
    member_id: str
    topics: frozenset[bytes]
    has: Target


def assign(members: Sequence[Subscriber], topics: Mapping[bytes, frozenset[int]]) -> dict[str, Target]:
    held: dict[str, set[TopicIdPartition]] = {member.member_id: set() for member in members}
    for subscription in sorted({member.topics for member in members}, key=sorted):
        alike = sorted(member for member in members if member.topics == subscription)
        of_topics = {topic_id: partitions for topic_id, partitions in topics.items() if topic_id in subscription}
        _deal(alike, sorted(places(of_topics)), held)
    return {member_id: _by_topic(has) for member_id, has in held.items()}


def _deal(
    members: Sequence[Subscriber], wanted: Sequence[TopicIdPartition], held: dict[str, set[TopicIdPartition]]
) -> None:
    """Among members that subscribe to the same."""
    if not wanted:
        return
    readers_max = max(1, ceil(len(members) / len(wanted)))
    least, extra = divmod(len(wanted), len(members)) if len(members) <= len(wanted) else (1, 0)
    readers = dict.fromkeys(wanted, 0)
    for member in members:
        mine = held[member.member_id]
        limit = least + (extra > 0)  # so many members may have one more than the others
        for place in sorted(places(member.has)):
            if len(mine) < limit and readers.get(place, readers_max) < readers_max:
                mine.add(place)
                readers[place] += 1
        extra -= len(mine) > least
    _fill(members, readers, held)


def _fill(
    members: Sequence[Subscriber], readers: dict[TopicIdPartition, int], held: dict[str, set[TopicIdPartition]]
) -> None:
    """First what nobody reads, to who has least; then to who has nothing, what has the fewest readers."""
    for place in sorted(place for place, count in readers.items() if not count):
        least = min(members, key=lambda member: (len(held[member.member_id]), member.member_id))
        held[least.member_id].add(place)
        readers[place] += 1
    for member in members:
        if not held[member.member_id]:
            place = min(readers, key=lambda each: (readers[each], each))
            held[member.member_id].add(place)
            readers[place] += 1


def _by_topic(has: set[TopicIdPartition]) -> Target:
    topics: dict[bytes, frozenset[int]] = {}
    for topic_id, partition in has:
        topics[topic_id] = topics.get(topic_id, frozenset()) | {partition}
    return topics
