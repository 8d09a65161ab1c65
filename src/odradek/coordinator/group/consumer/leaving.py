"""Members go: because they say so, or because their time is over."""

from typing import TYPE_CHECKING

from odradek.coordinator.core import Decided
from odradek.coordinator.group.consumer import migration, records, target
from odradek.coordinator.group.consumer.group import ConsumerGroup, ConsumerPlan
from odradek.coordinator.group.consumer.member import LEAVING, LEAVING_STATIC, ConsumerMember
from odradek.coordinator.now import Now
from odradek.protocol import errors
from odradek.protocol.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

if TYPE_CHECKING:
    from odradek.coordinator.group.consumer.groups import ConsumerGroups


def leave(
    groups: "ConsumerGroups", now: Now, request: ConsumerGroupHeartbeatRequest
) -> Decided[ConsumerGroupHeartbeatResponse]:
    from odradek.coordinator.group.consumer.heartbeat import known_member

    group = groups.group(request.group_id)
    member = known_member(group, request.member_id, request.instance_id)
    response = ConsumerGroupHeartbeatResponse(member_id=member.member_id, member_epoch=request.member_epoch)
    plan = ConsumerPlan(group)
    if request.member_epoch == LEAVING_STATIC:
        _leave_for_a_while(plan, member)
        groups.forget_revocation(group.group_id, member.member_id)
    else:
        assert request.member_epoch == LEAVING
        remove(groups, plan, [member], now)
    return Decided(plan.records, response)


def _leave_for_a_while(plan: ConsumerPlan, member: ConsumerMember) -> None:
    """It keeps what it has until its session ends: whoever comes with its instance id gets that."""
    gone = member._replace(epoch=LEAVING_STATIC, previous_epoch=member.epoch)
    plan.write(records.assignment(plan.group.group_id, gone))


def remove(groups: "ConsumerGroups", plan: ConsumerPlan, members: list[ConsumerMember], now: Now) -> None:
    from odradek.coordinator.group.consumer.heartbeat import drop_unused_regex

    group_id = plan.group.group_id
    for member in members:
        plan.write_all(records.no_member(group_id, member.member_id))
        drop_unused_regex(plan, member.regex)
    if migration.can_downgrade(groups, plan.group):
        migration.downgrade(groups, plan, now, rebalances=True)
    else:
        target.bump_epoch(groups, plan)


def expire(groups: "ConsumerGroups", group: ConsumerGroup, member_id: str, now: Now) -> Decided[None]:
    member = group.members.get(member_id)
    if member is None:
        return Decided()
    plan = ConsumerPlan(group)
    remove(groups, plan, [member], now)
    groups.retry_session(group.group_id, member_id, now)
    return Decided(plan.records)


def not_found(group_id: str, is_other: bool) -> errors.GroupIdNotFound:
    if is_other:
        return errors.GroupIdNotFound(f"Group {group_id} is not a consumer group.")
    return errors.GroupIdNotFound(f"Group {group_id} not found.")
