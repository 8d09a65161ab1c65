"""SyncGroup and Heartbeat: the assignment, and the signs of life.

The leader's SyncGroup writes the group, with everybody's assignment, to the log; its replay makes the group Stable. The
other members' SyncGroups are held until then.
"""

from odradek.coordinator.core import Answer, Decided, Ticket
from odradek.coordinator.group.classic.classic_group import ClassicGroup
from odradek.coordinator.group.classic.groups import ClassicGroups
from odradek.coordinator.group.classic.member import Member
from odradek.coordinator.group.classic.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE
from odradek.coordinator.group.deadlines import SYNC
from odradek.coordinator.now import Now
from odradek.protocol import errors
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.protocol.messages.k14_sync_group import SyncGroupRequest, SyncGroupResponse


def sync(groups: ClassicGroups, now: Now, request: SyncGroupRequest, ticket: Ticket) -> Decided[None]:
    try:
        group, member = _checked(groups, request.group_id, request)
        _check_protocol(request.protocol_type, group.protocol_type)
        _check_protocol(request.protocol_name, group.protocol)
        if group.state == PREPARING_REBALANCE:
            raise errors.RebalanceInProgress()
    except errors.KafkaError as error:
        return Decided(effects=[Answer(ticket, SyncGroupResponse(error_code=error.code))])
    _synced(groups, group, member)
    groups.begin_session(group, member, now)
    if group.state != COMPLETING_REBALANCE:
        return Decided(effects=[Answer(ticket, sync_answer(group, member.assignment))])
    answers = _give_up_older(member)
    if group.leader != member.member_id:
        member.sync_ticket = ticket
        return Decided(effects=answers)
    return _assign(groups, now, group, request, answers, ticket)


def _give_up_older(member: Member) -> list[Answer]:
    """An older attempt of the same member, on a connection that it has given up."""
    ticket, member.sync_ticket = member.sync_ticket, None
    if ticket is None:
        return []
    return [Answer(ticket, SyncGroupResponse(error_code=errors.RebalanceInProgress.code))]


def _assign(
    groups: ClassicGroups,
    now: Now,
    group: ClassicGroup,
    request: SyncGroupRequest,
    answers: list[Answer],
    ticket: Ticket,
) -> Decided[None]:
    """Members that the leader has forgotten get nothing; those that it has made up are ignored."""
    assignments = {each.member_id: bytes(each.assignment) for each in request.assignments}
    answers.append(Answer(ticket, sync_answer(group, assignments.get(request.member_id, b""))))
    for member in group.members.values():
        if member.sync_ticket is not None:  # forgotten by the replay of the record
            groups.begin_session(group, member, now)
            answers.append(Answer(member.sync_ticket, sync_answer(group, assignments.get(member.member_id, b""))))
    groups.shard.counts.rebalances_completed += 1
    return Decided([groups.record(group, group.to_write_assigned(assignments))], effects=answers)


def sync_answer(group: ClassicGroup, assignment: bytes) -> SyncGroupResponse:
    return SyncGroupResponse(protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=assignment)


def _synced(groups: ClassicGroups, group: ClassicGroup, member: Member) -> None:
    group.pending_sync.discard(member.member_id)
    if not group.pending_sync:
        groups.deadlines.clear((SYNC, group.group_id, ""))


def heartbeat(groups: ClassicGroups, now: Now, request: HeartbeatRequest) -> Decided[HeartbeatResponse]:
    try:
        group, member = _checked(groups, request.group_id, request)
    except errors.KafkaError as error:
        return Decided(response=HeartbeatResponse(error_code=error.code))
    groups.begin_session(group, member, now)
    is_rebalancing = group.state == PREPARING_REBALANCE
    return Decided(response=HeartbeatResponse(error_code=errors.RebalanceInProgress.code if is_rebalancing else 0))


def _checked(
    groups: ClassicGroups, group_id: str, request: SyncGroupRequest | HeartbeatRequest
) -> tuple[ClassicGroup, Member]:
    group = groups.groups.get(group_id)
    if group is None or group.state == EMPTY:
        raise errors.UnknownMemberId()
    member = group.check_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise errors.IllegalGeneration()
    return group, member


def _check_protocol(asked: str | None, current: str | None) -> None:
    """Versions before 5 do not tell."""
    if asked is not None and asked != current:
        raise errors.InconsistentGroupProtocol()
