"""The sticky assignment where members read different topics: greedy, and then moved about until nothing gets better.

What nobody has goes to the member with the fewest that reads the topic; topics that few read come first. Then
partitions move to members with at least two fewer, as long as one can. A partition that would go back the way that
another of its topic came stays, and that one goes back instead: what counts is who ends up with what was its own. If
all the moving has not made it more even, it is undone.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Mapping, Sequence

from odradek.client.consumer.assignors.assignor import Dealt, Subscriber
from odradek.client.consumer.assignors.sticky_claims import Claim, exists
from odradek.protocol.topic_partition import TopicPartition

Pair = tuple[str, str]  # from a member to a member


def assign_general(partitions: Mapping[str, int], members: Sequence[Subscriber], claims: Sequence[Claim]) -> Dealt:
    return _Table(partitions, members, claims).dealt()


class _Moves:
    """Which partitions have moved, from their first member to their last."""

    __slots__ = ("_by_topic", "_of")

    def __init__(self) -> None:
        self._of: dict[TopicPartition, Pair] = {}
        self._by_topic: dict[tuple[str, Pair], list[TopicPartition]] = {}

    def instead_of(self, place: TopicPartition, old: str, new: str) -> TopicPartition:
        """Itself, or another of its topic that has come the other way."""
        source = self._of[place][0] if place in self._of else old
        came = self._by_topic.get((place[0], (new, source)))
        return came[0] if came else place

    def note(self, place: TopicPartition, old: str, new: str) -> None:
        before = self._of.pop(place, None)
        if before is not None:
            self._by_topic[place[0], before].remove(place)
            old = before[0]
        if old != new:
            self._of[place] = (old, new)
            insort(self._by_topic.setdefault((place[0], (old, new)), []), place)


class _Table:
    __slots__ = ("_by_size", "_counts", "_has", "_moves", "_owner", "_previous", "_readers", "_topics")

    def __init__(self, partitions: Mapping[str, int], members: Sequence[Subscriber], claims: Sequence[Claim]) -> None:
        self._counts = partitions
        self._topics = {
            member.member_id: sorted(topic for topic in set(member.topics) if topic in partitions) for member in members
        }
        self._readers: dict[str, list[str]] = {}
        for member, topics in self._topics.items():
            for topic in topics:
                self._readers.setdefault(topic, []).append(member)
        self._has: dict[str, list[TopicPartition]] = {member: [] for member in self._topics}
        self._owner: dict[TopicPartition, str] = {}
        self._previous: dict[TopicPartition, str] = {}  # who had it before the one who had it last
        self._moves = _Moves()
        self._by_size: list[tuple[int, str]] = []  # members that take part, the emptiest first
        self._claim(claims)

    # What is known

    def _claim(self, claims: Sequence[Claim]) -> None:
        """The latest generation has it, the one before had it; of two of the same the first is believed."""
        generations: dict[TopicPartition, dict[int, str]] = {}
        for claim in claims:
            for place in claim.partitions:
                generations.setdefault(place, {}).setdefault(claim.generation, claim.member_id)
        for place, claimants in generations.items():
            latest = sorted(claimants, reverse=True)
            self._has[claimants[latest[0]]].append(place)
            if len(latest) > 1:
                self._previous[place] = claimants[latest[1]]

    def _everything(self) -> list[TopicPartition]:
        """Topics with the fewest readers first: there is the least choice."""
        topics = sorted(self._readers, key=lambda topic: (len(self._readers[topic]), topic))
        return [TopicPartition(topic, number) for topic in topics for number in range(self._counts[topic])]

    def _keep_valid(self) -> bool:
        """Takes over what was claimed; whether somebody has to give up something that it does not read any more."""
        has_revoked = False
        for member, places in self._has.items():
            kept = [place for place in places if exists(place, self._counts)]
            mine = [place for place in kept if place[0] in self._topics[member]]
            has_revoked = has_revoked or any(
                place[0] in self._readers for place in kept if place[0] not in self._topics[member]
            )
            self._has[member] = mine
            self._owner.update(dict.fromkeys(mine, member))
        return has_revoked

    # Dealing

    def dealt(self) -> Dealt:
        has_revoked = self._keep_valid()
        everything = self._everything()
        unassigned = [place for place in everything if place not in self._owner]
        self._by_size = sorted((len(places), member) for member, places in self._has.items())
        is_first = not self._by_size[-1][0]
        for place in unassigned:
            self._give(place, self._emptiest_reader(place[0]))
        self._balance(everything, unassigned, is_first=is_first, has_revoked=has_revoked)
        return self._has

    def _emptiest_reader(self, topic: str) -> str:
        return next(member for _, member in self._by_size if topic in self._topics[member])

    def _give(self, place: TopicPartition, member: str) -> None:
        self._resize(member, lambda places: places.append(place))
        self._owner[place] = member

    def _resize(self, member: str, change: Callable[[list[TopicPartition]], None]) -> None:
        places = self._has[member]
        del self._by_size[bisect_left(self._by_size, (len(places), member))]
        change(places)
        insort(self._by_size, (len(places), member))

    # Balancing

    def _balance(
        self, everything: list[TopicPartition], unassigned: list[TopicPartition], *, is_first: bool, has_revoked: bool
    ) -> None:
        movable = [place for place in everything if self._is_shared(place[0])]
        new = [place for place in unassigned if self._is_shared(place[0])]
        self._by_size = [entry for entry in self._by_size if self._takes_part(entry[1])]
        taking_part = [member for _, member in self._by_size]
        before = {member: list(self._has[member]) for member in taking_part}
        score = self._score(before)
        if not has_revoked and new:
            self._move(new)
        if self._move(movable) and not is_first and self._score(self._has, taking_part) >= score:
            self._has.update(before)

    def _is_shared(self, topic: str) -> bool:
        return len(self._readers[topic]) > 1

    def _takes_part(self, member: str) -> bool:
        """Whether it could have more, or has something that another could have."""
        has_all = len(self._has[member]) >= self._most(member)
        return not has_all or any(self._is_shared(place[0]) for place in self._has[member])

    def _most(self, member: str) -> int:
        return sum(self._counts[topic] for topic in self._topics[member])

    @staticmethod
    def _score(has: Mapping[str, list[TopicPartition]], members: Sequence[str] | None = None) -> int:
        """0 is even: the differences of all pairs."""
        sizes = sorted(len(has[member]) for member in (has if members is None else members))
        return sum(size * (2 * place - len(sizes) + 1) for place, size in enumerate(sizes))

    def _move(self, places: Sequence[TopicPartition]) -> bool:
        """Until nothing changes any more; whether anything has."""
        has_moved = False
        while self._move_once(places):
            has_moved = True
        return has_moved

    def _move_once(self, places: Sequence[TopicPartition]) -> bool:
        has_moved = False
        for place in places:
            if self._is_balanced():
                break
            taker = self._taker(place)
            if taker is not None:
                has_moved = True
                self._move_to(self._moves.instead_of(place, self._owner[place], taker), taker)
        return has_moved

    def _taker(self, place: TopicPartition) -> str | None:
        size = len(self._has[self._owner[place]])
        previous = self._previous.get(place)
        if previous is not None and previous in self._has and size > len(self._has[previous]) + 1:
            return previous
        if any(size > len(self._has[member]) + 1 for member in self._readers[place[0]]):
            return self._emptiest_reader(place[0])
        return None

    def _move_to(self, place: TopicPartition, member: str) -> None:
        old = self._owner[place]
        self._moves.note(place, old, member)
        self._resize(old, lambda places: places.remove(place))
        self._give(place, member)

    def _is_balanced(self) -> bool:
        """Nobody could have one of somebody who has more."""
        if not self._by_size or self._by_size[0][0] >= self._by_size[-1][0] - 1:
            return True
        for size, member in self._by_size:
            if size < self._most(member) and any(
                len(self._has[self._owner[TopicPartition(topic, number)]]) > size
                for topic in self._topics[member]
                for number in range(self._counts[topic])
                if self._owner[TopicPartition(topic, number)] != member
            ):
                return False
        return True
