"""ShareGroupHeartbeat: a member joins, stays and leaves.

In this order, each step on what the ones before have decided: the member is found and fenced if it is not the one it
says; what it subscribes to is written if it is new, and the group's epoch grows if that changes what there is to
assign; the target is made if it is behind; the member takes it. Then share-partitions that nobody has read before are
set up.
"""

from typing import TYPE_CHECKING

from odradek.coordinator.core import Decided
from odradek.coordinator.group.consumer.requests import Caller
from odradek.coordinator.group.epochs.group import JOINING, LEAVING
from odradek.coordinator.group.epochs.members import check_size, fenced, is_previous_epoch, known_member
from odradek.coordinator.group.epochs.target import write_target
from odradek.coordinator.group.share import records, state_topics
from odradek.coordinator.group.share.assignor import Subscriber, assign
from odradek.coordinator.group.share.group import ShareGroup, SharePlan
from odradek.coordinator.group.share.groups import ShareGroups
from odradek.coordinator.group.share.member import NOTHING, ShareMember, Target
from odradek.coordinator.now import Now
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.k76_share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)

if TYPE_CHECKING:
    from odradek.replicated.log_record import Versioned


def heartbeat(
    groups: ShareGroups, now: Now, request: ShareGroupHeartbeatRequest, caller: Caller
) -> Decided[ShareGroupHeartbeatResponse]:
    try:
        _check(request)
        if request.member_epoch == LEAVING:
            return _leave(groups, request)
        return _stay(groups, now, request, caller)
    except errors.KafkaError as error:
        return Decided(response=ShareGroupHeartbeatResponse(error_code=error.code, error_message=error.message))


def _check(request: ShareGroupHeartbeatRequest) -> None:
    """What is wrong whatever the state of the group."""
    if not request.member_id.strip():
        raise errors.InvalidRequest("MemberId can't be empty.")
    if not request.group_id.strip():
        raise errors.InvalidRequest("GroupId can't be empty.")
    if request.rack_id is not None and not request.rack_id.strip():
        raise errors.InvalidRequest("RackId can't be empty.")
    if request.member_epoch == JOINING and not request.subscribed_topic_names:
        raise errors.InvalidRequest("SubscribedTopicNames must be set in first request.")
    if request.member_epoch < LEAVING:
        raise errors.InvalidRequest("MemberEpoch is invalid.")


def _stay(
    groups: ShareGroups, now: Now, request: ShareGroupHeartbeatRequest, caller: Caller
) -> Decided[ShareGroupHeartbeatResponse]:
    plan = _group_of(groups, request)
    if request.member_id not in plan.group.members:
        check_size(plan.group.members, groups.config.members_max, groups.protocol)
    before = _member_of(plan.group, request)
    member = _updated(before, request, caller)
    _subscribe(groups, plan, before, member)
    _make_target(groups, plan, now)
    member = _take_target(groups, plan, plan.group.members[member.member_id])
    groups.begin_session(plan.group.group_id, member.member_id, now)
    effects = state_topics.initialize_new(groups, plan, now)
    return Decided(plan.records, _answer(groups, request, before, member), effects=effects)


def _group_of(groups: ShareGroups, request: ShareGroupHeartbeatRequest) -> SharePlan:
    """Who joins makes the group."""
    group = groups.groups.get(request.group_id)
    if group is not None:
        return SharePlan(group)
    if request.member_epoch != JOINING or groups.shard.has_group(request.group_id):
        raise groups.not_found(request.group_id)
    return SharePlan(ShareGroup(request.group_id), is_new=True)


def _member_of(group: ShareGroup, request: ShareGroupHeartbeatRequest) -> ShareMember:
    epoch = request.member_epoch
    if epoch == JOINING:
        return group.members.get(request.member_id) or ShareMember(request.member_id)
    member = known_member(group, request.member_id)
    if epoch != member.epoch and not is_previous_epoch(member, epoch):
        raise fenced(member, epoch, "share")
    return member


def _updated(before: ShareMember, request: ShareGroupHeartbeatRequest, caller: Caller) -> ShareMember:
    """Null fields have not changed since the last heartbeat."""
    names = request.subscribed_topic_names
    return before._replace(
        rack_id=before.rack_id if request.rack_id is None else request.rack_id,
        client_id=caller.client_id,
        client_host=caller.client_host,
        topic_names=before.topic_names if names is None else tuple(sorted(set(names))),
    )


# What there is to assign, and to whom


def _subscribe(groups: ShareGroups, plan: SharePlan, before: ShareMember, member: ShareMember) -> None:
    group_id = plan.group.group_id
    if member.member_id not in plan.group.members or member.subscription() != before.subscription():
        plan.write(records.member(group_id, member))
    if before.topic_names != member.topic_names:
        bump_epoch(groups, plan)
    else:
        _look_at_topics(groups, plan)


def bump_epoch(groups: ShareGroups, plan: SharePlan) -> None:
    """There is something new to assign."""
    group = plan.group
    plan.write(records.group_epoch(group.group_id, group.epoch + 1, groups.topics.hash_of(group.subscribed_topics())))


def _look_at_topics(groups: ShareGroups, plan: SharePlan) -> None:
    """Topics have come, gone or grown; or share-partitions have been set up since the target was made."""
    group = plan.group
    is_behind = group.epoch == group.target_epoch and not group.is_target_complete()
    if not is_behind and not groups.has_seen_topics(group.group_id):
        is_behind = groups.topics.hash_of(group.subscribed_topics()) != group.metadata_hash
        if not is_behind:
            groups.saw_topics(group.group_id)
    if is_behind:
        bump_epoch(groups, plan)


def _make_target(groups: ShareGroups, plan: SharePlan, now: Now) -> None:
    """If the target is behind the group, and has not been made just now."""
    group = plan.group
    interval_ms = groups.config.assignment_interval_ms(groups.topics.configs_of(group.group_id))
    if group.is_target_behind and not group.has_fresh_target(interval_ms, now.wall_ms):
        write_target(plan, _assigned(group), records.target, records.target_epoch, now.wall_ms)


def _assigned(group: ShareGroup) -> dict[str, Target]:
    topics = group.assignable()
    names = {topic_id: group.topics.initialized[topic_id].name for topic_id in topics}
    subscribers = [
        Subscriber(
            member.member_id,
            frozenset(topic_id for topic_id, name in names.items() if name in member.topic_names),
            group.target.get(member.member_id, NOTHING),
        )
        for member in group.members.values()
    ]
    return assign(subscribers, topics)


def _take_target(groups: ShareGroups, plan: SharePlan, member: ShareMember) -> ShareMember:
    """All of it at once: nobody has to give anything back first."""
    group = plan.group
    assigned = _readable(groups, group.target.get(member.member_id, NOTHING), member)
    if member.epoch == group.target_epoch and member.assigned == assigned:
        return member
    previous = member.epoch if member.epoch != group.target_epoch else member.previous_epoch
    after = member._replace(epoch=group.target_epoch, previous_epoch=previous, assigned=assigned)
    plan.write(records.assignment(group.group_id, after))
    return after


def _readable(groups: ShareGroups, target: Target, member: ShareMember) -> Target:
    """What the member shall have, as far as it reads it still."""
    found: dict[bytes, frozenset[int]] = {}
    for topic_id, partitions in target.items():
        topic = groups.topics.by_id(topic_id)
        if topic is not None and topic.name in member.topic_names:
            found[topic_id] = partitions
    return found


# The answer


def _answer(
    groups: ShareGroups, request: ShareGroupHeartbeatRequest, before: ShareMember, member: ShareMember
) -> ShareGroupHeartbeatResponse:
    response = ShareGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=groups.config.heartbeat_interval_ms(groups.topics.configs_of(request.group_id)),
    )
    # whose epoch is an old one has missed an answer, and with it perhaps its assignment
    has_missed = request.member_epoch != before.epoch
    if has_missed or request.member_epoch == JOINING or before.assigned != member.assigned:
        response.assignment = _told(member.assigned)
    return response


def _told(assigned: Target) -> Assignment:
    topics = [
        TopicPartitions(topic_id=Uuid(topic_id), partitions=sorted(assigned[topic_id])) for topic_id in sorted(assigned)
    ]
    return Assignment(topic_partitions=topics)


# Members go


def _leave(groups: ShareGroups, request: ShareGroupHeartbeatRequest) -> Decided[ShareGroupHeartbeatResponse]:
    group = groups.group(request.group_id)
    known_member(group, request.member_id)
    response = ShareGroupHeartbeatResponse(member_id=request.member_id, member_epoch=LEAVING)
    return Decided(_without(groups, group, request.member_id), response)


def expire(groups: ShareGroups, group: ShareGroup, member_id: str) -> Decided[None]:
    return Decided(_without(groups, group, member_id))


def _without(groups: ShareGroups, group: ShareGroup, member_id: str) -> "list[Versioned]":
    plan = SharePlan(group)
    plan.write_all(records.no_member(group.group_id, member_id))
    bump_epoch(groups, plan)
    return plan.records
