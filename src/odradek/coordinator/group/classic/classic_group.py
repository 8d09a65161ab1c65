"""A group of the classic protocol: its members agree among themselves, the coordinator only brings them together.

Theory of operation. A rebalance has two phases. In the first (PreparingRebalance) every member sends JoinGroup, and
all are held until the last one has come or the rebalance timeout is over; who has not come is out, unless it is static.
Then a generation begins: the coordinator takes the protocol that most members prefer among those that all know, names
one member the leader and answers the joins, the leader's with everybody's metadata. In the second (CompletingRebalance)
the leader works out who gets what and hands it in with SyncGroup; the other members' SyncGroups are held until then.
With the assignment in the log the group is Stable, and members only send heartbeats. Whatever changes the membership
(somebody new, somebody gone, new metadata) begins the next rebalance; members learn of it from their heartbeats.

    from                  event                                                            to
    Empty                 a member joins                                                   PreparingRebalance
    PreparingRebalance    all have joined, or the time is over                             CompletingRebalance
    PreparingRebalance    the same, and nobody is left                                     Empty            (record)
    CompletingRebalance   the leader's SyncGroup                                           Stable           (record)
    CompletingRebalance   a join that changes something, a leave, an expired session,      PreparingRebalance
                          members that never sync
    Stable                a join that changes something, a leave, an expired session,      PreparingRebalance
                          members that never sync
    Stable                a static member comes back and changes nothing                   Stable           (record)
    Empty                 deleted by an admin, or nothing is kept for it any more          Dead             (tombstone)

The log holds a group as it is when nothing is under way: Empty, or Stable with its assignment. `replay` of such a
record is what makes it so, at once after the append and again when the log is loaded. A rebalance itself is in memory
only: who has joined and who waits is lost with the coordinator, and members that were in the middle of it join again.
Generations are therefore counted here and written at the end of a rebalance. Dead groups are simply gone.
"""

from typing import Any

from odradek.coordinator.group.classic.member import Member
from odradek.protocol import errors
from odradek.protocol.messages.consumer_offsets import GroupMetadataValue

EMPTY = "Empty"
PREPARING_REBALANCE = "PreparingRebalance"
COMPLETING_REBALANCE = "CompletingRebalance"
STABLE = "Stable"
DEAD = "Dead"

TRANSITIONS = {
    EMPTY: (PREPARING_REBALANCE,),
    PREPARING_REBALANCE: (COMPLETING_REBALANCE, EMPTY),
    COMPLETING_REBALANCE: (STABLE, PREPARING_REBALANCE),
    STABLE: (PREPARING_REBALANCE, STABLE),
}

CONSUMER = "consumer"  # the protocol type whose metadata we can read


class ClassicGroup:
    __slots__ = (
        "generation",
        "group_id",
        "has_new_member",
        "initial_delay_left_ms",
        "is_initial",
        "leader",
        "members",
        "pending_members",
        "pending_sync",
        "protocol",
        "protocol_type",
        "replacement",
        "state",
        "state_since_ms",
        "static_members",
    )

    def __init__(self, group_id: str, now_ms: int = -1) -> None:
        self.group_id = group_id
        self.state = EMPTY
        self.state_since_ms = now_ms  # of the wall clock; -1 if the log does not tell
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}  # member ids by instance id
        self.pending_members: set[str] = set()  # have been given an id, and not joined with it yet
        self.pending_sync: set[str] = set()  # have been told of this generation, and not synced
        self.is_initial = False  # the first rebalance of an empty group, which waits a little for more members
        self.initial_delay_left_ms = 0
        self.has_new_member = False  # since that wait began
        self.replacement: Member | None = None  # a static member that comes back, until its record is replayed

    def __repr__(self) -> str:
        return f"ClassicGroup({self.group_id}, {self.state}, generation {self.generation}, {len(self.members)} members)"

    # What it is

    @property
    def has_all_joined(self) -> bool:
        return not self.pending_members and all(member.join_ticket is not None for member in self.members.values())

    @property
    def joined_count(self) -> int:
        return sum(member.join_ticket is not None for member in self.members.values())

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def can_rebalance(self) -> bool:
        return PREPARING_REBALANCE in TRANSITIONS[self.state]

    def supports(self, protocol_type: str, protocols: list[str]) -> bool:
        """Whether a member that knows these protocols fits in."""
        if self.state == EMPTY:
            return bool(protocol_type and protocols)
        if self.protocol_type != protocol_type:
            return False
        return bool(self._common_protocols() & set(protocols))

    def _common_protocols(self) -> set[str]:
        common: set[str] | None = None
        for member in self.members.values():
            names = {name for name, _ in member.protocols}
            common = names if common is None else common & names
        return common or set()

    def select_protocol(self) -> str:
        """The one with the most votes; of two, the one that was voted for first."""
        candidates = self._common_protocols()
        votes: dict[str, int] = {}
        for member in self.members.values():
            vote = member.vote(candidates)
            votes[vote] = votes.get(vote, 0) + 1
        return max(votes, key=lambda name: votes[name])

    def check_member(self, member_id: str, instance_id: str | None) -> Member:
        """The member, if it is the one that it says. FencedInstanceId if another has taken its place."""
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                raise errors.UnknownMemberId()
            if current != member_id:
                raise errors.FencedInstanceId()
        member = self.members.get(member_id)
        if member is None:
            raise errors.UnknownMemberId()
        return member

    # Membership

    def become(self, state: str, now_ms: int) -> None:
        assert state in TRANSITIONS[self.state], f"{self} cannot become {state}"
        self.state = state
        self.state_since_ms = now_ms

    def add(self, member: Member, protocol_type: str) -> None:
        if not self.members:
            self.protocol_type = protocol_type
        self.members[member.member_id] = member
        self.pending_members.discard(member.member_id)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id

    def remove(self, member_id: str) -> Member:
        member = self.members.pop(member_id)
        self.pending_sync.discard(member_id)
        if member.instance_id is not None and self.static_members.get(member.instance_id) == member_id:
            del self.static_members[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        return member

    def replace(self, old_id: str, member: Member) -> Member:
        """A static member comes back under a new id: it takes the old one's place, assignment and lead. The old one."""
        old = self.members[old_id]
        member.assignment = old.assignment
        self.members = {
            (member.member_id if known == old_id else known): (member if known == old_id else each)
            for known, each in self.members.items()
        }
        assert member.instance_id is not None, "only a static member is replaced"
        self.static_members[member.instance_id] = member.member_id
        if old_id in self.pending_sync:
            self.pending_sync.discard(old_id)
            self.pending_sync.add(member.member_id)
        if self.leader == old_id:
            self.leader = member.member_id
        return old

    def elect_joined_leader(self) -> bool:
        """The leader is one of those that have joined; False if nobody has."""
        leader = None if self.leader is None else self.members.get(self.leader)
        if leader is not None and leader.join_ticket is not None:
            return True
        joined = next((each for each in self.members.values() if each.join_ticket is not None), None)
        if joined is not None:
            self.leader = joined.member_id
        return joined is not None

    # The log

    def restore(self, value: GroupMetadataValue) -> None:
        """Becomes what a record says. Known members keep what the log does not hold: tickets, all their protocols."""
        known = self.members
        if self.replacement is not None:
            known = {**known, self.replacement.member_id: self.replacement}
            self.replacement = None
        self.generation = value.generation
        self.protocol_type = value.protocol_type or None
        self.protocol = value.protocol or None
        self.leader = value.leader or None
        self.state = STABLE if value.members else EMPTY
        self.state_since_ms = value.current_state_timestamp
        self.members = {}
        self.static_members = {}
        for metadata in value.members:
            member = known.get(metadata.member_id) or Member.of_record(metadata, self.protocol)
            member.assignment = bytes(metadata.assignment)
            member.sync_ticket = None  # the decision that wrote this record answers it
            self.members[member.member_id] = member
            if member.instance_id is not None:
                self.static_members[member.instance_id] = member.member_id
        self.pending_sync &= set(self.members)

    def validate(self) -> None:
        """Re-derives what is kept twice, and checks what each state promises."""
        static = {m.instance_id: m.member_id for m in self.members.values() if m.instance_id is not None}
        assert self.static_members == static, f"{self}: {self.static_members} is not {static}"
        assert not self.pending_members & set(self.members), f"{self}: a member is pending"
        assert self.leader is None or self.leader in self.members, f"{self}: {self.leader} leads and is no member"
        waiting: list[tuple[str, Any]] = [(m.member_id, m.join_ticket) for m in self.members.values() if m.join_ticket]
        assert not waiting or self.state == PREPARING_REBALANCE, f"{self}: {waiting} wait to join"
        if any(member.sync_ticket is not None for member in self.members.values()):
            assert self.state == COMPLETING_REBALANCE, f"{self}: somebody waits for an assignment"
        if self.state == EMPTY:
            assert not self.members, f"{self} has members"
        if self.state in (STABLE, COMPLETING_REBALANCE):
            assert self.members and self.protocol is not None, f"{self} has no members or no protocol"
