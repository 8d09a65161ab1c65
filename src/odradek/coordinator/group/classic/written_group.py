"""A classic group as the log holds it: the value of a GroupMetadata record, field by field.

An event that changes a group decides on the next such value and appends it; `ClassicGroup.replay` of the record is the
one place that makes it the group's own. The values are immutable, so that nothing else can change what was written.
"""

from typing import NamedTuple

from odradek.protocol.messages.consumer_offsets import GroupMetadataValue, MemberMetadata


class WrittenMember(NamedTuple):
    """A member with its assignment. Of its protocols the log holds the metadata for the chosen one alone."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes

    @staticmethod
    def of(metadata: MemberMetadata) -> "WrittenMember":
        return WrittenMember(
            metadata.member_id,
            metadata.group_instance_id,
            metadata.client_id,
            metadata.client_host,
            metadata.rebalance_timeout,
            metadata.session_timeout,
            bytes(metadata.subscription),
            bytes(metadata.assignment),
        ).with_told_timeout()

    def with_told_timeout(self) -> "WrittenMember":
        """With its session timeout for rebalances too: the oldest members and records tell no other."""
        if self.rebalance_timeout_ms >= 0:
            return self
        return self._replace(rebalance_timeout_ms=self.session_timeout_ms)

    def metadata(self) -> MemberMetadata:
        return MemberMetadata(
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            rebalance_timeout=self.rebalance_timeout_ms,
            session_timeout=self.session_timeout_ms,
            subscription=self.subscription,
            assignment=self.assignment,
        )


class WrittenGroup(NamedTuple):
    """The group at rest: without members it is Empty, with members Stable."""

    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    since_ms: int = -1  # of the wall clock; -1 where the record does not tell
    members: tuple[WrittenMember, ...] = ()

    @staticmethod
    def of(value: GroupMetadataValue) -> "WrittenGroup":
        return WrittenGroup(
            value.generation,
            value.protocol_type or None,
            value.protocol or None,
            value.leader or None,
            value.current_state_timestamp,
            tuple(WrittenMember.of(metadata) for metadata in value.members),
        )

    def value(self) -> GroupMetadataValue:
        return GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol,
            leader=self.leader,
            current_state_timestamp=self.since_ms,
            members=[member.metadata() for member in self.members],
        )

    def with_replaced(self, old_id: str, member: WrittenMember) -> "WrittenGroup":
        """One member in the place of another, which it leads from if that one did."""
        return self._replace(
            leader=member.member_id if self.leader == old_id else self.leader,
            members=tuple(member if each.member_id == old_id else each for each in self.members),
        )
