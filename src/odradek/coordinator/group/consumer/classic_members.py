"""Members of a consumer group that speak the classic protocol, while the group changes from one to the other.

To them the coordinator looks like a classic one whose rebalances never wait: a join is answered at once with the
member's epoch as generation, a sync with what the member has. A heartbeat that finds something to give back, to take or
a newer target says REBALANCE_IN_PROGRESS; the next join then says what the member still owns, and is its step in the
reconciliation. There is no leader: nobody is told who else is there.
"""

from typing import TYPE_CHECKING

from odradek.coordinator.core import Answer, Decided, Ticket
from odradek.coordinator.group.classic.member import Joiner, Protocols, protocols_of
from odradek.coordinator.group.classic.refusals import join_refusal
from odradek.coordinator.group.classic.states import CONSUMER
from odradek.coordinator.group.consumer import embedded, leaving, migration, target
from odradek.coordinator.group.consumer.fencing import known_member, take_instance
from odradek.coordinator.group.consumer.group import ConsumerGroup, ConsumerPlan
from odradek.coordinator.group.consumer.groups import ConsumerGroups
from odradek.coordinator.group.consumer.heartbeat import step, subscribe
from odradek.coordinator.group.consumer.member import (
    NO_TARGET,
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
    ClassicJoin,
    ConsumerMember,
    Target,
    places,
)
from odradek.coordinator.now import Now
from odradek.protocol import errors
from odradek.protocol.messages.k11_join_group import JoinGroupRequest, JoinGroupResponse
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.protocol.messages.k13_leave_group import LeaveGroupResponse, MemberIdentity, MemberResponse
from odradek.protocol.messages.k14_sync_group import SyncGroupRequest, SyncGroupResponse

if TYPE_CHECKING:
    from odradek.protocol.messages.consumer_protocol import ConsumerProtocolSubscription


# Joining


def join(
    groups: ConsumerGroups, now: Now, group: ConsumerGroup, request: JoinGroupRequest, joiner: Joiner, ticket: Ticket
) -> Decided[None]:
    try:
        plan = ConsumerPlan(group)
        response = _join(groups, now, plan, request, joiner)
    except errors.KafkaError as error:
        return Decided(effects=[Answer(ticket, join_refusal(error, ""))])
    return Decided(plan.records, effects=[Answer(ticket, response)])


def _join(
    groups: ConsumerGroups, now: Now, plan: ConsumerPlan, request: JoinGroupRequest, joiner: Joiner
) -> JoinGroupResponse:
    if not groups.classic.accepts(request):
        return join_refusal(errors.InvalidSessionTimeout(), request.member_id)
    if len(plan.group.members) >= groups.config.members_max and request.member_id not in plan.group.members:
        raise errors.GroupMaxSizeReached()
    _check_protocols(plan.group, request)
    member_id = request.member_id or groups.new_member_id()
    if not request.member_id and request.group_instance_id is None and joiner.requires_known_member_id:
        return join_refusal(errors.MemberIdRequired(), member_id)
    before = _member_of(plan, request, member_id)
    protocols = protocols_of(request)
    subscription = _subscription(protocols)
    subscribe(groups, plan, before, _updated(before, request, joiner, protocols, subscription))
    target.make_target(groups, plan, now)
    owned = _owned(groups, before, subscription)
    member = step(groups, plan, plan.group.members[member_id], owned, now)
    groups.begin_session(plan.group.group_id, member, now)
    groups.await_sync(plan.group.group_id, member, now)
    if migration.can_downgrade(groups, plan.group):
        migration.downgrade(groups, plan, now, rebalances=False)
    return JoinGroupResponse(
        generation_id=member.epoch,
        protocol_type=CONSUMER,
        protocol_name=protocols[0][0],
        leader="",
        member_id=member_id,
    )


def _check_protocols(group: ConsumerGroup, request: JoinGroupRequest) -> None:
    """InconsistentGroupProtocol unless who joins knows a protocol that all other classic members know."""
    common = {protocol.name for protocol in request.protocols}
    for member in group.members.values():
        if member.classic is not None and member.member_id != request.member_id:
            common &= {name for name, _ in member.classic.protocols}
    if request.protocol_type != CONSUMER or not common:
        raise errors.InconsistentGroupProtocol()


def _subscription(protocols: Protocols) -> "ConsumerProtocolSubscription":
    try:
        return embedded.subscription_of(protocols)
    except errors.PeerProtocolError as error:
        raise errors.InconsistentGroupProtocol(f"The metadata of the member cannot be read: {error}") from error


def _member_of(plan: ConsumerPlan, request: JoinGroupRequest, member_id: str) -> ConsumerMember:
    """A static member takes a place without an id. One that has an id must be the one in that place: it may be a zombie
    that another has replaced, or that was away for too long and still reads what others have now.
    """
    instance_id = request.group_instance_id
    if instance_id is None:
        return plan.group.members.get(member_id) or ConsumerMember(member_id)
    if request.member_id:
        return known_member(plan.group, member_id, instance_id)
    return take_instance(plan, member_id, instance_id)


def _updated(
    before: ConsumerMember,
    request: JoinGroupRequest,
    joiner: Joiner,
    protocols: Protocols,
    subscription: "ConsumerProtocolSubscription",
) -> ConsumerMember:
    return before._replace(
        instance_id=before.instance_id if request.group_instance_id is None else request.group_instance_id,
        rack_id=before.rack_id if subscription.rack_id is None else subscription.rack_id,
        client_id=joiner.client_id,
        client_host=joiner.client_host,
        topic_names=tuple(sorted(set(subscription.topics))),
        regex="",
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        classic=ClassicJoin(request.session_timeout_ms, protocols),
    )


def _owned(groups: ConsumerGroups, before: ConsumerMember, subscription: "ConsumerProtocolSubscription") -> Target:
    """What it says it owns is of the generation that it says, else it owns nothing any more.

    Before version 2 there is no generation to tell: then what it says is taken as it is.
    """
    if subscription.generation_id not in (-1, before.epoch):
        return NO_TARGET
    return embedded.owned_of(subscription, groups.topics)


# Syncing, heartbeats


def sync(
    groups: ConsumerGroups, now: Now, group: ConsumerGroup, request: SyncGroupRequest, ticket: Ticket
) -> Decided[None]:
    try:
        member, classic = _checked(group, request.member_id, request.group_instance_id, request.generation_id)
        if request.protocol_type not in (None, CONSUMER) or request.protocol_name not in (
            None,
            classic.protocols[0][0],
        ):
            raise errors.InconsistentGroupProtocol()
        if member.epoch < group.target_epoch and member.state != UNREVOKED_PARTITIONS:
            raise errors.RebalanceInProgress()
    except errors.KafkaError as error:
        return Decided(effects=[Answer(ticket, SyncGroupResponse(error_code=error.code))])
    groups.begin_session(group.group_id, member, now)
    groups.synced(group.group_id, member.member_id)
    response = SyncGroupResponse(
        protocol_type=CONSUMER,
        protocol_name=classic.protocols[0][0],
        assignment=embedded.assignment_bytes(member.assigned, classic.protocols, groups.topics),
    )
    return Decided(effects=[Answer(ticket, response)])


def heartbeat(
    groups: ConsumerGroups, now: Now, group: ConsumerGroup, request: HeartbeatRequest
) -> Decided[HeartbeatResponse]:
    try:
        member, _ = _checked(group, request.member_id, request.group_instance_id, request.generation_id)
    except errors.KafkaError as error:
        return Decided(response=HeartbeatResponse(error_code=error.code))
    groups.begin_session(group.group_id, member, now)
    if not _has_to_join(group, member):
        return Decided(response=HeartbeatResponse())
    groups.await_join(group.group_id, member, now)
    return Decided(response=HeartbeatResponse(error_code=errors.RebalanceInProgress.code))


def _has_to_join(group: ConsumerGroup, member: ConsumerMember) -> bool:
    if member.epoch < group.target_epoch or member.state == UNREVOKED_PARTITIONS:
        return True
    return member.state == UNRELEASED_PARTITIONS and any(
        group.is_free(member.member_id, topic_id, partition)
        for topic_id, partition in places(group.target.get(member.member_id, NO_TARGET))
        if partition not in member.assigned.get(topic_id, ())
    )


def _checked(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
) -> tuple[ConsumerMember, ClassicJoin]:
    member = known_member(group, member_id, instance_id)
    if member.classic is None:
        raise errors.UnknownMemberId(f"Member {member_id} does not use the classic protocol.")
    if generation != member.epoch:
        raise errors.IllegalGeneration()
    return member, member.classic


# Leaving


def leave(
    groups: ConsumerGroups, now: Now, group: ConsumerGroup, identities: list[MemberIdentity]
) -> Decided[LeaveGroupResponse]:
    """Members of either protocol, if an admin sends them away by their instance id."""
    results = []
    gone: dict[str, ConsumerMember] = {}
    for identity in identities:
        code = errors.NONE
        try:
            member = _leaving(group, identity)
            gone[member.member_id] = member
        except errors.KafkaError as error:
            code = error.code
        results.append(
            MemberResponse(member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=code)
        )
    plan = ConsumerPlan(group)
    if gone:
        leaving.remove(groups, plan, list(gone.values()), now)
    return Decided(plan.records, LeaveGroupResponse(members=results))


def _leaving(group: ConsumerGroup, identity: MemberIdentity) -> ConsumerMember:
    member_id, instance_id = identity.member_id, identity.group_instance_id
    if not member_id and instance_id is not None:
        member_id = group.static_members.get(instance_id, "")
        return known_member(group, member_id, instance_id)
    member = known_member(group, member_id, instance_id)
    if member.classic is None:
        raise errors.UnknownMemberId(f"Member {member_id} does not use the classic protocol.")
    return member
