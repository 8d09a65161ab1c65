"""The records of streams groups, in the one version that there is."""

from collections.abc import Iterable, Mapping

from odradek.coordinator.group.plan import Record
from odradek.coordinator.group.streams.group import StreamsGroup
from odradek.coordinator.group.streams.member import StreamsMember
from odradek.coordinator.group.streams.tasks import ActiveTasks, Tasks, TaskSet
from odradek.coordinator.group.streams.topology import Topology
from odradek.protocol.messages import streams_groups as records

_CurrentTaskIds = records.StreamsGroupCurrentMemberAssignmentValueTaskIds


def group_epoch(
    group_id: str, epoch: int, metadata_hash: int, validated_topology_epoch: int, configs: Mapping[str, str]
) -> Record:
    value = records.StreamsGroupMetadataValue(
        epoch=epoch,
        metadata_hash=metadata_hash,
        validated_topology_epoch=validated_topology_epoch,
        last_assignment_configs=[
            records.LastAssignmentConfig(key=name, value=configs[name]) for name in sorted(configs)
        ],
    )
    return records.StreamsGroupMetadataKey(group_id=group_id), value


def topology(group_id: str, value: Topology) -> Record:
    return records.StreamsGroupTopologyKey(group_id=group_id), value


def member(group_id: str, each: StreamsMember) -> Record:
    endpoint = each.user_endpoint
    value = records.StreamsGroupMemberMetadataValue(
        instance_id=each.instance_id,
        rack_id=each.rack_id,
        client_id=each.client_id,
        client_host=each.client_host,
        rebalance_timeout_ms=each.rebalance_timeout_ms,
        topology_epoch=each.topology_epoch,
        process_id=each.process_id,
        user_endpoint=None if endpoint is None else records.Endpoint(host=endpoint.host, port=endpoint.port),
        client_tags=[records.KeyValue(key=name, value=text) for name, text in each.client_tags],
    )
    return records.StreamsGroupMemberMetadataKey(group_id=group_id, member_id=each.member_id), value


def target_epoch(group_id: str, epoch: int, made_ms: int) -> Record:
    key = records.StreamsGroupTargetAssignmentMetadataKey(group_id=group_id)
    value = records.StreamsGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=made_ms)
    return key, value


def target(group_id: str, member_id: str, tasks: TaskSet) -> Record:
    key = records.StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    value = records.StreamsGroupTargetAssignmentMemberValue(
        active_tasks=_ids(tasks.active), standby_tasks=_ids(tasks.standby), warmup_tasks=_ids(tasks.warmup)
    )
    return key, value


def _ids(tasks: Tasks) -> list[records.TaskIds]:
    return [records.TaskIds(subtopology_id=name, partitions=sorted(tasks[name])) for name in sorted(tasks)]


def assignment(group_id: str, each: StreamsMember) -> Record:
    key = records.StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=each.member_id)
    has, pending = each.assigned, each.pending_revocation
    value = records.StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=each.epoch,
        previous_member_epoch=each.previous_epoch,
        state=each.state,
        active_tasks=_active(has.active),
        standby_tasks=_copies(has.standby),
        warmup_tasks=_copies(has.warmup),
        active_tasks_pending_revocation=_active(pending.active),
        standby_tasks_pending_revocation=_copies(pending.standby),
        warmup_tasks_pending_revocation=_copies(pending.warmup),
    )
    return key, value


def _active(tasks: ActiveTasks) -> list[_CurrentTaskIds]:
    made = []
    for name in sorted(tasks):
        partitions = sorted(tasks[name])
        epochs = [tasks[name][partition] for partition in partitions]
        made.append(_CurrentTaskIds(subtopology_id=name, partitions=partitions, assignment_epochs=epochs))
    return made


def _copies(tasks: Tasks) -> list[_CurrentTaskIds]:
    return [_CurrentTaskIds(subtopology_id=name, partitions=sorted(tasks[name])) for name in sorted(tasks)]


# Tombstones


def no_member(group_id: str, member_id: str) -> list[Record]:
    return [
        (records.StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None),
        (records.StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None),
        (records.StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    ]


def no_group(group: StreamsGroup) -> list[Record]:
    """Everything, in the order that Kafka can replay: the topology comes last, and makes no group."""
    group_id = group.group_id
    gone: list[Record] = list(_of_members(group))
    gone.append((records.StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), None))
    gone.append((records.StreamsGroupMetadataKey(group_id=group_id), None))
    gone.append((records.StreamsGroupTopologyKey(group_id=group_id), None))
    return gone


def _of_members(group: StreamsGroup) -> Iterable[Record]:
    for member_id in group.members:
        yield from no_member(group.group_id, member_id)
