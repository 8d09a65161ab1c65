"""Members go: because they say so, or because their time is over."""

from odradek.broken_rule import require
from odradek.coordinator.core import Decided
from odradek.coordinator.group.consumer import migration, records, regex, target
from odradek.coordinator.group.consumer.fencing import known_member
from odradek.coordinator.group.consumer.group import ConsumerGroup, ConsumerPlan
from odradek.coordinator.group.consumer.groups import ConsumerGroups
from odradek.coordinator.group.consumer.member import ConsumerMember
from odradek.coordinator.group.epochs.group import LEAVING, LEAVING_STATIC
from odradek.coordinator.now import Now
from odradek.protocol.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


def leave(
    groups: ConsumerGroups, now: Now, request: ConsumerGroupHeartbeatRequest
) -> Decided[ConsumerGroupHeartbeatResponse]:
    group = groups.group(request.group_id)
    member = known_member(group, request.member_id, request.instance_id)
    response = ConsumerGroupHeartbeatResponse(member_id=member.member_id, member_epoch=request.member_epoch)
    plan = ConsumerPlan(group)
    if request.member_epoch == LEAVING_STATIC:
        _leave_for_a_while(plan, member)
        groups.forget_revocation(group.group_id, member.member_id)
    else:
        require(request.member_epoch == LEAVING, "only who leaves has an epoch below zero")
        remove(groups, plan, [member], now)
    return Decided(plan.records, response)


def _leave_for_a_while(plan: ConsumerPlan, member: ConsumerMember) -> None:
    """The member keeps what it has until its session ends: whoever comes with its instance id gets that."""
    gone = member._replace(epoch=LEAVING_STATIC, previous_epoch=member.epoch)
    plan.write(records.assignment(plan.group.group_id, gone))


def remove(groups: ConsumerGroups, plan: ConsumerPlan, members: list[ConsumerMember], now: Now) -> None:
    group_id = plan.group.group_id
    for member in members:
        plan.write_all(records.no_member(group_id, member.member_id))
        regex.drop_unused(plan, member.regex)
    if migration.can_downgrade(groups, plan.group):
        migration.downgrade(groups, plan, now, rebalances=True)
    else:
        target.bump_epoch(groups, plan)


def expire(groups: ConsumerGroups, group: ConsumerGroup, member: ConsumerMember, now: Now) -> Decided[None]:
    plan = ConsumerPlan(group)
    remove(groups, plan, [member], now)
    groups.retry_session(group.group_id, member.member_id, now)
    return Decided(plan.records)
