"""uniform: everybody gets the same number of partitions, give or take one, and keeps what it has where possible.

With one subscription for all this is exact: each member keeps up to its share, the rest fills the others up. Otherwise
it is greedy: what is free goes to whoever reads the topic and has least, then partitions move from those that have too
much, until no single move makes two members more equal.
"""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush

from odradek.coordinator.group.consumer.subscriber import Assignment, Subscriber
from odradek.protocol.topic_partition import TopicIdPartition

_ROUNDS_MAX = 20  # of moving; each round goes over all topics, and two or three are enough in practice

Held = dict[str, list[TopicIdPartition]]


def assign(members: Sequence[Subscriber], topics: Mapping[bytes, int]) -> Assignment:
    members = sorted(members, key=lambda member: member.member_id)
    if not members:
        return {}
    subscriptions = {member.topics for member in members}
    held = _kept(members, topics)
    if len(subscriptions) == 1:
        _share(held, members[0].topics, topics)
    else:
        _spread(held, members, topics)
    return {member.member_id: _by_topic(held[member.member_id]) for member in members}


def _kept(members: Sequence[Subscriber], topics: Mapping[bytes, int]) -> Held:
    """What each has and may keep: still there, still subscribed to, and with nobody before it."""
    seen: set[TopicIdPartition] = set()
    held: Held = {}
    for member in members:
        mine = held[member.member_id] = []
        for topic_id in topics:
            if topic_id not in member.topics:
                continue
            for partition in sorted(member.has.get(topic_id, ())):
                place = (topic_id, partition)
                if partition < topics[topic_id] and place not in seen:
                    seen.add(place)
                    mine.append(place)
    return held


def _free(held: Held, topic_ids: Iterable[bytes], topics: Mapping[bytes, int]) -> list[TopicIdPartition]:
    taken = {place for places in held.values() for place in places}
    return [
        (topic_id, partition)
        for topic_id in topic_ids
        for partition in range(topics[topic_id])
        if (topic_id, partition) not in taken
    ]


# One subscription for all


def _share(held: Held, subscribed: frozenset[bytes], topics: Mapping[bytes, int]) -> None:
    topic_ids = [topic_id for topic_id in topics if topic_id in subscribed]
    least, rest = divmod(sum(topics[topic_id] for topic_id in topic_ids), len(held))
    for places in held.values():
        share = least
        if rest and len(places) > least:  # who has more already is who gets one more
            share += 1
            rest -= 1
        del places[share:]
    free = iter(_free(held, topic_ids, topics))
    unfilled = [places for places in held.values() if len(places) <= least]
    for number, places in enumerate(unfilled):
        share = least + (number >= len(unfilled) - rest)  # as with Kafka, the last ones get one more
        places.extend(next(free) for _ in range(share - len(places)))


# Several subscriptions


def _spread(held: Held, members: Sequence[Subscriber], topics: Mapping[bytes, int]) -> None:
    readers = {topic_id: [member.member_id for member in members if topic_id in member.topics] for topic_id in topics}
    # topics with the fewest readers first: the others can still make up for it
    topic_ids = sorted((t for t in topics if readers[t]), key=lambda topic_id: len(readers[topic_id]))
    free: dict[bytes, list[TopicIdPartition]] = {}
    for place in _free(held, topic_ids, topics):
        free.setdefault(place[0], []).append(place)
    for topic_id, places in free.items():
        _give(held, readers[topic_id], places)
    for _ in range(_ROUNDS_MAX):
        moved = [topic_id for topic_id in topic_ids if _level(held, readers[topic_id], topic_id)]
        if not moved:
            return


def _give(held: Held, readers: Sequence[str], places: Sequence[TopicIdPartition]) -> None:
    heap = [(len(held[reader]), reader) for reader in readers]
    heapify(heap)
    for place in places:
        count, reader = heappop(heap)
        held[reader].append(place)
        heappush(heap, (count + 1, reader))


def _level(held: Held, readers: Sequence[str], topic_id: bytes) -> bool:
    """Moves partitions of a topic from readers that have much to readers that have little; whether it moved any."""
    mine = {reader: [place for place in held[reader] if place[0] == topic_id] for reader in readers}
    givers = sorted((r for r in readers if mine[r]), key=lambda r: -len(held[r]))
    takers = [(len(held[reader]), reader) for reader in readers]
    heapify(takers)
    has_moved = False
    for giver in givers:
        while mine[giver]:
            count, taker = takers[0]
            if count != len(held[taker]):  # it has given something away since
                heappop(takers)
                heappush(takers, (len(held[taker]), taker))
                continue
            if len(held[giver]) - count < 2:
                break
            place = mine[giver].pop()
            held[giver].remove(place)
            held[taker].append(place)
            heappop(takers)
            heappush(takers, (count + 1, taker))
            has_moved = True
    return has_moved


def _by_topic(places: Iterable[TopicIdPartition]) -> dict[bytes, frozenset[int]]:
    topics: dict[bytes, set[int]] = {}
    for topic_id, partition in places:
        topics.setdefault(topic_id, set()).add(partition)
    return {topic_id: frozenset(partitions) for topic_id, partitions in topics.items()}
