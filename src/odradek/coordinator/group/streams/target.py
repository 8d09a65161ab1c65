"""When the group's epoch grows, and when the target is made for it."""

from collections.abc import Mapping

from odradek.coordinator.group.epochs.target import write_target
from odradek.coordinator.group.streams import records
from odradek.coordinator.group.streams.config import STANDBY_REPLICAS
from odradek.coordinator.group.streams.configured import ASSIGNMENT_DELAYED, ConfiguredTopology, Status
from odradek.coordinator.group.streams.group import StreamsGroup, StreamsPlan
from odradek.coordinator.group.streams.groups import StreamsGroups
from odradek.coordinator.group.streams.sticky_assignor import Assignee, TaskGroup, assign
from odradek.coordinator.group.streams.tasks import NO_TASK_SET, TaskSet
from odradek.coordinator.now import Now


def bump_epoch(
    groups: StreamsGroups,
    plan: StreamsPlan,
    metadata_hash: int,
    validated_epoch: int,
    configs: Mapping[str, str],
) -> None:
    """There is something new to assign."""
    group = plan.group
    groups.shard.counts.streams_rebalances += 1
    plan.write(records.group_epoch(group.group_id, group.epoch + 1, metadata_hash, validated_epoch, configs))


def make_target(groups: StreamsGroups, plan: StreamsPlan, topology: ConfiguredTopology, now: Now) -> Status | None:
    """If the target is behind the group; unless it has to wait: then that is to be told."""
    group = plan.group
    if groups.is_delayed(group.group_id):
        return ASSIGNMENT_DELAYED, "Assignment delayed due to the configured initial rebalance delay."
    if not group.is_target_behind:
        return None
    interval_ms = groups.config.assignment_interval_ms(groups.topics.configs_of(group.group_id))
    if group.has_fresh_target(interval_ms, now.wall_ms):
        return ASSIGNMENT_DELAYED, "Assignment delayed due to the configured assignment interval."
    write_target(plan, _assigned(group, topology), records.target, records.target_epoch, now.wall_ms)
    return None


def _assigned(group: StreamsGroup, topology: ConfiguredTopology) -> Mapping[str, TaskSet]:
    if not topology.is_ready:
        return dict.fromkeys(group.members, NO_TASK_SET)
    assignees = [
        Assignee(member.member_id, member.process_id, group.target.get(member.member_id, NO_TASK_SET))
        for member in group.members.values()
    ]
    tasks = [
        TaskGroup(subtopology_id, each.task_count, each.is_stateful)
        for subtopology_id, each in topology.subtopologies.items()
    ]
    return assign(assignees, tasks, int(group.assignment_configs.get(STANDBY_REPLICAS, "0")))
