"""roundrobin: all partitions of all topics in turn, each to the next member that reads its topic."""

from collections.abc import Mapping, Sequence

from odradek.client.consumer.assignors.assignor import NO_RACKS, Dealt, Racks, Subscriber, static_first
from odradek.client.consumer.ownership import Partitions
from odradek.protocol.topic_partition import TopicPartition


class RoundRobinAssignor:
    __slots__ = ()

    name = "roundrobin"
    is_cooperative = False

    def user_data(self, partitions: Partitions, generation: int) -> bytes | None:
        return None

    def assign(self, partitions: Mapping[str, int], members: Sequence[Subscriber], racks: Racks = NO_RACKS) -> Dealt:
        dealt: Dealt = {member.member_id: [] for member in members}
        ordered = sorted(members, key=static_first)
        read = {topic for member in members for topic in member.topics}
        turn = 0
        for topic in sorted(read & set(partitions)):
            for partition in range(partitions[topic]):
                while topic not in ordered[turn % len(ordered)].topics:
                    turn += 1
                dealt[ordered[turn % len(ordered)].member_id].append(TopicPartition(topic, partition))
                turn += 1
        return dealt
