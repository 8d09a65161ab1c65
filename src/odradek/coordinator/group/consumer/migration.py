"""A group changes its protocol while it works, as `group.consumer.migration.policy` allows.

Upwards: the first member of the consumer protocol joins a classic group of consumers. The group's generation becomes
its epoch, everybody's assignment what they have and shall have; classic members stay, see `classic_members.py`. Who
waits in the middle of a rebalance is told to join again, and the rebalance goes on as a new target: what a cooperative
leader was about to deal out in its next round has no owner yet. (A Kafka 4.3 leaves it so if the member that comes
takes the place of a static one.)

Downwards: the last member of the consumer protocol goes and classic ones are left. The epoch becomes the generation,
the target their assignment, and a rebalance begins: the share of the one that went has no owner. The group is written
without a leader until then, so that a coordinator that finds it in the log begins the rebalance anew. (One of Kafka 4.3
does not know of it any more.)
"""

from odradek.broken_rule import present
from odradek.coordinator.core import Answer
from odradek.coordinator.group.classic import rebalancing
from odradek.coordinator.group.classic.classic_group import ClassicGroup
from odradek.coordinator.group.classic.group_in_memory import select_protocol
from odradek.coordinator.group.classic.member import Member
from odradek.coordinator.group.classic.records import group_tombstone
from odradek.coordinator.group.classic.states import CONSUMER, STABLE
from odradek.coordinator.group.consumer import embedded, records
from odradek.coordinator.group.consumer.downgraded import Downgraded
from odradek.coordinator.group.consumer.group import ConsumerGroup, ConsumerPlan
from odradek.coordinator.group.consumer.groups import ConsumerGroups
from odradek.coordinator.group.consumer.member import NO_TARGET, ClassicJoin, ConsumerMember, places
from odradek.coordinator.group.epochs.group import FIRST_EPOCH
from odradek.coordinator.group.plan import appended
from odradek.coordinator.now import Now
from odradek.protocol import errors

UNKNOWN_TOPICS = 0  # the hash of no topics: the group looks at its own, and there is something new to assign


# Upwards


def upgraded(groups: ConsumerGroups, now: Now, classic: ClassicGroup) -> tuple[ConsumerPlan, list[Answer]]:
    _check_upgrade(groups, classic)
    plan = ConsumerPlan(ConsumerGroup(classic.group_id), is_new=True)
    plan.records.append(group_tombstone(classic.group_id))
    _write_members(groups, plan, classic)
    answers = _told_to_rejoin(classic)
    for each in plan.group.members.values():
        groups.begin_session(classic.group_id, each, now)
    return plan, answers


def _check_upgrade(groups: ConsumerGroups, classic: ClassicGroup) -> None:
    reason = None
    if not groups.config.allows_upgrade:
        reason = "online upgrade is disabled"
    elif classic.protocol_type != CONSUMER:
        reason = "the group does not use the consumer embedded protocol"
    elif len(classic.members) > groups.config.members_max:
        reason = "the group exceeds the consumer group maximum size"
    if reason is not None:
        raise errors.GroupIdNotFound(
            f"Cannot upgrade classic group {classic.group_id} to consumer group because {reason}."
        )


def _write_members(groups: ConsumerGroups, plan: ConsumerPlan, classic: ClassicGroup) -> None:
    group_id, epoch = classic.group_id, max(FIRST_EPOCH, classic.generation)
    members = [_converted(groups, member, epoch) for member in classic.members.values()]
    for member in members:
        plan.write(records.member(group_id, member))
    is_stable = classic.state == STABLE
    topics_hash = groups.topics.hash_of(plan.group.subscribed_topics()) if is_stable else UNKNOWN_TOPICS
    plan.write(records.group_epoch(group_id, epoch, topics_hash))
    taken: set[tuple[bytes, int]] = set()
    for member in members:
        # a careless leader may have given a partition to two: only one of them keeps it
        assigned: dict[bytes, dict[int, int]] = {}
        for topic_id, partition in places(member.assigned):
            if (topic_id, partition) not in taken:
                taken.add((topic_id, partition))
                assigned.setdefault(topic_id, {})[partition] = epoch
        target = {topic_id: frozenset(partitions) for topic_id, partitions in assigned.items()}
        plan.write(records.target(group_id, member.member_id, target))
        plan.write(records.assignment(group_id, member._replace(assigned=assigned)))
    plan.write(records.target_epoch(group_id, epoch, 0))


def _converted(groups: ConsumerGroups, member: Member, epoch: int) -> ConsumerMember:
    try:
        subscription = embedded.subscription_of(member.protocols)
        assignment = embedded.assignment_of(member.assignment)
    except (errors.PeerProtocolError, IndexError) as error:
        raise errors.GroupIdNotFound(
            f"Cannot upgrade the classic group because the metadata of member {member.member_id} cannot be read."
        ) from error
    if assignment.user_data:
        # what members say of themselves is for the leader alone, and Kafka's own sticky assignors say something
        raise errors.GroupIdNotFound(
            "Cannot upgrade the classic group because an unsupported custom assignor is in use: the assignment of "
            f"member {member.member_id} has user data."
        )
    assigned = embedded.assigned_of(assignment, groups.topics)
    return ConsumerMember(
        member.member_id,
        epoch=epoch,
        previous_epoch=epoch,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topic_names=tuple(sorted(set(subscription.topics))),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicJoin(member.session_timeout_ms, member.protocols),
        assigned={topic_id: dict.fromkeys(partitions, epoch) for topic_id, partitions in assigned.items()},
    )


def _told_to_rejoin(classic: ClassicGroup) -> list[Answer]:
    """They keep their tickets: should the upgrade not be written, the group goes on waiting for them."""
    from odradek.coordinator.group.classic.refusals import refusals

    error = errors.RebalanceInProgress
    return [answer for each in classic.members.values() for answer in refusals(each, each.member_id, error)]


# Downwards


def can_downgrade(groups: ConsumerGroups, group: ConsumerGroup) -> bool:
    return (
        groups.config.allows_downgrade
        and group.has_only_classic_members()
        and len(group.members) <= groups.shard.config.members_max
    )


def downgrade(groups: ConsumerGroups, plan: ConsumerPlan, now: Now, *, rebalances: bool) -> None:
    group = plan.group
    classic = ClassicGroup(group.group_id, now.wall_ms)
    classic.generation = group.epoch
    assignments = {}
    for each in group.members.values():
        member = _as_classic(each)
        classic.add(member, CONSUMER)
        target = group.target.get(each.member_id, NO_TARGET)
        assignments[each.member_id] = embedded.assignment_bytes(target, member.protocols, groups.topics)
    classic.protocol = select_protocol(classic.members.values())
    if rebalances:
        classic.leader = None
    plan.records += appended(records.no_group(group))
    plan.records.append(groups.classic.record(classic, classic.to_write_assigned(assignments)))
    protocols = {member.member_id: member.protocols for member in classic.members.values()}
    groups.downgraded.append(Downgraded(group.group_id, protocols, rebalances))


def _as_classic(each: ConsumerMember) -> Member:
    classic = present(each.classic, "only members of the classic protocol are left")
    return Member(
        each.member_id,
        each.instance_id,
        each.client_id,
        each.client_host,
        rebalance_timeout_ms=each.rebalance_timeout_ms,
        session_timeout_ms=classic.session_timeout_ms,
        protocols=classic.protocols,
    )


def after_downgrade(groups: ConsumerGroups, downgraded: Downgraded, now: Now) -> list[Answer]:
    """The record is replayed, unless its append failed: then the group is still what it was."""
    group = groups.classic.groups.get(downgraded.group_id)
    if group is None:
        return []
    for member in group.members.values():
        member.protocols = downgraded.protocols.get(member.member_id, member.protocols)
        groups.classic.begin_session(group, member, now)
    return rebalancing.prepare(groups.classic, group, now) if downgraded.rebalances else []
