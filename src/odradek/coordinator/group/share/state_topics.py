"""Which share-partitions of a group have their state set up at the share coordinator.

The record says what is under way before the share coordinator is asked, so that whoever coordinates the group next
knows what may exist. What has been under way for too long is asked for once more: setting up twice does no harm.
"""

from collections.abc import Collection

from odradek.coordinator.core import Decided
from odradek.coordinator.group.epochs.group import EMPTY
from odradek.coordinator.group.plan import appended
from odradek.coordinator.group.share import records
from odradek.coordinator.group.share.effects import InitializeState, Topics
from odradek.coordinator.group.share.group import ShareGroup, SharePlan
from odradek.coordinator.group.share.groups import ShareGroups
from odradek.coordinator.group.share.member import StateTopic, StateTopics, added, without
from odradek.coordinator.now import Now
from odradek.protocol import errors


def initialize_new(groups: ShareGroups, plan: SharePlan, now: Now) -> list[InitializeState]:
    """What the group subscribes to and nobody has set up."""
    group = plan.group
    new = _missing(groups, group, now)
    if not new:
        return []
    topics = group.topics
    plan.write(records.state_topics(group.group_id, topics._replace(initializing=added(topics.initializing, new))))
    groups.began_initializing(group.group_id, now)
    return [InitializeState(group.group_id, group.epoch, new)]


def _missing(groups: ShareGroups, group: ShareGroup, now: Now) -> dict[bytes, StateTopic]:
    known = group.topics.initialized
    if groups.is_initializing(group.group_id, now):
        known = added(known, group.topics.initializing)
    missing: dict[bytes, StateTopic] = {}
    for name in sorted(group.subscribed_topics()):
        topic = groups.topics.by_name(name)
        if topic is None or topic.id in group.topics.deleting:
            continue
        has = known[topic.id].partitions if topic.id in known else frozenset()
        new = frozenset(topic.partitions) - has
        if new:
            missing[topic.id] = StateTopic(name, new)
    return missing


def initialized(groups: ShareGroups, group_id: str, done: Topics, failed: Topics) -> Decided[None]:
    """The share coordinator has answered."""
    group = groups.groups.get(group_id)
    if group is None:
        return Decided()
    groups.ended_initializing(group_id)
    topics = group.topics
    answered = added(done, failed)
    after = topics._replace(
        initializing=without(topics.initializing, answered), initialized=added(topics.initialized, done)
    )
    return Decided(appended([records.state_topics(group_id, after)]))


def alter(groups: ShareGroups, group_id: str, wanted: Topics) -> Decided[int]:
    """An admin sets start offsets: the state is set up anew. The state epoch that fences who holds the old one."""
    is_new = not groups.shard.has_group(group_id)
    group = ShareGroup(group_id) if is_new else empty_group(groups, group_id)
    if not wanted:
        return Decided(response=group.epoch)
    topics = group.topics
    after = topics._replace(initializing=added(topics.initializing, wanted))
    return Decided(appended([records.state_topics(group_id, after)]), group.epoch)


def delete_topics(groups: ShareGroups, group_id: str, topic_ids: Collection[bytes]) -> Decided[Topics]:
    """An admin deletes start offsets: what there is to delete at the share coordinator."""
    group = empty_group(groups, group_id)
    topics = group.topics
    known = added(topics.initialized, topics.initializing)
    going = {topic_id: known[topic_id] for topic_id in topic_ids if topic_id in known}
    # those of an earlier attempt that was cut short: which partitions they had is for the metadata to say
    for topic_id in topic_ids:
        topic = groups.topics.by_id(topic_id)
        if topic_id in topics.deleting and topic_id not in going and topic is not None:
            going[topic_id] = StateTopic(topic.name, frozenset(topic.partitions))
    if not going:
        return Decided(response=going)
    after = StateTopics(
        without(topics.initializing, going),
        without(topics.initialized, going),
        {**topics.deleting, **{topic_id: topic.name for topic_id, topic in going.items()}},
    )
    return Decided(appended([records.state_topics(group_id, after)]), going)


def deleted(groups: ShareGroups, group_id: str, topic_ids: Collection[bytes]) -> Decided[None]:
    """The share coordinator has nothing of them any more."""
    group = groups.groups.get(group_id)
    if group is None:
        return Decided()
    left = {topic_id: name for topic_id, name in group.topics.deleting.items() if topic_id not in topic_ids}
    return Decided(appended([records.state_topics(group_id, group.topics._replace(deleting=left))]))


def topics_deleted(groups: ShareGroups, topic_ids: Collection[bytes]) -> Decided[None]:
    """Topics are gone from the cluster: the share coordinator hears of it by itself."""
    changed = []
    for group in groups.groups.values():
        initializing, ready, deleting = group.topics
        if any(topic_id in kind for kind in (initializing, ready, deleting) for topic_id in topic_ids):
            after = StateTopics(
                {topic_id: topic for topic_id, topic in initializing.items() if topic_id not in topic_ids},
                {topic_id: topic for topic_id, topic in ready.items() if topic_id not in topic_ids},
                {topic_id: name for topic_id, name in deleting.items() if topic_id not in topic_ids},
            )
            changed.append(records.state_topics(group.group_id, after))
    return Decided(appended(changed), is_atomic=False)


def empty_group(groups: ShareGroups, group_id: str) -> ShareGroup:
    group = groups.group(group_id)
    if group.state != EMPTY:
        raise errors.NonEmptyGroup()
    return group


def delete_group(groups: ShareGroups, group_id: str) -> Decided[None]:
    """After its state has gone from the share coordinator."""
    return Decided(appended(records.no_group(empty_group(groups, group_id))))
