"""The leader of a classic group deals out the partitions: from what the members said to what each is told."""

from collections.abc import Mapping, Sequence

from odradek.client.consumer.assignors.assignor import NO_RACKS, Assignor, Racks, Subscriber
from odradek.client.consumer.subscription import decode_subscription, encode_assignment, owned_in
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.messages.k11_join_group import JoinGroupResponseMember


class LeaderAssignment:
    """What was dealt out, and what it was based upon: with other partitions it would have been another."""

    __slots__ = ("_partitions", "assignments", "topics")

    def __init__(self, assignments: dict[str, bytes], topics: frozenset[str], partitions: Mapping[str, int]) -> None:
        self.assignments = assignments
        self.topics = topics
        self._partitions = self._of_topics(partitions)

    def differs_from(self, partitions: Mapping[str, int]) -> bool:
        return self._of_topics(partitions) != self._partitions

    def _of_topics(self, partitions: Mapping[str, int]) -> dict[str, int]:
        return {topic: count for topic, count in partitions.items() if topic in self.topics}


def assign_as_leader(
    assignor: Assignor,
    members: Sequence[JoinGroupResponseMember],
    partitions: Mapping[str, int],
    racks: Racks = NO_RACKS,
) -> LeaderAssignment:
    subscribers = [found for member in members if (found := _subscriber(member)) is not None]
    topics = frozenset(topic for subscriber in subscribers for topic in subscriber.topics)
    known = {topic: count for topic, count in partitions.items() if topic in topics}
    dealt = assignor.assign(known, subscribers, racks)
    assignments = {member: encode_assignment(dealt[member]) for member in sorted(dealt)}
    return LeaderAssignment(assignments, topics, partitions)


def _subscriber(member: JoinGroupResponseMember) -> Subscriber | None:
    """One whose subscription nobody can read gets nothing, and keeps nobody else from what they get."""
    try:
        said = decode_subscription(bytes(member.metadata))
    except PeerProtocolError:
        return None
    return Subscriber(
        member.member_id,
        tuple(said.topics),
        tuple(owned_in(said)),
        said.generation_id,
        None if said.user_data is None else bytes(said.user_data),
        member.group_instance_id,
        said.rack_id,
    )
