"""When the group's epoch grows, and when the target is made for it."""

from odradek.coordinator.group.consumer import records
from odradek.coordinator.group.consumer.assignors import assignor
from odradek.coordinator.group.consumer.group import ConsumerPlan
from odradek.coordinator.group.consumer.groups import ConsumerGroups
from odradek.coordinator.group.consumer.member import NO_TARGET, ConsumerMember, Target
from odradek.coordinator.group.consumer.subscriber import Assignment, Subscriber
from odradek.coordinator.group.epochs.target import write_target
from odradek.coordinator.now import Now


def bump_epoch(groups: ConsumerGroups, plan: ConsumerPlan) -> None:
    """There is something new to assign."""
    group = plan.group
    groups.shard.counts.consumer_rebalances += 1
    plan.write(records.group_epoch(group.group_id, group.epoch + 1, groups.topics.hash_of(group.subscribed_topics())))


def look_at_topics(groups: ConsumerGroups, plan: ConsumerPlan) -> None:
    """If topics have changed since the group last looked, and among them its own, there is something new to assign."""
    group = plan.group
    if groups.has_seen_topics(group.group_id):
        return
    if groups.topics.hash_of(group.subscribed_topics()) == group.metadata_hash:
        groups.saw_topics(group.group_id)
    else:
        bump_epoch(groups, plan)


def make_target(groups: ConsumerGroups, plan: ConsumerPlan, now: Now) -> None:
    """If the target is behind the group, and has not been made just now."""
    group = plan.group
    interval_ms = groups.config.assignment_interval_ms(groups.topics.configs_of(group.group_id))
    if group.is_target_behind and not group.has_fresh_target(interval_ms, now.wall_ms):
        write_target(plan, _assigned(groups, plan), records.target, records.target_epoch, now.wall_ms)


def _assigned(groups: ConsumerGroups, plan: ConsumerPlan) -> Assignment:
    group, topics = plan.group, groups.topics
    subscribers = []
    ids: dict[tuple[tuple[str, ...], str], frozenset[bytes]] = {}  # most members subscribe to the same
    for member in group.members.values():
        subscription = (member.topic_names, member.regex)
        if subscription not in ids:
            ids[subscription] = frozenset(topics.counts(group.topics_of(member)))
        has = group.target.get(member.member_id, NO_TARGET)
        subscribers.append(Subscriber(member.member_id, member.instance_id, ids[subscription], has))
    counts = topics.counts(sorted(group.subscribed_topics()))
    return assignor(group.server_assignor(groups.config.assignors))(subscribers, counts)


def target_of(groups: ConsumerGroups, plan: ConsumerPlan, member: ConsumerMember) -> Target:
    """What the member shall have, as far as it reads it still."""
    target = plan.group.target.get(member.member_id, NO_TARGET)
    names = plan.group.topics_of(member)
    read: dict[bytes, frozenset[int]] = {}
    for topic_id, partitions in target.items():
        topic = groups.topics.by_id(topic_id)
        if topic is not None and topic.name in names:
            read[topic_id] = partitions
    return read
