"""Where the state of an application can be queried: which partitions are behind each member's endpoint.

A change of what members with an endpoint have counts upwards, the *endpoint information epoch*. A member tells the one
it knows, and is told everything if that is another.
"""

from collections.abc import Iterable, Mapping

from odradek.coordinator.group.streams.configured import ConfiguredTopology
from odradek.coordinator.group.streams.group import StreamsGroup
from odradek.coordinator.group.streams.member import Endpoint, StreamsMember
from odradek.coordinator.group.streams.tasks import Tasks
from odradek.coordinator.group.streams.topology import read_by
from odradek.coordinator.group.topics import GroupTopics
from odradek.protocol.messages.k88_streams_group_heartbeat import (
    EndpointToPartitions,
    StreamsGroupHeartbeatResponseEndpoint,
    TopicPartition,
)


def endpoints(
    group: StreamsGroup, member: StreamsMember, topology: ConfiguredTopology, topics: GroupTopics
) -> list[EndpointToPartitions]:
    """The member itself comes last, as it will be after this heartbeat."""
    others = (each for each in group.members.values() if each.member_id != member.member_id)
    return [
        _told(each, each.user_endpoint, topology, topics)
        for each in (*others, member)
        if each.user_endpoint is not None
    ]


def _told(
    member: StreamsMember, endpoint: Endpoint, topology: ConfiguredTopology, topics: GroupTopics
) -> EndpointToPartitions:
    tasks = member.assigned.ids()
    return EndpointToPartitions(
        user_endpoint=StreamsGroupHeartbeatResponseEndpoint(host=endpoint.host, port=endpoint.port),
        active_partitions=list(_partitions(tasks.active, topology, topics)),
        standby_partitions=list(_partitions(tasks.standby, topology, topics)),
    )


def _partitions(tasks: Tasks, topology: ConfiguredTopology, topics: GroupTopics) -> Iterable[TopicPartition]:
    for subtopology_id, partitions in tasks.items():
        configured = topology.subtopologies.get(subtopology_id)
        if configured is None:
            continue  # the topology cannot run now: nobody can say what its tasks read
        counts = _counts(set(read_by(configured.subtopology)), topics)
        for name in sorted(counts):
            # a topic with fewer partitions than there are tasks is read by the first of them
            yield TopicPartition(topic=name, partitions=sorted(partitions)[: counts[name]])


def _counts(names: set[str], topics: GroupTopics) -> Mapping[str, int]:
    found = ((name, topics.by_name(name)) for name in names)
    return {name: len(topic.partitions) for name, topic in found if topic is not None}
