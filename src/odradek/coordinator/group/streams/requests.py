"""What is wrong with a heartbeat whatever the state of its group."""

from collections.abc import Iterable
from typing import NamedTuple

from odradek.coordinator.group.epochs.group import JOINING, LEAVING_STATIC
from odradek.coordinator.group.streams.tasks import TaskSet, grouped
from odradek.protocol import errors
from odradek.protocol.messages.k88_streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    Topology,
)


class Caller(NamedTuple):
    """Who sends a heartbeat."""

    client_id: str
    client_host: str


def check(request: StreamsGroupHeartbeatRequest) -> None:
    _check_supported(request)
    if not request.member_id:
        raise errors.InvalidRequest("MemberId can't be empty.")
    if not request.group_id:
        raise errors.InvalidRequest("GroupId can't be empty.")
    if request.rack_id == "":
        raise errors.InvalidRequest("RackId can't be empty.")
    if request.member_epoch == JOINING:
        _check_joining(request)
    elif request.member_epoch == LEAVING_STATIC:
        raise errors.InvalidRequest("InstanceId can't be null.")
    elif request.member_epoch < LEAVING_STATIC:
        raise errors.InvalidRequest(f"MemberEpoch is {request.member_epoch}, but must be greater than or equal to -2.")
    told = (request.active_tasks, request.standby_tasks, request.warmup_tasks)
    if any(tasks is not None for tasks in told) and None in told:
        raise errors.InvalidRequest("If one task-type is non-null, all must be non-null.")
    if request.member_epoch != JOINING and request.topology is not None:
        raise errors.InvalidRequest("Topology can only be provided when (re-)joining.")


def _check_supported(request: StreamsGroupHeartbeatRequest) -> None:
    """What the protocol has fields for, and no release serves yet."""
    if request.instance_id is not None:
        raise errors.InvalidRequest("Static membership is not yet supported.")
    if request.task_offsets is not None:
        raise errors.InvalidRequest("TaskOffsets are not supported yet.")
    if request.task_end_offsets is not None:
        raise errors.InvalidRequest("TaskEndOffsets are not supported yet.")
    if request.warmup_tasks:
        raise errors.InvalidRequest("WarmupTasks are not supported yet.")
    if request.topology is not None and any(each.source_topic_regex for each in request.topology.subtopologies):
        raise errors.InvalidRequest("Regular expressions for source topics are not supported yet.")


def _check_joining(request: StreamsGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise errors.InvalidRequest("RebalanceTimeoutMs must be provided in first request.")
    for name, tasks in (
        ("ActiveTasks", request.active_tasks),
        ("StandbyTasks", request.standby_tasks),
        ("WarmupTasks", request.warmup_tasks),
    ):
        if tasks is None or tasks:
            raise errors.InvalidRequest(f"{name} must be empty when (re-)joining.")
    if request.topology is None:
        raise errors.InvalidRequest("Topology must be non-null when (re-)joining.")
    _check_topology(request.topology)


def _check_topology(topology: Topology) -> None:
    for subtopology in topology.subtopologies:
        for topic in subtopology.state_changelog_topics:
            if topic.partitions != 0:
                raise errors.StreamsInvalidTopology(
                    f"Changelog topic {topic.name} must have an undefined partition count, "
                    f"but it is set to {topic.partitions}."
                )
    ids = {subtopology.subtopology_id for subtopology in topology.subtopologies}
    # what follows Kafka does not expect, and so it has no better answer
    if topology.epoch < 0 or len(ids) < len(topology.subtopologies):
        raise errors.UnknownServerError()
    if not all(_has_what_it_names(subtopology) for subtopology in topology.subtopologies):
        raise errors.UnknownServerError()


def _has_what_it_names(subtopology: Subtopology) -> bool:
    """Copartition groups name topics by their place in the lists."""
    sources, repartitions = len(subtopology.source_topics), len(subtopology.repartition_source_topics)
    return all(
        _are_within(group.source_topics, sources) and _are_within(group.repartition_source_topics, repartitions)
        for group in subtopology.copartition_groups
    ) and all(topic.partitions >= 0 for topic in subtopology.repartition_source_topics)


def _are_within(indexes: Iterable[int], count: int) -> bool:
    return all(0 <= index < count for index in indexes)


def owned(request: StreamsGroupHeartbeatRequest) -> TaskSet | None:
    """What the member says that it has; None if it says nothing."""
    if request.active_tasks is None or request.standby_tasks is None or request.warmup_tasks is None:
        return None
    return TaskSet(_tasks(request.active_tasks), _tasks(request.standby_tasks), _tasks(request.warmup_tasks))


def _tasks(told: Iterable[TaskIds]) -> dict[str, frozenset[int]]:
    return grouped((ids.subtopology_id, partition) for ids in told for partition in ids.partitions)
