"""Streams groups: described, with their topology and tasks. All else is done with them as with any group."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.channel.core import Destination
from odradek.client.admin.asking import Asker, outcome
from odradek.client.admin.cluster import operations
from odradek.client.admin.results import Results
from odradek.client.admin.routing import at_coordinators
from odradek.client.core import GROUP
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages import k89_streams_group_describe as wire

Tasks = Mapping[str, tuple[int, ...]]
"""Partitions by subtopology."""


class InternalTopic(NamedTuple):
    """-1 or 0 partitions or replicas where they follow from others."""

    name: str
    partitions: int
    replication: int
    configs: Mapping[str, str]


class Subtopology(NamedTuple):
    subtopology_id: str
    source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    state_changelog_topics: tuple[InternalTopic, ...]
    repartition_source_topics: tuple[InternalTopic, ...]


class StreamsAssignment(NamedTuple):
    active: Tasks
    standby: Tasks
    warmup: Tasks


class StreamsMemberDescription(NamedTuple):
    """`endpoint`: host and port for interactive queries. `target` is what the member is to have."""

    member_id: str
    epoch: int
    instance_id: str | None
    rack_id: str | None
    client_id: str
    host: str
    topology_epoch: int
    process_id: str
    endpoint: tuple[str, int] | None
    client_tags: Mapping[str, str]
    assignment: StreamsAssignment
    target: StreamsAssignment
    is_classic: bool


class StreamsGroupDescription(NamedTuple):
    """`coordinator` is a broker's id; the topology epoch is -1 and there are no subtopologies before a member has told
    them.
    """

    group_id: str
    state: str
    coordinator: int
    group_epoch: int
    assignment_epoch: int
    topology_epoch: int
    subtopologies: tuple[Subtopology, ...]
    members: tuple[StreamsMemberDescription, ...]
    authorized_operations: frozenset[int] | None = None


async def describe_streams_groups(
    asker: Asker,
    groups: Iterable[str],
    *,
    include_authorized_operations: bool = False,
    timeout: float | None = None,
) -> Results[str, StreamsGroupDescription]:
    """GroupIdNotFound for one that does not exist."""

    async def ask(
        where: Destination, some: list[str], timeout_ms: int
    ) -> dict[str, StreamsGroupDescription | KafkaError]:
        request = wire.StreamsGroupDescribeRequest(
            group_ids=some, include_authorized_operations=include_authorized_operations
        )
        response = await asker.send(where, request, wire.StreamsGroupDescribeResponse, timeout_ms)
        return {
            each.group_id: outcome(each.error_code, each.error_message, _description(each, where.number))
            for each in response.groups
        }

    return await at_coordinators(asker, GROUP, groups, ask, timeout)


def _description(group: wire.DescribedGroup, coordinator: int) -> StreamsGroupDescription:
    topology = group.topology
    return StreamsGroupDescription(
        group.group_id,
        group.group_state,
        coordinator,
        group.group_epoch,
        group.assignment_epoch,
        -1 if topology is None else topology.epoch,
        () if topology is None else tuple(map(_subtopology, topology.subtopologies or ())),
        tuple(map(_member, group.members)),
        operations(group.authorized_operations),
    )


def _subtopology(part: wire.Subtopology) -> Subtopology:
    return Subtopology(
        part.subtopology_id,
        tuple(part.source_topics),
        tuple(part.repartition_sink_topics),
        tuple(map(_internal, part.state_changelog_topics)),
        tuple(map(_internal, part.repartition_source_topics)),
    )


def _internal(topic: wire.TopicInfo) -> InternalTopic:
    return InternalTopic(topic.name, topic.partitions, topic.replication_factor, _texts(topic.topic_configs))


def _member(member: wire.Member) -> StreamsMemberDescription:
    endpoint = member.user_endpoint
    return StreamsMemberDescription(
        member.member_id,
        member.member_epoch,
        member.instance_id,
        member.rack_id,
        member.client_id,
        member.client_host,
        member.topology_epoch,
        member.process_id,
        None if endpoint is None else (endpoint.host, endpoint.port),
        _texts(member.client_tags),
        _assignment(member.assignment),
        _assignment(member.target_assignment),
        member.is_classic,
    )


def _assignment(tasks: wire.Assignment) -> StreamsAssignment:
    return StreamsAssignment(_tasks(tasks.active_tasks), _tasks(tasks.standby_tasks), _tasks(tasks.warmup_tasks))


def _tasks(tasks: Iterable[wire.TaskIds]) -> Tasks:
    return {each.subtopology_id: tuple(each.partitions) for each in tasks}


def _texts(pairs: Iterable[wire.KeyValue]) -> Mapping[str, str]:
    return {each.key: each.value for each in pairs}
