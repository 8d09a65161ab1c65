"""StreamsGroupDescribe."""

from collections.abc import Mapping

from odradek.coordinator.core import Decided
from odradek.coordinator.group.streams.group import StreamsGroup
from odradek.coordinator.group.streams.groups import StreamsGroups
from odradek.coordinator.group.streams.member import StreamsMember
from odradek.coordinator.group.streams.tasks import NO_TASK_SET, Tasks, TaskSet
from odradek.coordinator.group.streams.topology import Subtopology
from odradek.protocol import errors
from odradek.protocol.messages import k89_streams_group_describe as k89
from odradek.protocol.messages import streams_groups as records

_NO_COUNTS: Mapping[str, int] = {}


def describe(groups: StreamsGroups, group_id: str) -> Decided[k89.DescribedGroup]:
    try:
        group = groups.group(group_id)
    except errors.KafkaError as error:
        return Decided(
            response=k89.DescribedGroup(error_code=error.code, error_message=error.message, group_id=group_id)
        )
    described = k89.DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        topology=_topology(groups, group),
        members=[_member(group, member) for member in group.members.values()],
    )
    return Decided(response=described)


def _topology(groups: StreamsGroups, group: StreamsGroup) -> k89.Topology | None:
    """While it can run, internal topics are told with the partitions that they have."""
    if group.topology is None:
        return None
    configured = groups.configured(group.group_id)
    counts = configured.partition_counts if configured is not None and configured.is_ready else _NO_COUNTS
    ordered = sorted(group.topology.subtopologies, key=lambda each: each.subtopology_id)
    return k89.Topology(epoch=group.topology.epoch, subtopologies=[_subtopology(each, counts) for each in ordered])


def _subtopology(subtopology: Subtopology, counts: Mapping[str, int]) -> k89.Subtopology:
    return k89.Subtopology(
        subtopology_id=subtopology.subtopology_id,
        source_topics=sorted(subtopology.source_topics),
        repartition_sink_topics=sorted(subtopology.repartition_sink_topics),
        state_changelog_topics=[_topic(topic, counts) for topic in subtopology.state_changelog_topics],
        repartition_source_topics=[_topic(topic, counts) for topic in subtopology.repartition_source_topics],
    )


def _topic(topic: records.TopicInfo, counts: Mapping[str, int]) -> k89.TopicInfo:
    return k89.TopicInfo(
        name=topic.name,
        partitions=counts.get(topic.name, topic.partitions),
        replication_factor=topic.replication_factor,
        topic_configs=[k89.KeyValue(key=config.key, value=config.value) for config in topic.topic_configs],
    )


def _member(group: StreamsGroup, member: StreamsMember) -> k89.Member:
    endpoint = member.user_endpoint
    return k89.Member(
        member_id=member.member_id,
        member_epoch=member.epoch,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if endpoint is None else k89.Endpoint(host=endpoint.host, port=endpoint.port),
        client_tags=[k89.KeyValue(key=key, value=value) for key, value in member.client_tags],
        assignment=_assignment(member.assigned.ids()),
        target_assignment=_assignment(group.target.get(member.member_id, NO_TASK_SET)),
    )


def _assignment(tasks: TaskSet) -> k89.Assignment:
    return k89.Assignment(
        active_tasks=_ids(tasks.active), standby_tasks=_ids(tasks.standby), warmup_tasks=_ids(tasks.warmup)
    )


def _ids(tasks: Tasks) -> list[k89.TaskIds]:
    return [k89.TaskIds(subtopology_id=name, partitions=sorted(tasks[name])) for name in sorted(tasks)]
