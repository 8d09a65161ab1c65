"""The part of a classic group that is in memory only: who has joined, who waits, where a rebalance stands."""

from collections.abc import Iterable, Mapping

from odradek.broken_rule import BrokenRuleError
from odradek.coordinator.group.classic.member import Member
from odradek.coordinator.group.classic.states import (
    AT_REST,
    COMPLETING_REBALANCE,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    TRANSITIONS,
)
from odradek.coordinator.group.classic.written_group import WrittenGroup
from odradek.protocol import errors


class GroupInMemory:
    """A classic group as its coordinator works with it: volatile by protocol, in Kafka as here.

    At rest (Empty, Stable) it says the same as the record that was written last, and `become_written` has made it so.
    During a rebalance it runs ahead of the log: members come and go, a leader and a protocol are chosen, and the
    generation is counted and told to the members before anything is written. All of that may be lost without harm:

    - An append that fails changes nothing here. The rebalance stands where it stood, the leader is told the error and
      sends its SyncGroup again; a group that could not be written as empty is tried again (`rebalancing.RETRY_MS`).
    - A coordinator that takes over knows what was written. It refuses a generation that only its predecessor has
      counted, and members that only its predecessor has seen; they join again, and the same number may be counted once
      more: nobody has an assignment of the generation that was lost, because an assignment is answered only when its
      record is committed.
    """

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
        return bool(_common_protocols(self.members.values()) & set(protocols))

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

    # How it changes while a rebalance is under way

    def become(self, state: str, now_ms: int) -> None:
        if state not in TRANSITIONS[self.state]:
            raise BrokenRuleError(f"{self} cannot become {state}")
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

    def replace(self, instance_id: str, member: Member) -> Member:
        """Puts a static member with its new id in the old one's place, with assignment and lead. Returns the old."""
        old = self.members[self.static_members[instance_id]]
        old_id, new_id = old.member_id, member.member_id
        member.assignment = old.assignment
        self.members = {each.member_id: each for each in self.members_with(old_id, member)}
        self.static_members[instance_id] = new_id
        if old_id in self.pending_sync:
            self.pending_sync.discard(old_id)
            self.pending_sync.add(new_id)
        if self.leader == old_id:
            self.leader = new_id
        return old

    def members_with(self, old_id: str, member: Member) -> Iterable[Member]:
        """The members as they would be with this one in the place of an old one."""
        return (member if known.member_id == old_id else known for known in self.members.values())

    def elect_joined_leader(self) -> bool:
        """The leader is one of those that have joined; False if nobody has."""
        leader = None if self.leader is None else self.members.get(self.leader)
        if leader is not None and leader.join_ticket is not None:
            return True
        joined = next((each for each in self.members.values() if each.join_ticket is not None), None)
        if joined is not None:
            self.leader = joined.member_id
        return joined is not None

    def begin_generation(self, now_ms: int) -> None:
        """The join phase is over. Memory goes first here, as in Kafka: members are told the new generation at once, and
        the record of the leader's SyncGroup is the first to hold it (see the class on what is lost with it).
        """
        self.generation += 1
        self.protocol = select_protocol(self.members.values())
        self.is_initial = False
        self.become(COMPLETING_REBALANCE, now_ms)
        self.pending_sync = set(self.members)

    # To the log and from it

    def to_write_assigned(self, assignments: Mapping[str, bytes]) -> WrittenGroup:
        """The group to write: as it is, each member with its assignment or with none."""
        return WrittenGroup(
            self.generation,
            self.protocol_type,
            self.protocol,
            self.leader,
            self.state_since_ms,
            tuple(
                member.to_write(self.protocol, assignments.get(member.member_id, b""))
                for member in self.members.values()
            ),
        )

    def emptied(self, generation: int, now_ms: int) -> WrittenGroup:
        """The group to write when nobody is left in it."""
        return WrittenGroup(generation, self.protocol_type, since_ms=now_ms)

    def become_written(self, written: WrittenGroup) -> None:
        """Becomes what was written.

        A member that the record was made of keeps what the log does not hold: its tickets, all its protocols. One that
        is known from an older record, while the log is loaded, is what this one says.
        """
        known = self.members
        if self.replacement is not None:
            known = {**known, self.replacement.member_id: self.replacement}
            self.replacement = None
        self.generation, self.protocol_type, self.protocol, self.leader, self.state_since_ms, members = written
        self.state = STABLE if members else EMPTY
        self.members = {}
        self.static_members = {}
        for each in members:
            member = known.get(each.member_id)
            if member is None or not member.is_written_as(each, written.protocol):
                member = Member.of_written(each, written.protocol)
            member.assignment = each.assignment
            member.sync_ticket = None  # the decision that wrote this record answers it
            self.members[member.member_id] = member
            if member.instance_id is not None:
                self.static_members[member.instance_id] = member.member_id
        self.pending_sync &= set(self.members)

    def validate_members(self) -> None:
        """Re-derives what is kept twice, and checks what each state promises."""
        static = {m.instance_id: m.member_id for m in self.members.values() if m.instance_id is not None}
        if self.static_members != static:
            raise BrokenRuleError(f"{self}: {self.static_members} is not {static}")
        if self.pending_members & set(self.members):
            raise BrokenRuleError(f"{self}: a member is pending")
        if self.leader is not None and self.leader not in self.members:
            raise BrokenRuleError(f"{self}: {self.leader} leads and is no member")
        waiting = [member.member_id for member in self.members.values() if member.join_ticket is not None]
        if waiting and self.state != PREPARING_REBALANCE:
            raise BrokenRuleError(f"{self}: {waiting} wait to join")
        syncing = [member.member_id for member in self.members.values() if member.sync_ticket is not None]
        if syncing and self.state != COMPLETING_REBALANCE:
            raise BrokenRuleError(f"{self}: {syncing} wait for an assignment")
        if self.state == EMPTY and self.members:
            raise BrokenRuleError(f"{self} has members")
        if self.state in (STABLE, COMPLETING_REBALANCE) and not (self.members and self.protocol is not None):
            raise BrokenRuleError(f"{self} has no members or no protocol")

    def validate_rest(self, written: WrittenGroup | None) -> None:
        """A group at rest says what was written last. One that a 3.3 has made in memory was never written, nor one that
        is known by its offsets alone.
        """
        if self.state not in AT_REST:
            return
        expected = WrittenGroup(since_ms=self.state_since_ms) if written is None else written
        says = self.to_write_assigned({member.member_id: member.assignment for member in self.members.values()})
        says = says._replace(members=tuple(each.with_told_timeout() for each in says.members))
        if says != expected:
            raise BrokenRuleError(f"{self} is at rest and says {says}, the log {expected}")


def _common_protocols(members: Iterable[Member]) -> set[str]:
    common: set[str] | None = None
    for member in members:
        names = {name for name, _ in member.protocols}
        common = names if common is None else common & names
    return common or set()


def select_protocol(members: Iterable[Member]) -> str:
    """The protocol with the most votes among those that all members know; of two, the one voted for first."""
    members = list(members)
    candidates = _common_protocols(members)
    votes: dict[str, int] = {}
    for member in members:
        vote = member.vote(candidates)
        votes[vote] = votes.get(vote, 0) + 1
    return max(votes, key=lambda name: votes[name])
