"""ConsumerGroupHeartbeat: a member joins, stays, takes and gives back, and leaves.

What happens, in this order, each step on what the ones before have decided: the member is found and fenced if it is
not the one it says; what it subscribes to is written if it is new, and the group's epoch grows if that changes what
there is to assign; the target is made if it is behind; the member takes its next step towards it.
"""

from collections.abc import Callable

from odradek.coordinator.core import Answer, Decided
from odradek.coordinator.group.classic.records import group_tombstone
from odradek.coordinator.group.classic.states import EMPTY
from odradek.coordinator.group.consumer import leaving, migration, records, regex, requests, target
from odradek.coordinator.group.consumer.expression import compiled
from odradek.coordinator.group.consumer.fencing import check_epoch, known_member, take_instance
from odradek.coordinator.group.consumer.group import ConsumerGroup, ConsumerPlan
from odradek.coordinator.group.consumer.groups import ConsumerGroups
from odradek.coordinator.group.consumer.member import Assigned, ConsumerMember, Target
from odradek.coordinator.group.consumer.reconciliation import reconcile
from odradek.coordinator.group.consumer.requests import Caller
from odradek.coordinator.group.epochs.group import JOINING
from odradek.coordinator.group.epochs.members import check_size
from odradek.coordinator.now import Now
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.k68_consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatResponseTopicPartitions,
)


def heartbeat(
    groups: ConsumerGroups, now: Now, request: ConsumerGroupHeartbeatRequest, caller: Caller
) -> Decided[ConsumerGroupHeartbeatResponse]:
    try:
        requests.check(request, caller.version, groups.config.assignors)
        if request.member_epoch < JOINING:
            return leaving.leave(groups, now, request)
        if request.subscribed_topic_regex:
            compiled(request.subscribed_topic_regex)
        return _stay(groups, now, request, caller)
    except errors.KafkaError as error:
        return Decided(response=refused(error))


def refused(error: errors.KafkaError) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=error.message)


def _stay(
    groups: ConsumerGroups, now: Now, request: ConsumerGroupHeartbeatRequest, caller: Caller
) -> Decided[ConsumerGroupHeartbeatResponse]:
    plan, answers = _group_of(groups, now, request)
    if request.member_id not in plan.group.members:
        check_size(plan.group.members, groups.config.members_max, groups.protocol)
    owned = _owned(request)
    before = _member_of(plan, request, groups.new_member_id, owned)
    member = _updated(before, request, caller)
    subscribe(groups, plan, before, member)
    target.make_target(groups, plan, now)
    member = step(groups, plan, plan.group.members[member.member_id], owned, now)
    groups.begin_session(plan.group.group_id, member, now)
    regex.refresh(groups, plan.group, now, caller.may_describe)
    return Decided(plan.records, _answer(groups, request, before, member), effects=answers)


def _group_of(
    groups: ConsumerGroups, now: Now, request: ConsumerGroupHeartbeatRequest
) -> tuple[ConsumerPlan, list[Answer]]:
    """Who joins makes the group, or takes over a classic one."""
    group_id = request.group_id
    group = groups.groups.get(group_id)
    if group is not None:
        return ConsumerPlan(group), []
    classic = groups.classic.groups.get(group_id)
    if request.member_epoch != JOINING or (classic is None and groups.shard.has_group(group_id)):
        raise groups.not_found(group_id)
    if classic is not None and classic.state != EMPTY:
        return migration.upgraded(groups, now, classic)
    plan = ConsumerPlan(ConsumerGroup(group_id), is_new=True)
    if classic is not None and classic.is_written:
        plan.records.append(group_tombstone(group_id))
    return plan, []


# Which member it is


def _member_of(
    plan: ConsumerPlan,
    request: ConsumerGroupHeartbeatRequest,
    new_member_id: Callable[[], str],
    owned: Target | None,
) -> ConsumerMember:
    group, member_id, instance_id = plan.group, request.member_id, request.instance_id
    if request.member_epoch == JOINING:
        if not member_id:
            return ConsumerMember(new_member_id())
        if instance_id is not None:
            return take_instance(plan, member_id, instance_id)
        return group.members.get(member_id) or ConsumerMember(member_id)
    member = known_member(group, member_id, instance_id)
    check_epoch(member, request.member_epoch, owned)
    return member


def _updated(before: ConsumerMember, request: ConsumerGroupHeartbeatRequest, caller: Caller) -> ConsumerMember:
    """Null fields have not changed since the last heartbeat."""
    names, timeout_ms = request.subscribed_topic_names, request.rebalance_timeout_ms
    return before._replace(
        instance_id=before.instance_id if request.instance_id is None else request.instance_id,
        rack_id=before.rack_id if request.rack_id is None else request.rack_id,
        client_id=caller.client_id,
        client_host=caller.client_host,
        topic_names=before.topic_names if names is None else tuple(sorted(set(names))),
        regex=before.regex if request.subscribed_topic_regex is None else request.subscribed_topic_regex,
        rebalance_timeout_ms=before.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        server_assignor=before.server_assignor if request.server_assignor is None else request.server_assignor,
        classic=None,
    )


# What it subscribes to, has, and shall have; for members of either protocol


def subscribe(groups: ConsumerGroups, plan: ConsumerPlan, before: ConsumerMember, member: ConsumerMember) -> None:
    group_id = plan.group.group_id
    if member.member_id not in plan.group.members or member.subscription() != before.subscription():
        plan.write(records.member(group_id, member))
    regex.drop_unused(plan, before.regex)
    if before.topic_names != member.topic_names or _changes_regex(plan.group, before, member):
        target.bump_epoch(groups, plan)
    else:
        target.look_at_topics(groups, plan)


def _changes_regex(group: ConsumerGroup, before: ConsumerMember, member: ConsumerMember) -> bool:
    """An expression that is not looked up yet changes nothing until it is."""
    if before.regex == member.regex:
        return False
    return bool(before.regex) or member.regex in group.regexes


def step(
    groups: ConsumerGroups, plan: ConsumerPlan, member: ConsumerMember, owned: Target | None, now: Now
) -> ConsumerMember:
    """Towards the target; the member after it."""
    group = plan.group
    after = reconcile(
        member,
        group.target_epoch,
        target.target_of(groups, plan, member),
        owned,
        lambda topic_id, partition: group.is_free(member.member_id, topic_id, partition),
    )
    if after is not member:
        plan.write(records.assignment(group.group_id, after))
        groups.time_revocation(group.group_id, after, now)
    return after


# The answer


def _owned(request: ConsumerGroupHeartbeatRequest) -> Target | None:
    if request.topic_partitions is None:
        return None
    owned: dict[bytes, frozenset[int]] = {}
    for topic in request.topic_partitions:
        topic_id = bytes(topic.topic_id)
        owned[topic_id] = owned.get(topic_id, frozenset()) | frozenset(topic.partitions)
    return owned


def _answer(
    groups: ConsumerGroups, request: ConsumerGroupHeartbeatRequest, before: ConsumerMember, member: ConsumerMember
) -> ConsumerGroupHeartbeatResponse:
    response = ConsumerGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=groups.config.heartbeat_interval_ms(groups.topics.configs_of(request.group_id)),
    )
    # whose epoch is an old one has missed an answer, and with it perhaps its assignment
    has_missed = request.member_epoch != before.epoch
    if has_missed or _is_full(request) or _partitions(before.assigned) != _partitions(member.assigned):
        response.assignment = _told(member.assigned)
    return response


def _is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Who joins and who tells everything is told everything."""
    has_subscription = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    is_whole = request.rebalance_timeout_ms >= 0 and has_subscription and request.topic_partitions is not None
    return request.member_epoch == JOINING or is_whole


def _partitions(assigned: Assigned) -> dict[bytes, frozenset[int]]:
    return {topic_id: frozenset(partitions) for topic_id, partitions in assigned.items()}


def _told(assigned: Assigned) -> Assignment:
    topics = [
        ConsumerGroupHeartbeatResponseTopicPartitions(topic_id=Uuid(topic_id), partitions=sorted(assigned[topic_id]))
        for topic_id in sorted(assigned)
        if assigned[topic_id]
    ]
    return Assignment(topic_partitions=topics)
