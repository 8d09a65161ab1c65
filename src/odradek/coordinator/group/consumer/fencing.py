"""Whether a member is the one that it says, by its id, its instance id and its epoch."""

from odradek.coordinator.group.consumer import records
from odradek.coordinator.group.consumer.group import ConsumerGroup, ConsumerPlan
from odradek.coordinator.group.consumer.member import ConsumerMember, Target, is_subset
from odradek.coordinator.group.epochs import members
from odradek.coordinator.group.epochs.group import JOINING, LEAVING_STATIC
from odradek.protocol import errors


def known_member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
    """UnknownMemberId, or FencedInstanceId if another has taken its place."""
    if instance_id is not None:
        current = group.static_members.get(instance_id)
        if current is None:
            raise errors.UnknownMemberId(f"Instance id {instance_id} is unknown.")
        if current != member_id:
            raise errors.FencedInstanceId(
                f"Static member {member_id} with instance id {instance_id} was fenced by member {current}."
            )
    return members.known_member(group, member_id)


def check_epoch(member: ConsumerMember, epoch: int, owned: Target | None) -> None:
    """The epoch before the current one is let pass if the answer with the current one may have been lost."""
    if epoch == member.epoch:
        return
    if members.is_previous_epoch(member, epoch) and owned is not None and is_subset(owned, member.assigned):
        return
    raise members.fenced(member, epoch, "consumer")


def take_instance(plan: ConsumerPlan, member_id: str, instance_id: str) -> ConsumerMember:
    """A static member joins: anew, or in the place of the one that has left for a while, with all that it had."""
    group = plan.group
    current = group.static_members.get(instance_id)
    if current is None or current == member_id:
        return group.members.get(member_id) or ConsumerMember(member_id)
    old = group.members[current]
    if old.epoch != LEAVING_STATIC and not old.is_classic:
        raise errors.UnreleasedInstanceId(
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id "
            f"is owned by {current} member."
        )
    has = group.target.get(current)
    replaced = old._replace(member_id=member_id, epoch=JOINING, previous_epoch=JOINING)
    plan.write_all(records.no_member(group.group_id, current))
    plan.write(records.member(group.group_id, replaced))
    if has is not None:
        plan.write(records.target(group.group_id, member_id, has))
    plan.write(records.assignment(group.group_id, replaced))
    return replaced
