"""The first phase of a rebalance, in which members join: how it begins (`prepare`), and how it ends (`complete_join`).

It ends when everybody has joined, which `ClassicRoom.follow_up` finds after every event, or when its time is over
(`join_time_is_over`). The second phase, the assignment, is that of `syncing.py`.
"""

from typing import TYPE_CHECKING

from odradek.coordinator.core import Answer, Decided
from odradek.coordinator.group.classic.classic_group import ClassicGroup
from odradek.coordinator.group.classic.groups import ClassicGroups
from odradek.coordinator.group.classic.member import Member
from odradek.coordinator.group.classic.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE
from odradek.coordinator.group.deadlines import JOIN, SYNC
from odradek.coordinator.now import Now
from odradek.protocol import errors

if TYPE_CHECKING:
    from odradek.protocol.messages.k11_join_group import JoinGroupResponse

RETRY_MS = 1000  # until a group that could not be written as empty is tried again


def prepare(groups: ClassicGroups, group: ClassicGroup, now: Now) -> list[Answer]:
    """Begins a rebalance, if one may begin; who waits for an assignment is told to join again."""
    if not group.can_rebalance:
        groups.may_complete(group)
        return []
    answers = _cancel_syncs(groups, group, now) if group.state == COMPLETING_REBALANCE else []
    groups.deadlines.clear((SYNC, group.group_id, ""))
    group.is_initial = group.state == EMPTY
    if group.is_initial:
        delay_ms = groups.shard.config.initial_rebalance_delay_ms
        group.initial_delay_left_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
        group.has_new_member = False
    else:
        delay_ms = group.rebalance_timeout_ms
    groups.deadlines.set((JOIN, group.group_id, ""), now.mono_ms + delay_ms)
    group.become(PREPARING_REBALANCE, now.wall_ms)
    groups.may_complete(group)
    return answers


def _cancel_syncs(groups: ClassicGroups, group: ClassicGroup, now: Now) -> list[Answer]:
    """Their sessions begin again with the answer: one that was over while the member waited was passed over."""
    from odradek.protocol.messages.k14_sync_group import SyncGroupResponse

    answers = []
    for member in group.members.values():
        member.assignment = b""
        if member.sync_ticket is not None:
            response = SyncGroupResponse(error_code=errors.RebalanceInProgress.code)
            answers.append(Answer(member.sync_ticket, response))
            member.sync_ticket = None
            groups.begin_session(group, member, now)
    return answers


def is_complete(group: ClassicGroup) -> bool:
    """Whether the rebalance need not wait any longer. The first one of a group always waits its time."""
    return group.state == PREPARING_REBALANCE and not group.is_initial and group.has_all_joined


def join_time_is_over(groups: ClassicGroups, group: ClassicGroup, now: Now) -> Decided[None]:
    if group.state != PREPARING_REBALANCE:
        return Decided()
    if group.is_initial and group.has_new_member and group.initial_delay_left_ms > 0:
        delay_ms = min(groups.shard.config.initial_rebalance_delay_ms, group.initial_delay_left_ms)
        group.initial_delay_left_ms -= delay_ms
        group.has_new_member = False
        groups.deadlines.set((JOIN, group.group_id, ""), now.mono_ms + delay_ms)
        return Decided()
    return complete_join(groups, group, now)


def complete_join(groups: ClassicGroups, group: ClassicGroup, now: Now) -> Decided[None]:
    """Who has not joined is out, unless it is static: that one may only be restarting."""
    for member in list(group.members.values()):
        if member.join_ticket is None and not member.is_static:
            group.remove(member.member_id)
    if not group.members:
        return _become_empty(groups, group, now)
    if not group.elect_joined_leader():
        groups.deadlines.set((JOIN, group.group_id, ""), now.mono_ms + group.rebalance_timeout_ms)
        return Decided()  # static members alone, and none is back: their sessions will decide
    return Decided(effects=_begin_generation(groups, group, now))


def _become_empty(groups: ClassicGroups, group: ClassicGroup, now: Now) -> Decided[None]:
    groups.deadlines.set((JOIN, group.group_id, ""), now.mono_ms + RETRY_MS)  # of no effect once the record is replayed
    return Decided([groups.record(group, group.emptied(group.generation + 1, now.wall_ms))])


def _begin_generation(groups: ClassicGroups, group: ClassicGroup, now: Now) -> list[Answer]:
    group.begin_generation(now.wall_ms)
    groups.deadlines.clear((JOIN, group.group_id, ""))
    groups.deadlines.set((SYNC, group.group_id, ""), now.mono_ms + group.rebalance_timeout_ms)
    answers = []
    for member in group.members.values():
        if member.join_ticket is not None:
            answers.append(Answer(member.join_ticket, joined(group, member)))
            member.join_ticket = None
        member.is_new = False
        groups.begin_session(group, member, now)
    return answers


def joined(
    group: ClassicGroup, member: Member, *, leader: str | None = None, skips: bool = False
) -> "JoinGroupResponse":
    """What a member is told of the generation; the leader alone who else is in it."""
    from odradek.protocol.messages.k11_join_group import JoinGroupResponse, JoinGroupResponseMember

    leader = group.leader if leader is None else leader
    members = []
    if leader == member.member_id:
        members = [
            JoinGroupResponseMember(
                member_id=each.member_id,
                group_instance_id=each.instance_id,
                metadata=each.metadata(group.protocol),
            )
            for each in group.members.values()
        ]
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=leader or "",
        skip_assignment=skips,
        member_id=member.member_id,
        members=members,
    )


def remove_member(groups: ClassicGroups, group: ClassicGroup, member: Member, now: Now) -> list[Answer]:
    """A member leaves or is expired; who it was may still wait, and is told to come anew."""
    answers = _refuse(member, "", errors.UnknownMemberId)
    group.remove(member.member_id)
    return answers + prepare(groups, group, now)


def fence(member: Member) -> list[Answer]:
    """Another has taken this static member's place."""
    return _refuse(member, member.member_id, errors.FencedInstanceId)


def _refuse(member: Member, member_id: str, error: type[errors.KafkaError]) -> list[Answer]:
    from odradek.coordinator.group.classic.refusals import refusals

    answers = refusals(member, member_id, error)
    member.join_ticket = member.sync_ticket = None
    return answers
