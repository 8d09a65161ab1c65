"""JoinGroup: a member comes, comes again, or comes back.

A new member without an id gets one. From version 4 on it has to join once more with it (MEMBER_ID_REQUIRED), so that an
answer that is lost leaves no member behind. A static member is known by its instance id: a second one with the same
instance id takes the place of the first, which is fenced.
"""

from typing import TYPE_CHECKING, Any

from odradek.coordinator.core import Answer, Decided
from odradek.coordinator.group.classic import rebalancing
from odradek.coordinator.group.classic.classic_group import (
    COMPLETING_REBALANCE,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    ClassicGroup,
)
from odradek.coordinator.group.classic.member import Joiner, Member, protocols_of
from odradek.coordinator.group.deadlines import PENDING_MEMBER, SESSION
from odradek.coordinator.now import Now
from odradek.protocol import errors
from odradek.protocol.messages.k11_join_group import JoinGroupRequest, JoinGroupResponse

if TYPE_CHECKING:
    from odradek.coordinator.group.core import GroupCore

# A new member has no id to send heartbeats with: it may be gone, and another attempt of its own may be waiting as well.
NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000


class _Joining:
    """One JoinGroup on its way through."""

    __slots__ = ("core", "group", "joiner", "now", "request", "ticket")

    def __init__(
        self, core: "GroupCore", group: ClassicGroup, now: Now, request: JoinGroupRequest, joiner: Joiner, ticket: Any
    ) -> None:
        self.core = core
        self.group = group
        self.now = now
        self.request = request
        self.joiner = joiner
        self.ticket = ticket

    def answer(self, response: JoinGroupResponse) -> Decided[None]:
        return Decided(effects=[Answer(self.ticket, response)])

    def current(self, member: Member) -> Decided[None]:
        """The generation as it is: nothing changes."""
        self.core.begin_session(self.group, member, self.now)
        return self.answer(rebalancing.joined(self.group, member))


def join(core: "GroupCore", now: Now, request: JoinGroupRequest, joiner: Joiner, ticket: Any) -> Decided[None]:
    try:
        if not core.accepts(request):
            raise errors.InvalidSessionTimeout()
        group = core.groups.get(request.group_id)
        if group is None:
            is_other = core.streams.has_members(request.group_id) or request.group_id in core.shares.groups
            raise errors.InconsistentGroupProtocol() if is_other else errors.UnknownMemberId()
        joining = _Joining(core, group, now, request, joiner, ticket)
        if not _has_room(core, group, request.member_id):
            return _turned_away(joining)
        if not group.supports(request.protocol_type, [protocol.name for protocol in request.protocols]):
            raise errors.InconsistentGroupProtocol()
        return _join_new(joining) if not request.member_id else _join_known(joining)
    except errors.KafkaError as error:
        return Decided(effects=[Answer(ticket, refusal(error, request.member_id))])


def refusal(error: errors.KafkaError, member_id: str) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=error.code, protocol_name=None, member_id=member_id)


def _has_room(core: "GroupCore", group: ClassicGroup, member_id: str) -> bool:
    """group.max.size. While members join, those count that have; a group that was larger can thus shrink."""
    if group.state == EMPTY:
        return True
    member = group.members.get(member_id)
    if group.state == PREPARING_REBALANCE:
        is_waiting = member is not None and member.join_ticket is not None
        return is_waiting or group.joined_count < core.config.members_max
    return member is not None or len(group.members) < core.config.members_max


def _turned_away(joining: _Joining) -> Decided[None]:
    """Nobody waits for it any more, as in a 3.3; a 4.3 forgets to look, and holds the others up for the whole time that
    a rebalance may take."""
    core, group, member_id = joining.core, joining.group, joining.request.member_id
    if member_id in group.members:
        group.remove(member_id)
    group.pending_members.discard(member_id)
    core.deadlines.clear((PENDING_MEMBER, group.group_id, member_id))
    core.may_complete(group)
    return joining.answer(refusal(errors.GroupMaxSizeReached(), ""))


# Without a member id.


def _join_new(joining: _Joining) -> Decided[None]:
    request, group, core = joining.request, joining.group, joining.core
    instance_id = request.group_instance_id
    member_id = f"{joining.joiner.client_id if instance_id is None else instance_id}-{core.new_uuid()}"
    if instance_id is not None and instance_id in group.static_members:
        return _come_back(joining, group.static_members[instance_id], member_id)
    if instance_id is None and joining.joiner.requires_known_member_id:
        group.pending_members.add(member_id)
        core.deadlines.set(
            (PENDING_MEMBER, group.group_id, member_id), joining.now.mono_ms + request.session_timeout_ms
        )
        return joining.answer(refusal(errors.MemberIdRequired(), member_id))
    return _add(joining, member_id)


def _add(joining: _Joining, member_id: str) -> Decided[None]:
    group, core = joining.group, joining.core
    member = Member.of_request(member_id, joining.request, joining.joiner)
    member.is_new = True
    member.join_ticket = joining.ticket
    group.add(member, joining.request.protocol_type)
    core.deadlines.clear((PENDING_MEMBER, group.group_id, member_id))
    core.begin_session(group, member, joining.now, NEW_MEMBER_JOIN_TIMEOUT_MS)
    if group.state == PREPARING_REBALANCE and group.is_initial:
        group.has_new_member = True
    return Decided(effects=rebalancing.prepare(core, group, joining.now))


# A static member that comes back.


def _come_back(joining: _Joining, old_id: str, new_id: str) -> Decided[None]:
    group = joining.group
    member = Member.of_request(new_id, joining.request, joining.joiner)
    if group.state == STABLE and _keeps_protocol(group, old_id, member):
        return _come_back_unnoticed(joining, old_id, member)
    old = group.replace(old_id, member)
    answers = rebalancing.fence(old)
    joining.core.deadlines.clear((SESSION, group.group_id, old_id))
    joining.core.begin_session(group, member, joining.now)
    member.join_ticket = joining.ticket
    return Decided(effects=answers + rebalancing.prepare(joining.core, group, joining.now))


def _keeps_protocol(group: ClassicGroup, old_id: str, member: Member) -> bool:
    """Whether the group would choose the same protocol with the member's new preferences."""
    old = group.members[old_id]
    protocols = old.protocols
    old.protocols = member.protocols
    try:
        return group.select_protocol() == group.protocol
    finally:
        old.protocols = protocols


def _come_back_unnoticed(joining: _Joining, old_id: str, member: Member) -> Decided[None]:
    """No rebalance: the member gets its old assignment under its new id, once that is in the log.

    A leader that comes back and can skip the assignment is told that it leads, so that it watches the topics again; an
    older one is told the id that it had, lest it assign anew.
    """
    core, group = joining.core, joining.group
    was_leader = group.leader == old_id
    old = group.members[old_id]
    member.assignment = old.assignment
    core.begin_session(group, member, joining.now)
    group.replacement = member
    record = core.records.stable(*_replaced(group, old_id, member))
    skips = was_leader and joining.joiner.can_skip_assignment
    leader = member.member_id if skips else group.leader
    response = rebalancing.joined(group, member, leader=leader, skips=skips)
    if skips:
        for told in response.members:
            if told.member_id == old_id:
                told.member_id = member.member_id
                told.metadata = member.metadata(group.protocol)
    return Decided([record], effects=[*rebalancing.fence(old), Answer(joining.ticket, response)])


def _replaced(group: ClassicGroup, old_id: str, member: Member) -> tuple[ClassicGroup, dict[str, bytes]]:
    """The group as it will be, without touching the one that is."""
    planned = ClassicGroup(group.group_id)
    planned.generation, planned.protocol, planned.protocol_type = group.generation, group.protocol, group.protocol_type
    planned.leader = member.member_id if group.leader == old_id else group.leader
    planned.state_since_ms = group.state_since_ms
    planned.members = {
        each.member_id: each
        for each in (member if known.member_id == old_id else known for known in group.members.values())
    }
    return planned, {each.member_id: each.assignment for each in planned.members.values()}


# With a member id.


def _join_known(joining: _Joining) -> Decided[None]:
    request, group = joining.request, joining.group
    if request.member_id in group.pending_members:
        if request.group_instance_id is not None:
            raise errors.UnknownServerError("A member with a pending id is not static.")
        return _add(joining, request.member_id)
    member = group.check_member(request.member_id, request.group_instance_id)
    if group.state == PREPARING_REBALANCE:
        return _update(joining, member)
    is_same = member.protocols == protocols_of(request)
    if group.state == COMPLETING_REBALANCE:
        # Its first answer was lost: it gets the same again.
        return joining.current(member) if is_same else _update(joining, member)
    # A leader joins again to have everything assigned anew; another member may just have missed the answer.
    if is_same and group.leader != member.member_id:
        return joining.current(member)
    return _update(joining, member)


def _update(joining: _Joining, member: Member) -> Decided[None]:
    request, core, group = joining.request, joining.core, joining.group
    answers = []
    if member.join_ticket is not None:  # an older attempt of the same member, on a connection that it has given up
        answers.append(Answer(member.join_ticket, refusal(errors.RebalanceInProgress(), member.member_id)))
    member.protocols = protocols_of(request)
    member.rebalance_timeout_ms = request.rebalance_timeout_ms
    member.session_timeout_ms = request.session_timeout_ms
    member.join_ticket = joining.ticket
    core.begin_session(group, member, joining.now)
    return Decided(effects=answers + rebalancing.prepare(core, group, joining.now))
