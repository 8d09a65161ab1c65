"""A group of the consumer protocol: everything here is what its records say.

Theory of operation. Three epochs count upwards. The group's epoch grows when what there is to assign changes: a member
comes, goes or subscribes to something else, a topic comes, goes or grows. The target's epoch is the group's epoch for
which the target assignment was made; it follows at once, or after `group.consumer.assignment.interval.ms` if it has
just been made. A member's epoch is the target's epoch that it has reached (`reconciliation.py`). So the group is

    Empty          without members
    Assigning      group epoch > target epoch: the next heartbeat that may, makes the target anew
    Reconciling    some member has not reached the target
    Stable         all members are at the target's epoch, and nothing waits to be given back or taken (G4)

    record                              what it writes
    ConsumerGroupMetadata               the group's epoch, the hash of its topics
    ConsumerGroupMemberMetadata         a member and what it subscribes to
    ConsumerGroupTargetAssignment*      the target's epoch, when it was made; what each member shall have
    ConsumerGroupCurrentMemberAssignment what a member has, its epoch and state
    ConsumerGroupRegularExpression      the topics that an expression has matched
    ConsumerGroupPartitionMetadata      written by releases before 4.1; the hash has taken its place

An event decides on a copy (`plan.py`) that it replays its own records into, and the same `replay` makes them true once
they are appended. Compaction may leave a member's records without the group's before them, and the other way round:
every record makes what it needs.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from odradek.broken_rule import BrokenRuleError
from odradek.coordinator.group.consumer.member import (
    STABLE,
    Assigned,
    ClassicJoin,
    ConsumerMember,
    Target,
    places,
)
from odradek.coordinator.group.epochs.group import ASSIGNING, EMPTY, RECONCILING, STABLE_GROUP, EpochGroup
from odradek.coordinator.group.epochs.values import optional, required
from odradek.coordinator.group.plan import Plan
from odradek.protocol.declare import Message
from odradek.protocol.messages import consumer_groups as records


class ResolvedRegex(NamedTuple):
    topics: frozenset[str]
    version: int  # of the metadata that it was looked up in
    timestamp_ms: int


class ConsumerGroup(EpochGroup[ConsumerMember, Target]):
    __slots__ = ("owners", "regexes", "static_members")

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.static_members: dict[str, str] = {}  # member ids by instance id
        self.owners: dict[tuple[bytes, int], str] = {}  # with whom a partition is
        self.regexes: dict[str, ResolvedRegex] = {}

    def copy(self) -> Self:
        made = super().copy()
        made.static_members = dict(self.static_members)
        made.owners = dict(self.owners)
        made.regexes = dict(self.regexes)
        return made

    # What it is

    @property
    def state(self) -> str:
        if not self.members:
            return EMPTY
        if self.is_target_behind:
            return ASSIGNING
        if all(member.is_reconciled_to(self.target_epoch) for member in self.members.values()):
            return STABLE_GROUP
        return RECONCILING

    def is_free(self, member_id: str, topic_id: bytes, partition: int) -> bool:
        """Whether nobody but the member has the partition."""
        return self.owners.get((topic_id, partition), member_id) == member_id

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """What it subscribes to, by name and by expression as far as that is known."""
        names = frozenset(member.topic_names)
        resolved = self.regexes.get(member.regex) if member.regex else None
        return names if resolved is None else names | resolved.topics

    def subscribed_topics(self) -> set[str]:
        topics: set[str] = set()
        for member in self.members.values():
            topics.update(self.topics_of(member))
        return topics

    def regexes_in_use(self) -> set[str]:
        return {member.regex for member in self.members.values() if member.regex}

    def server_assignor(self, on_offer: Sequence[str]) -> str:
        """The one that most members ask for; of two that which is offered first, and so if nobody asks."""
        votes: dict[str, int] = {}
        for member in self.members.values():
            if member.server_assignor is not None:
                votes[member.server_assignor] = votes.get(member.server_assignor, 0) + 1
        return max(on_offer, key=lambda name: votes.get(name, 0))

    def has_only_classic_members(self) -> bool:
        return bool(self.members) and all(member.is_classic for member in self.members.values())

    # The log

    def replay(self, key: Message, value: Message | None) -> None:
        if isinstance(key, records.ConsumerGroupMetadataKey):
            metadata = required(value, records.ConsumerGroupMetadataValue)
            self.epoch, self.metadata_hash = metadata.epoch, metadata.metadata_hash
        elif isinstance(key, records.ConsumerGroupMemberMetadataKey):
            self._replay_member(key.member_id, optional(value, records.ConsumerGroupMemberMetadataValue))
        elif isinstance(key, records.ConsumerGroupTargetAssignmentMetadataKey):
            self.replay_target_epoch(optional(value, records.ConsumerGroupTargetAssignmentMetadataValue))
        elif isinstance(key, records.ConsumerGroupTargetAssignmentMemberKey):
            self._replay_target(key.member_id, optional(value, records.ConsumerGroupTargetAssignmentMemberValue))
        elif isinstance(key, records.ConsumerGroupCurrentMemberAssignmentKey):
            self._replay_assignment(key.member_id, optional(value, records.ConsumerGroupCurrentMemberAssignmentValue))
        elif isinstance(key, records.ConsumerGroupRegularExpressionKey):
            self._replay_regex(key.regular_expression, optional(value, records.ConsumerGroupRegularExpressionValue))

    def _replay_member(self, member_id: str, value: records.ConsumerGroupMemberMetadataValue | None) -> None:
        old = self.members.get(member_id)
        if value is None:
            if old is not None:
                self._disown(old)
                self._forget_instance(old)
                del self.members[member_id]
            return
        member = ConsumerMember(member_id) if old is None else old
        if old is not None:
            self._forget_instance(old)
        self.members[member_id] = member._replace(
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topic_names=tuple(sorted(value.subscribed_topic_names)),
            regex=value.subscribed_topic_regex or "",
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            server_assignor=value.server_assignor,
            classic=_classic_of(value.classic_member_metadata),
        )
        if value.instance_id is not None:
            self.static_members[value.instance_id] = member_id

    def _forget_instance(self, member: ConsumerMember) -> None:
        instance_id = member.instance_id
        if instance_id is not None and self.static_members.get(instance_id) == member.member_id:
            del self.static_members[instance_id]

    def _replay_target(self, member_id: str, value: records.ConsumerGroupTargetAssignmentMemberValue | None) -> None:
        if value is None:
            self.target.pop(member_id, None)
            return
        self.target[member_id] = {bytes(each.topic_id): frozenset(each.partitions) for each in value.topic_partitions}

    def _replay_assignment(
        self, member_id: str, value: records.ConsumerGroupCurrentMemberAssignmentValue | None
    ) -> None:
        old = self.members.get(member_id)
        if old is None:
            if value is None:
                return
            old = ConsumerMember(member_id)
        self._disown(old)
        if value is None:
            self.members[member_id] = old.subscription()
            return
        member = old._replace(
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=value.state,
            assigned=_assigned_of(value.assigned_partitions, value.member_epoch),
            pending_revocation=_assigned_of(value.partitions_pending_revocation, value.member_epoch),
        )
        self.members[member_id] = member
        for place in places(member.held()):
            self.owners[place] = member_id

    def _disown(self, member: ConsumerMember) -> None:
        for place in places(member.held()):
            if self.owners.get(place) == member.member_id:
                del self.owners[place]

    def _replay_regex(self, regex: str, value: records.ConsumerGroupRegularExpressionValue | None) -> None:
        if value is None:
            self.regexes.pop(regex, None)
        else:
            self.regexes[regex] = ResolvedRegex(frozenset(value.topics), value.version, value.timestamp)

    # What must hold

    def validate(self) -> None:
        """Re-derives what is kept twice, and checks G1 to G4 as the coordinator sees them."""
        static = {m.instance_id: m.member_id for m in self.members.values() if m.instance_id is not None}
        if self.static_members != static:
            raise BrokenRuleError(f"{self}: {self.static_members} is not {static}")
        owners = self._one_each((each.member_id, each.held()) for each in self.members.values())  # G1
        if owners != self.owners:
            raise BrokenRuleError(f"{self}: the owners are wrong")
        self.validate_epochs()
        wanted = self._one_each(self.target.items())  # G2
        for member in self.members.values():
            self._validate_member(member, wanted)

    def _one_each(self, parts: Iterable[tuple[str, Assigned | Target]]) -> dict[tuple[bytes, int], str]:
        """Whose each partition is; it is with one member only."""
        owners: dict[tuple[bytes, int], str] = {}
        for member_id, partitions in parts:
            for place in places(partitions):
                if place in owners:
                    raise BrokenRuleError(f"{self}: {place} is for {owners[place]} and {member_id}")
                owners[place] = member_id
        return owners

    def _validate_member(self, member: ConsumerMember, wanted: dict[tuple[bytes, int], str]) -> None:
        if member.epoch > self.target_epoch:
            raise BrokenRuleError(f"{self}: {member} is ahead of the target")
        has_pending = any(member.pending_revocation.values())
        if member.state == STABLE and has_pending:
            raise BrokenRuleError(f"{self}: {member} is stable and has to give back")
        if member.epoch == self.target_epoch and not has_pending:
            for place in places(member.assigned):  # G3
                if wanted.get(place) != member.member_id:
                    raise BrokenRuleError(f"{self}: {member} has {place} of {wanted.get(place)}")


def _assigned_of(topics: list[records.TopicPartitions], member_epoch: int) -> Assigned:
    """Releases before 4.3 wrote no epochs of partitions: then it is the member's."""
    return {
        bytes(each.topic_id): dict(
            zip(each.partitions, each.assignment_epochs or [member_epoch] * len(each.partitions), strict=False)
        )
        for each in topics
        if each.partitions
    }


def _classic_of(metadata: records.ClassicMemberMetadata | None) -> ClassicJoin | None:
    if metadata is None:
        return None
    protocols = tuple((each.name, bytes(each.metadata)) for each in metadata.supported_protocols)
    return ClassicJoin(metadata.session_timeout_ms, protocols)


class ConsumerPlan(Plan[ConsumerGroup]):
    __slots__ = ()
