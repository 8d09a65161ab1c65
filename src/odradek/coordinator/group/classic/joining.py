"""JoinGroup: a member comes, comes again, or comes back.

A new member without an id gets one. From version 4 on it has to join once more with it (MEMBER_ID_REQUIRED), so that an
answer that is lost leaves no member behind. A static member is known by its instance id: a second one with the same
instance id takes the place of the first, which is fenced.
"""

from odradek.broken_rule import present
from odradek.coordinator.core import Answer, Decided, Ticket
from odradek.coordinator.group.classic import rebalancing
from odradek.coordinator.group.classic.classic_group import ClassicGroup
from odradek.coordinator.group.classic.group_in_memory import select_protocol
from odradek.coordinator.group.classic.groups import ClassicGroups
from odradek.coordinator.group.classic.member import Joiner, Member, protocols_of
from odradek.coordinator.group.classic.refusals import join_refusal
from odradek.coordinator.group.classic.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from odradek.coordinator.group.deadlines import PENDING_MEMBER, SESSION
from odradek.coordinator.now import Now
from odradek.protocol import errors
from odradek.protocol.messages.k11_join_group import JoinGroupRequest, JoinGroupResponse

# A new member has no id to send heartbeats with: it may be gone, and another attempt of its own may be waiting as well.
NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000


class _Joining:
    """One JoinGroup on its way through."""

    __slots__ = ("group", "groups", "joiner", "now", "request", "ticket")

    def __init__(
        self,
        groups: ClassicGroups,
        group: ClassicGroup,
        now: Now,
        request: JoinGroupRequest,
        joiner: Joiner,
        ticket: Ticket,
    ) -> None:
        self.groups = groups
        self.group = group
        self.now = now
        self.request = request
        self.joiner = joiner
        self.ticket = ticket

    def answer(self, response: JoinGroupResponse) -> Decided[None]:
        return Decided(effects=[Answer(self.ticket, response)])

    def answer_current(self, member: Member) -> Decided[None]:
        """Answers with the generation as it is: no rebalance begins."""
        self.groups.begin_session(self.group, member, self.now)
        return self.answer(rebalancing.joined(self.group, member))


def join(groups: ClassicGroups, now: Now, request: JoinGroupRequest, joiner: Joiner, ticket: Ticket) -> Decided[None]:
    try:
        if not groups.accepts(request):
            raise errors.InvalidSessionTimeout()
        group = groups.groups.get(request.group_id)
        if group is None:
            is_other = any(kind.keeps_classic_out(request.group_id) for kind in groups.shard.kinds)
            raise errors.InconsistentGroupProtocol() if is_other else errors.UnknownMemberId()
        joining = _Joining(groups, group, now, request, joiner, ticket)
        if not _is_within_max_size(groups, group, request.member_id):
            return _turned_away(joining)
        if not group.supports(request.protocol_type, [protocol.name for protocol in request.protocols]):
            raise errors.InconsistentGroupProtocol()
        return _join_new(joining) if not request.member_id else _join_known(joining)
    except errors.KafkaError as error:
        return Decided(effects=[Answer(ticket, join_refusal(error, request.member_id))])


def _is_within_max_size(groups: ClassicGroups, group: ClassicGroup, member_id: str) -> bool:
    """group.max.size. While members join, those count that have; a group that was larger can thus shrink."""
    if group.state == EMPTY:
        return True
    member = group.members.get(member_id)
    if group.state == PREPARING_REBALANCE:
        is_waiting = member is not None and member.join_ticket is not None
        return is_waiting or group.joined_count < groups.shard.config.members_max
    return member is not None or len(group.members) < groups.shard.config.members_max


def _turned_away(joining: _Joining) -> Decided[None]:
    """Nobody waits for it any more, as in a 3.3; a 4.3 forgets to look, and holds the others up for the whole time that
    a rebalance may take."""
    groups, group, member_id = joining.groups, joining.group, joining.request.member_id
    if member_id in group.members:
        group.remove(member_id)
    group.pending_members.discard(member_id)
    groups.deadlines.clear((PENDING_MEMBER, group.group_id, member_id))
    groups.may_complete(group)
    return joining.answer(join_refusal(errors.GroupMaxSizeReached(), ""))


# Without a member id.


def _join_new(joining: _Joining) -> Decided[None]:
    request, group, groups = joining.request, joining.group, joining.groups
    instance_id = request.group_instance_id
    member_id = f"{joining.joiner.client_id if instance_id is None else instance_id}-{groups.shard.new_uuid()}"
    if instance_id is not None and instance_id in group.static_members:
        return _come_back(joining, instance_id, member_id)
    if instance_id is None and joining.joiner.requires_known_member_id:
        group.pending_members.add(member_id)
        groups.deadlines.set(
            (PENDING_MEMBER, group.group_id, member_id), joining.now.mono_ms + request.session_timeout_ms
        )
        return joining.answer(join_refusal(errors.MemberIdRequired(), member_id))
    return _add(joining, member_id)


def _add(joining: _Joining, member_id: str) -> Decided[None]:
    group, groups = joining.group, joining.groups
    member = Member.of_request(member_id, joining.request, joining.joiner)
    member.is_new = True
    member.join_ticket = joining.ticket
    group.add(member, joining.request.protocol_type)
    groups.deadlines.clear((PENDING_MEMBER, group.group_id, member_id))
    groups.begin_session(group, member, joining.now, NEW_MEMBER_JOIN_TIMEOUT_MS)
    if group.state == PREPARING_REBALANCE and group.is_initial:
        group.has_new_member = True
    return Decided(effects=rebalancing.prepare(groups, group, joining.now))


# A static member that comes back.


def _come_back(joining: _Joining, instance_id: str, new_id: str) -> Decided[None]:
    group = joining.group
    old_id = group.static_members[instance_id]
    member = Member.of_request(new_id, joining.request, joining.joiner)
    if group.state == STABLE and _keeps_protocol(group, old_id, member):
        return _come_back_unnoticed(joining, old_id, member)
    old = group.replace(instance_id, member)
    answers = rebalancing.fence(old)
    joining.groups.deadlines.clear((SESSION, group.group_id, old_id))
    joining.groups.begin_session(group, member, joining.now)
    member.join_ticket = joining.ticket
    return Decided(effects=answers + rebalancing.prepare(joining.groups, group, joining.now))


def _keeps_protocol(group: ClassicGroup, old_id: str, member: Member) -> bool:
    """Whether the group would choose the same protocol with the member's new preferences."""
    return select_protocol(group.members_with(old_id, member)) == group.protocol


def _come_back_unnoticed(joining: _Joining, old_id: str, member: Member) -> Decided[None]:
    """No rebalance: the member gets its old assignment under its new id, once that is in the log.

    What the log does not hold of the member (`replacement`) waits for the replay of the record. If the append fails the
    group is as it was, and the old member is not fenced; a replacement that is left behind is one that no record names.

    A leader that comes back and can skip the assignment is told that it leads, so that it watches the topics again; an
    older one is told the id that it had, lest it assign anew.
    """
    groups, group = joining.groups, joining.group
    was_leader = group.leader == old_id
    old = group.members[old_id]
    member.assignment = old.assignment
    groups.begin_session(group, member, joining.now)
    group.replacement = member
    written = present(group.written, "a stable group was written")
    record = groups.record(group, written.with_replaced(old_id, member.to_write(group.protocol, old.assignment)))
    skips = was_leader and joining.joiner.can_skip_assignment
    leader = member.member_id if skips else group.leader
    response = rebalancing.joined(group, member, leader=leader, skips=skips)
    if skips:
        for told in response.members:
            if told.member_id == old_id:
                told.member_id = member.member_id
                told.metadata = member.metadata(group.protocol)
    return Decided([record], effects=[*rebalancing.fence(old), Answer(joining.ticket, response)])


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
        return joining.answer_current(member) if is_same else _update(joining, member)
    # A leader joins again to have everything assigned anew; another member may just have missed the answer.
    if is_same and group.leader != member.member_id:
        return joining.answer_current(member)
    return _update(joining, member)


def _update(joining: _Joining, member: Member) -> Decided[None]:
    request, groups, group = joining.request, joining.groups, joining.group
    answers = []
    if member.join_ticket is not None:  # an older attempt of the same member, on a connection that it has given up
        answers.append(Answer(member.join_ticket, join_refusal(errors.RebalanceInProgress(), member.member_id)))
    member.protocols = protocols_of(request)
    member.rebalance_timeout_ms = request.rebalance_timeout_ms
    member.session_timeout_ms = request.session_timeout_ms
    member.join_ticket = joining.ticket
    groups.begin_session(group, member, joining.now)
    return Decided(effects=answers + rebalancing.prepare(groups, group, joining.now))
